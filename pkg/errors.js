// The errors. Programs look at `code`; classes are families of codes; messages are for people and may change.

import { LdpPcaError } from "./ldp-pca-error.js";

export { LdpPcaError };

const classes = {};

export const InitError = family("Init", "init");
export const ArgumentError = family("Argument", "argument");
export const TaskError = family("Task", "task fetch digest max-epsilon max-delta max-report-bytes max-draws");
export const RecordError = family("Record", "schema record");
export const EntropyError = family("Entropy", "entropy");
export const ReportError = family("Report", "report");
export const SubmitError = family(
  "Submit",
  "network rate-limit unavailable answer not-found too-large media-type rejected refused",
);
export const LedgerError = family("Ledger", "storage budget spent destination");

/** The error of this code, of its class. Details are `cause` and the class's own properties. */
export function failure(code, message, details) {
  return new (classes[code] ?? LdpPcaError)(code, message, details);
}

/** The class of errors with a name, for the codes in a text. */
function family(name, codes) {
  const type = class extends LdpPcaError {};
  // On the prototype, as of LdpPcaError.
  type.prototype.name = `${name}Error`;
  for (const code of codes.split(" ")) classes[code] = type;
  return type;
}
