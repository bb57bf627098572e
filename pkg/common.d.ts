export { consent } from "./consent.js";
export type { ConsentOptions, ConsentSentences, ConsentStatement } from "./consent.js";
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
export type { LdpPcaErrorCode, RecordReason } from "./errors.js";
export { PrivacyLedger } from "./ledger.js";
export type {
  AggregatorOptions,
  LedgerOptions,
  LedgerStatus,
  Outcome,
  RelayOptions,
  SendOptions,
  Withdrawal,
} from "./ledger.js";
export { Report } from "./report.js";
export type { ReportDocument } from "./report.js";
export { issuedId, submit } from "./submit.js";
export type { Submission, SubmitOptions } from "./submit.js";
export type { Column, Guarantee, ImportedTask, RecordInput, RecordOf, Schema, TaskDocument } from "./task.js";
