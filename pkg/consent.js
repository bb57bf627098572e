// Statements for a visitor before anything leaves the device. Plain data: how it is shown is up to the page.

import { columnsOf } from "./boundary.js";
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
  agree: "Agree",
  decline: "Decline",
};

export function consent(task, { sentences = en, locale = sentences.locale, labels = {} } = {}) {
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
  };
  /** @type {Record<keyof typeof en, string>} */
  const said = {};
  for (const name in en) {
    if (!sentences[name]) throw failure("argument", `the sentences lack '${name}'`);
    said[name] = sentences[name].replace(/\{(\w+)\}/g, (hole, value) => values[value] ?? hole);
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
