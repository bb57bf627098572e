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

/** How {@link Task.fetch} goes about it. */
export interface TaskFetchOptions {
  /**
   * The digest of the task that is meant, 64 lower-case hexadecimal digits. Whoever serves the task can otherwise
   * serve another one. Naming it without having one (`undefined`) is an error with code `argument`.
   */
  readonly digest?: string;
  /** Stops it; the promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** The longest that it may take, in milliseconds; 30,000 by default. */
  readonly timeout?: number;
}

/** What the module keeps memory for. */
export interface Freeable {
  /** Releases the memory inside the module. The object cannot be used afterwards; freeing it again does nothing. */
  free(): void;
  [Symbol.dispose](): void;
}

/** What a task says of itself, in the page and in the worker alike. */
export interface TaskFacts<S extends Schema = Schema> extends Freeable {
  /** The task's identity: SHA-256 of its canonical JSON, as 64 hexadecimal digits. */
  readonly digest: string;
  /** The number of features, d. */
  readonly dimension: number;
  /** The names of the d features: the column's name, or `column=value` for a categorical one. */
  readonly featureNames: string[];
  /** What one report promises. */
  readonly guarantee: Guarantee;
  /** What one report lets anybody tell, whoever sees it. */
  readonly detection: Detection;
  /** The length of every report in bytes. */
  readonly reportBytes: number;
  /** How many random numbers a report takes: the same for every record, and what it costs in time. */
  readonly draws: number;

  /** The task's JSON; `Task.parse` of it is the same task. */
  toJSON(): TaskDocument<S>;

  /** The canonical JSON text, which the digest is of. */
  toString(): string;
}

/**
 * A collection's public parameters, checked: the columns, how a record is bounded, and how it is randomized.
 *
 * `S` is what TypeScript knows of the columns: everything when the document is a constant in the program.
 */
export class Task<const S extends Schema = Schema> {
  // Those of `ldp-pca/worker` are others.
  #page: true;
  private constructor();

  /**
   * Reads a task.
   *
   * @param json - The JSON text, or what `JSON.parse` made of it. Of a literal or an `as const` document TypeScript
   *   knows the columns, and so what a record must have.
   * @throws {@link TaskError} with code `task` for anything but a valid task of a known version; unknown fields are
   *   errors.
   */
  static parse<const S extends Schema>(json: TaskDocument<S>): Task<S>;
  /**
   * Reads a task out of an imported JSON file, of which TypeScript keeps no constants: it does not know the columns
   * then. A module that `ldp-pca task types` prints keeps them.
   */
  static parse<V extends number>(json: ImportedTask<V>): Task;
  static parse(json: string): Task;

  /**
   * Fetches a task and reads it, without cookies.
   *
   * The schema's type, if given, is taken at its word: name the `digest` too, and it holds.
   *
   * @param url - Where its JSON is: an aggregator's `/tasks/<digest>`, or a file of your own.
   * @throws {@link TaskError} (by rejecting) with code `fetch` when there is no answer, or one that is not JSON (by its
   *   status, its media type, its encoding) or longer than 16 MiB; `task` when it is not a task; `digest` when it is
   *   another one than expected.
   */
  static fetch<const S extends Schema = Schema>(url: string | URL, options?: TaskFetchOptions): Promise<Task<S>>;

  /**
   * All that keeps a record from having a report, to mark inputs with: first the columns in their order, last what
   * belongs to none. Empty when there is a report for it.
   *
   * That depends on names and JavaScript's types alone (NaN and infinite numbers are missing values, in every column),
   * and the errors tell no value: one that no column lists, or that is missing, is no problem. To ask for an answer is
   * the form's own business.
   */
  check(record: unknown): RecordError[];
}
export interface Task<S extends Schema = Schema> extends TaskFacts<S> {}

/** What the embedding page allows a task, whoever wrote it. */
export interface RandomizerOptions {
  /**
   * The largest epsilon. There is no default: a task comes from those who want the data, and how much it may reveal is
   * not theirs to say. `Infinity` allows whatever the task asks for.
   */
  readonly maxEpsilon: number;
  /** The largest delta, 1e-5 by default: what the guarantee adds to every probability. */
  readonly maxDelta?: number;
  /** The longest report, in bytes; 1 MiB by default. Whoever makes it holds a few times as much. */
  readonly maxReportBytes?: number;
  /** The most {@link Task.draws}; 2^26 by default, some tenths of a second. */
  readonly maxDraws?: number;
}

/** How one report is made. */
export interface RandomizeOptions {
  /**
   * The report's id, 32 hexadecimal digits: one that the task's aggregator issued ({@link issuedId}), which takes no
   * others unless it is told to. Use each for one report. The guarantee is the same; whoever issued the id can
   * recognize the report. By default the report makes its own.
   */
  readonly id?: string | undefined;
}

/** What a randomizer says of itself, in the page and in the worker alike. */
export interface RandomizerFacts extends Freeable {
  /** The digest of the task. */
  readonly taskDigest: string;
  /** What one report promises. */
  readonly guarantee: Guarantee;
}

/** Turns records into reports of one task. */
export class Randomizer<const S extends Schema = Schema> {
  #page: true;
  /**
   * @param task - May be freed as soon as the randomizer exists.
   * @throws {@link TaskError} with code `max-epsilon`, `max-delta`, `max-report-bytes` or `max-draws` when the task
   *   asks for more than `options` allow;
   *   {@link ArgumentError} with code `argument` when it is not a task, or a freed one, or `maxEpsilon` is missing.
   */
  constructor(task: Task<S>, options: RandomizerOptions);

  /**
   * Randomizes a record into a report, which is private on its own: send its bytes, and nothing else.
   *
   * Randomness comes straight from `crypto.getRandomValues`. Every call makes a new report and spends the guarantee
   * once more, so keep the report when a delivery has to be repeated; {@link PrivacyLedger.report} sees to that.
   *
   * Every record of the task's names and types has a report: a missing value (`null`, `undefined`, NaN) contributes
   * nothing, and so does a text that its column does not list.
   *
   * @throws {@link RecordError} with code `schema` or `record` for a record of other names or types, the first that
   *   {@link Task.check} tells of; {@link EntropyError}
   *   with code `entropy` without randomness; {@link ArgumentError} for an `id` that is none.
   */
  randomize(record: RecordOf<S>, options?: RandomizeOptions): Report;
}
export interface Randomizer<S extends Schema = Schema> extends RandomizerFacts {}
