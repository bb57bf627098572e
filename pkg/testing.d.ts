import type { Outcome } from "./ledger.js";
import type { ImportedTask, RecordByName, TaskDocument } from "./task.js";

// Like the client of `ldp-pca`, and like `ldp-pca/collect`, with promises that resolve at once where `ldp-pca/worker`
// has some. Its reports guarantee nothing: their `guarantee` is `null`. Its randomizers are strict, unless they have
// `strict: false`.
export * from "./index.js";
export { collect, formRecord, resume } from "./collect.js";
export type { CollectOptions, Declined } from "./collect.js";
export * from "./sentences.js";

/** A report that would have left the device. */
export interface SentReport {
  readonly taskDigest: string;
  /** The report's id, 32 hexadecimal digits. */
  readonly id: string;
  /** The aggregator, or the relay, that it would have gone to. */
  readonly url: string;
  /** A copy of the record that it was made from, which no real report reveals. */
  readonly record: RecordByName | readonly (number | null | undefined)[];
  readonly bytes: Uint8Array;
}

/** The reports that would have left the device since the last {@link reset}, in their order. */
export const sent: readonly SentReport[];

/** Options of {@link reset}. */
export interface ResetOptions {
  /** A whole number that all randomness follows from; 0 by default. */
  readonly seed?: number;
  /**
   * The JSON of the tasks that `Task.fetch` finds, at every URL: the one with the expected `digest`, or the first. None
   * by default.
   */
  readonly tasks?: readonly (TaskDocument | ImportedTask | string)[];
}

/**
 * A device that has sent nothing yet, and an aggregator that accepts: call it before each test.
 *
 * @throws {@link ArgumentError} for a seed that is not a whole number.
 */
export function reset(options?: ResetOptions): void;

/**
 * How the aggregator answers reports until the next {@link reset}, by the status of `ledger.send`: `submit` rejects
 * where that is `pending` (no answer) or `refused` (the task has expired). A relay takes the report (`relayed`) where
 * the aggregator counts it.
 */
export function answers(status: Exclude<Outcome["status"], "relayed">): void;

/** Does nothing; `ldp-pca/worker` has this name. */
export function terminate(): void;
