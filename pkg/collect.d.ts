import type { TaskFacts } from "./api.js";
import type { ConsentOptions, ConsentStatement } from "./consent.js";
import type { LedgerOptions, Outcome } from "./ledger.js";
import type { Sentences } from "./sentences.js";
import type { RecordByName, RecordOf, Schema } from "./task.js";

export type { ConsentStatement } from "./consent.js";
export type { Outcome } from "./ledger.js";
export * from "./sentences.js";
export type { RecordOf } from "./task.js";

/** Options of {@link collect}. */
export interface CollectOptions extends Pick<ConsentOptions, "labels" | "locale"> {
  /** The aggregator: the URL under which `tasks/<digest>` is. In a page it may be relative, such as `"/"`. */
  readonly url: string | URL;
  /** The digest of the task that you reviewed. */
  readonly digest: string;
  /** The largest epsilon of the task, and of all reports of this site together unless `ledger` says otherwise. */
  readonly maxEpsilon: number;
  /** The largest delta, likewise; 1e-5 by default. */
  readonly maxDelta?: number;
  /** Who receives the reports, by the name that visitors know. */
  readonly collector: string;
  /** What the answers are for, after "What for: ". */
  readonly purpose: string;
  /**
   * How the visitor is asked: a function, which resolves to `true` where the visitor agrees to the statement; or
   * `"given"`, by which your page says that the visitor has agreed to it: best before the questions, so that no answer
   * decides who takes part. By default the page's `<ldp-pca-consent>` asks, or one that is made for the question. A
   * function also gets the `signal`, to close what it shows.
   */
  readonly consent?:
    | "given"
    | ((statement: ConsentStatement, options: { readonly signal?: AbortSignal }) => boolean | Promise<boolean>);
  /** English by default. */
  readonly sentences?: Sentences;
  /** Of {@link PrivacyLedger.open}: for one `{ maxEpsilon: 4 }`, the limit of all reports of this site together. */
  readonly ledger?: Partial<Omit<LedgerOptions, "flushOnline" | "onFlush">>;
  /** Stops it; the promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** The visitor did not agree: nothing was made of the record, and nothing of it sent. */
export interface Declined {
  readonly status: "declined";
  readonly error?: undefined;
}

/**
 * Everything in one call: loads the module, fetches the task, opens the ledger, asks the visitor, and sends this
 * device's one report. A visitor who has a report is not asked again: it is sent if it waits, and its outcome is told.
 *
 * Once the aggregator has given the report's number, the report waits on the device where there is no connection. It is
 * sent by the next call, or by {@link resume}. Without a number there is no report yet, and the promise rejects.
 *
 * @param record - A record; or a form, or its `FormData`, of which {@link formRecord} makes one. It is read when the
 *   visitor has agreed.
 * @throws What {@link Task.fetch}, {@link Randomizer}, {@link PrivacyLedger.open} and {@link PrivacyLedger.send} throw
 *   (by rejecting), and {@link ArgumentError} for options that are missing. {@link explain} has a sentence for each.
 */
export function collect<const S extends Schema = Schema>(
  options: CollectOptions,
  record: RecordOf<S> | HTMLFormElement | FormData,
): Promise<Outcome | Declined>;

/**
 * Sends the reports that earlier visits could not send. Call it when the page starts, and do not wait for it.
 *
 * @param options - Those of {@link collect}, of which it takes `ledger` and `signal`. Nobody is asked about storage.
 */
export function resume(options?: Partial<CollectOptions>): Promise<Outcome[]>;

/**
 * The record of a form: for each column the field of its name. An empty field is a missing value, as is a column
 * without a field. A single checkbox without a `value` of its own is true or false (1 or 0 in a numeric column); one
 * with a `value` is that text, or missing where it is not checked. Of several chosen options or boxes of one name none
 * counts, since a column has one value: give each its own column.
 *
 * `FormData` does not show boxes that are not checked: there they are missing.
 *
 * @throws {@link ArgumentError} when a checkbox without a `value` is for a categorical column without "true"
 *   (in any case), also while it is disabled.
 */
export function formRecord(task: Pick<TaskFacts, "toJSON">, form: HTMLFormElement | FormData): RecordByName;
