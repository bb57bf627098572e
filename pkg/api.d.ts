import type { RecordError } from "./errors.js";
import type { Report } from "./report.js";
import type { Detection, Guarantee, ImportedTask, RecordInput, RecordOf, Schema, TaskDocument } from "./task.js";

// As TypeScript's own library has it from 5.2 on.
declare global {
  interface SymbolConstructor {
    readonly dispose: unique symbol;
  }
}

/** The version of the library, for instance `0.1.0`. */
export function version(): string;

/** Options of {@link Task.fetch}. */
export interface TaskFetchOptions {
  /**
   * The digest of the expected task, 64 lower-case hexadecimal digits. Without it, the server can serve another task.
   * Giving it as `undefined` is an error with code `argument`.
   *
   * With it, the result is the task of a second wave where the server says that one is open (`Refined-By`). It is
   * fetched from beside the address that answered. A redirect may lead elsewhere, so its contents are checked, not its
   * address: it must have the digest that the server named, refine this task, have the same columns, bounding,
   * period and folds, and no larger epsilon.
   */
  readonly digest?: string;
  /** Stops it; the promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** The longest that an answer may take, in milliseconds; 30,000 by default. */
  readonly timeout?: number;
}

/** An object that uses memory of the module. */
export interface Freeable {
  /** Releases the memory inside the module. The object cannot be used afterwards; freeing it again does nothing. */
  free(): void;
  [Symbol.dispose](): void;
}

/** What a task has, in the page and in the worker alike, where `Problems` are a promise. */
export interface TaskFacts<S extends Schema = Schema, Problems = RecordError[]> extends Freeable {
  /** The task's identity: SHA-256 of its canonical JSON, as 64 hexadecimal digits. */
  readonly digest: string;
  /** For the task of a second wave: the digest of the first wave's task. A ledger has one report for both. */
  readonly campaign?: string;
  /** The name of the period that it is for, as `2026-W48`, if it has one. */
  readonly period?: string;
  /** The number of features, d. */
  readonly dimension: number;
  /** The names of the d features: the column's name, or `column=value` for a categorical one. */
  readonly featureNames: string[];
  /** What one report promises. */
  readonly guarantee: Guarantee;
  /** The most that one report reveals to anybody who sees it. */
  readonly detection: Detection;
  /** The length of every report in bytes. */
  readonly reportBytes: number;
  /** The number of random numbers in a report: the same for every record, and its cost in time. */
  readonly draws: number;

  /**
   * All that does not fit the task's columns, and so counts as missing in a report, for marking inputs: first the
   * columns in their order, last the problems of no column. Empty if all of the record fits.
   *
   * The result depends only on names and JavaScript's types (NaN and infinite numbers are missing values, in every
   * column), and the errors contain no value. A value that no column lists, or that is missing, is not a problem:
   * requiring an answer is up to the form.
   */
  check(record: unknown): Problems;

  /** The task's JSON; `Task.parse` of it is the same task. */
  toJSON(): TaskDocument<S>;

  /** The canonical JSON text; the digest is computed from it. */
  toString(): string;
}

/**
 * A collection's public parameters, checked: the columns, how a record is bounded, and how it is randomized.
 *
 * `S` is what TypeScript knows about the columns: everything if the document is a constant in the program.
 */
export class Task<const S extends Schema = Schema> {
  // Distinct from those of `ldp-pca/worker`.
  #page: true;
  private constructor();

  /**
   * Reads a task.
   *
   * @param json - The JSON text, or the result of `JSON.parse`. From a literal or an `as const` document, TypeScript
   *   knows the columns, and so what a record must have.
   * @throws {@link TaskError} with code `task` for anything but a valid task of a known version; unknown fields are
   *   errors.
   */
  static parse<const S extends Schema>(json: TaskDocument<S>): Task<S>;
  /**
   * Reads a task from an imported JSON file. TypeScript keeps no constants of such a file, so it does not know the
   * columns. A module that `ldp-pca task types` prints keeps them.
   */
  static parse<V extends number>(json: ImportedTask<V>): Task;
  static parse(json: string): Task;

  /**
   * Fetches a task and reads it, without cookies.
   *
   * The schema's type, if given, is not checked: give the `digest` too, and it holds.
   *
   * @param url - Where its JSON is: an aggregator's `/tasks/<digest>`, or a file of your own.
   * @throws {@link TaskError} (by rejecting) with code `fetch` when there is no answer, or one that is not JSON (by its
   *   status, its media type, its encoding) or longer than 16 MiB; `task` when it is not a task; `digest` when it is
   *   a task other than the expected one, or its second wave does not refine it; `max-epsilon` when the second wave
   *   asks for more.
   */
  static fetch<const S extends Schema = Schema>(url: string | URL, options?: TaskFetchOptions): Promise<Task<S>>;
}
export interface Task<S extends Schema = Schema> extends TaskFacts<S> {}

/** Limits that the embedding page sets for any task. */
export interface RandomizerOptions {
  /**
   * The largest epsilon. There is no default: a task comes from those who want the data, and they do not decide how
   * much it may reveal. `Infinity` allows any epsilon.
   */
  readonly maxEpsilon: number;
  /** The largest delta, 1e-5 by default: what the guarantee adds to every probability. */
  readonly maxDelta?: number;
  /** The longest report, in bytes; 1 MiB by default. Making it takes a few times as much memory. */
  readonly maxReportBytes?: number;
  /** The most {@link Task.draws}; 2^26 by default, some tenths of a second. */
  readonly maxDraws?: number;
  /**
   * Whether a record that does not fit the columns is an error: for your own data, and for tests (in `ldp-pca/testing`
   * it is `true` by default). A visitor's record must have a report, whatever it holds, so elsewhere it is `false` by
   * default: what does not fit counts as missing, and the console has a warning.
   */
  readonly strict?: boolean;
}

/** Options of one report. */
export interface RandomizeOptions {
  /**
   * The report's id, 32 hexadecimal digits, issued by the task's aggregator ({@link issuedId}), which accepts no others
   * unless it is configured to. Use each for one report. The guarantee is the same; the issuer of the id can recognize
   * the report. By default the report makes its own.
   */
  readonly id?: string | undefined;
}

/** What a randomizer has, in the page and in the worker alike, where `Result` is a promise. */
export interface RandomizerFacts<S extends Schema = Schema, Result = Report> extends Freeable {
  /** The digest of the task. */
  readonly taskDigest: string;
  /** The task's period, if it has one. */
  readonly period?: string;
  /** What one report promises. */
  readonly guarantee: Guarantee;

  /**
   * Randomizes a record into a report, which is private on its own: send its bytes, and nothing else.
   *
   * Randomness comes directly from `crypto.getRandomValues`. Every call makes a new report and spends the guarantee
   * once more, so keep the report when a delivery has to be repeated; {@link PrivacyLedger.report} does that.
   *
   * Every record has a report, whatever it holds. A missing value (`null`, `undefined`, NaN) contributes nothing, and
   * so does what does not fit its column: a value of another type, an absent name, a property that throws. Columns that
   * the task does not have are not read. The device's own console has a warning once for each column, with its name and
   * what it takes, and never the value. Do not send the console elsewhere: whether there is a warning depends on the
   * record.
   *
   * @throws {@link RecordError} with code `record` for what is no record at all: `null`, a text, a `Map`, a promise;
   *   with {@link RandomizerOptions.strict} also with code `schema`, for the first problem of {@link Task.check};
   *   {@link EntropyError} with code `entropy` without randomness; {@link ArgumentError} for an invalid `id`.
   */
  randomize(record: RecordOf<S>, options?: RandomizeOptions): Result;
}

/** Turns records into reports of one task. */
export class Randomizer<const S extends Schema = Schema> {
  #page: true;
  /**
   * @param task - It may be freed as soon as the randomizer exists.
   * @throws {@link TaskError} with code `max-epsilon`, `max-delta`, `max-report-bytes` or `max-draws` when the task
   *   asks for more than `options` allow;
   *   {@link ArgumentError} with code `argument` when `task` is not a task, or was freed, or `maxEpsilon` is missing.
   */
  constructor(task: Task<S>, options: RandomizerOptions);
}
export interface Randomizer<S extends Schema = Schema> extends RandomizerFacts<S> {}
