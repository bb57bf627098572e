export * from "./consent.js";
export * from "./errors.js";
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
export * from "./report.js";
export * from "./submit.js";
export type { Column, Guarantee, ImportedTask, RecordInput, RecordOf, Schema, TaskDocument } from "./task.js";
