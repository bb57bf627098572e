// Statements for a visitor before anything leaves the device. Plain data: how it is shown is up to the page.

import { columnsOf } from "./boundary.js";
import { allowed } from "./checks.js";
import { failure } from "./errors.js";

export const en = {
  locale: "en",
  title: "May this device take part?",
  leaves:
    "One report of {bytes} bytes leaves this device. It is randomized here from: {columns}. The page may have asked " +
    "for the report's number already, without any values.",
  stays: "The values themselves stay on this device.",
  promise:
    "Anyone who sees the report, its receiver included, can test it for certain values. A test that falsely accuses " +
    "{others} % of those who have others finds at most {found} % of those who have them; without the report, " +
    "{others} %.",
  scope: "This holds for one report. What several reports reveal adds up.",
  repeated:
    "This page asks again. From all reports of one period, such a test finds at most {inPeriod} %; from all that the " +
    "page ever makes, at most {inAll} %, which is what holds for values that stay the same.",
  agree: "Agree",
  decline: "Decline",
};

export function consent(task, { sentences = en, locale = sentences.locale, labels = {}, limits } = {}) {
  const { detection, reportBytes } = task;
  const read = columnsOf(task).filter(({ type }) => type !== "ignored");
  // Never less than it is.
  const percent = (share) =>
    (100 * share).toLocaleString(locale, { maximumSignificantDigits: 3, roundingMode: "ceil" });
  const values = {
    bytes: reportBytes.toLocaleString(locale),
    columns: new Intl.ListFormat(locale, { type: "unit" }).format(
      read.map(({ name, label = name }) => labels[name] ?? label),
    ),
    others: percent(detection.falseAlarms),
    found: percent(detection.power),
    ...(limits && adding(limits, detection, percent)),
  };
  /** @type {Record<keyof typeof en, string>} */
  const said = {};
  for (const name in en) {
    // A page that asks again says it in place of the scope.
    if (name === "repeated") continue;
    const from = limits && name === "scope" ? "repeated" : name;
    if (!sentences[from]) throw failure("argument", `the sentences lack '${from}'`);
    said[name] = sentences[from].replace(/\{(\w+)\}/g, (hole, value) => values[value] ?? hole);
  }
  return {
    text: `${said.leaves} ${said.stays} ${said.promise} ${said.scope}`,
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
function adding({ maxEpsilon, maxEpsilonPerPeriod = maxEpsilon, maxDelta = 1e-5 }, { falseAlarms }, percent) {
  const inPeriod = Math.min(maxEpsilon, maxEpsilonPerPeriod);
  // For the limits themselves.
  allowed({ epsilon: 0, delta: 0 }, { maxEpsilon: inPeriod, maxDelta });
  const found = (epsilon) => {
    const [up, rest] = [Math.exp(epsilon), 1 - maxDelta - falseAlarms];
    return percent(Math.min(up * falseAlarms + maxDelta, 1 - rest / up, 1));
  };
  return { inPeriod: found(inPeriod), inAll: found(maxEpsilon) };
}
