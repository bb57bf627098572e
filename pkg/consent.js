// Statements for a visitor before anything leaves the device. Plain data: how it is shown is up to the page.

import { columnsOf } from "./boundary.js";
import { allowed } from "./checks.js";
import { failure } from "./errors.js";

export const en = {
  locale: "en",
  title: "May this device take part?",
  who: "Who asks: {collector}. What for: {purpose}.",
  leaves:
    "One report of {bytes} bytes leaves this device. It is made here, with random changes, from: {columns}. The page " +
    "may have asked for the report's number already, without any of these details.",
  stays: "The details themselves stay on this device.",
  promise:
    "From the report, anyone who sees it, its receiver included, can guess whether something is true of you. " +
    "Suppose that they are wrong about {others} of 1000 people of whom it is not true. Then, on average, they find " +
    "at most {found} of 1000 people of whom it is true; without the report, {others}.",
  scope: "This holds for one report. What several reports reveal adds up.",
  repeated:
    "This page asks again. From all reports of one period together they find at most {inPeriod}; from all " +
    "that this browser makes while it keeps this site's data, at most {inAll}, which is the number for details that " +
    "stay the same.",
  agree: "Agree",
  decline: "Decline",
};

/** Refuses sentences that say less than the English ones, or have no place for what those have one for. */
export function complete(sentences, english = en) {
  for (const [name, text] of Object.entries(english)) {
    const said = sentences?.[name] || undefined;
    if (!text.match) complete(said, text);
    else if (!["", ...(text.match(/\{\w+\}/g) ?? [])].every((hole) => said?.includes(hole))) {
      throw failure("argument", `the sentences lack '${name}', or a {place} in it`);
    }
  }
}

export function consent(
  task,
  { sentences = en, locale = sentences.locale, labels = {}, collector = "", purpose = "", limits } = {},
) {
  const { detection, reportBytes } = task;
  const read = columnsOf(task).filter(({ type }) => type !== "ignored");
  const count = (number) => number.toLocaleString(locale);
  // Of 1000 people, and never fewer than it is.
  const ofThousand = (share) => count(Math.ceil(1000 * share));
  const values = {
    collector,
    purpose,
    bytes: count(reportBytes),
    columns: new Intl.ListFormat(locale, { type: "unit" }).format(
      read.map(({ name, label = name }) => (Object.hasOwn(labels, name) ? labels[name] : label)),
    ),
    others: ofThousand(detection.falseAlarms),
    found: ofThousand(detection.power),
    ...(limits && adding(limits, detection, ofThousand)),
  };
  complete(sentences);
  /** @type {Record<keyof typeof en, string>} */
  const said = {};
  const filled = (hole, value) => (Object.hasOwn(values, value) ? values[value] : hole);
  for (const name in en) said[name] = sentences[name].replace(/\{(\w+)\}/g, filled);
  // A page that asks again says it in place of the scope.
  const { repeated } = said;
  delete said.repeated;
  if (limits) said.scope = repeated;
  if (!collector || !purpose) said.who = "";
  const { who, leaves, stays, promise, scope } = said;
  return {
    text: [who, leaves, stays, promise, scope].join(" ").trim(),
    ...said,
    locale,
    columns: read.map(({ name }) => name),
    features: task.featureNames,
    reportBytes,
    guarantee: task.guarantee,
    detection,
    taskDigest: task.digest,
  };
}

/**
 * The most that a test finds of all reports of one period, and of all reports, which a ledger with these limits lets
 * through: the power of the best test of what is (epsilon, delta)-private (Kairouz, Oh & Viswanath 2015, Theorem 2.1).
 */
function adding({ maxEpsilon, maxEpsilonPerPeriod = maxEpsilon, maxDelta = 1e-5 }, { falseAlarms }, said) {
  const inPeriod = Math.min(maxEpsilon, maxEpsilonPerPeriod);
  // For the limits themselves.
  for (const most of [maxEpsilon, maxEpsilonPerPeriod]) {
    allowed({ epsilon: 0, delta: 0 }, { maxEpsilon: most, maxDelta });
  }
  const found = (epsilon) => {
    const [up, rest] = [Math.exp(epsilon), Math.max(0, 1 - maxDelta - falseAlarms)];
    return said(Math.min(up * falseAlarms + maxDelta, 1 - rest / up, 1));
  };
  return { inPeriod: found(inPeriod), inAll: found(maxEpsilon) };
}
