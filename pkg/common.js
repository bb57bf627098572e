// The exports of every entry of the client that need no WebAssembly.

export { consent } from "./consent.js";
export {
  ArgumentError,
  EntropyError,
  InitError,
  LdpPcaError,
  LedgerError,
  RecordError,
  ReportError,
  SubmitError,
  TaskError,
} from "./errors.js";
export { PrivacyLedger } from "./ledger.js";
export { Report } from "./report.js";
export { issuedId, submit } from "./submit.js";
