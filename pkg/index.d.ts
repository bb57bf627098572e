/// <reference lib="esnext.disposable" />

/**
 * Loads the WebAssembly module. Call it once before anything else and await it; further calls return the same promise,
 * whatever they are given. After a failure the next call tries again.
 *
 * @param input - Where the module is: a URL, a `Response`, its bytes, or a compiled module. By default the file in this
 *   package, which bundlers find by themselves; in Node it is read from disk.
 * @throws {@link LdpPcaError} with code `init` (by rejecting) when it cannot be fetched or compiled, for instance
 *   because the page's content security policy lacks `script-src 'wasm-unsafe-eval'`.
 */
export function init(input?: InitInput | Promise<InitInput>): Promise<void>;

/** What {@link init} can load the module from. */
export type InitInput = string | URL | Request | Response | BufferSource | WebAssembly.Module;

/** The version of the library, for instance `0.1.0`. */
export function version(): string;

/**
 * The stage at which something was wrong. Codes are stable; messages may change.
 *
 * - `init`: the WebAssembly module is not loaded, or did not load.
 * - `task`: the task document is not JSON, has unknown fields or another version, or its parameters make no sense.
 * - `schema`: the record does not fit the task's columns: unknown or missing column, wrong type, NaN or infinity,
 *   unseen value.
 * - `record`: there is no record, or it is the zero vector in a task that uses only its direction.
 * - `report`: the bytes are not a report of this task.
 * - `entropy`: `crypto.getRandomValues` is missing or failed. There is no fallback, and no report was made.
 * - `argument`: an argument has the wrong type or length, or the object was freed.
 */
export type LdpPcaErrorCode = "init" | "task" | "schema" | "record" | "report" | "entropy" | "argument";

/** The only error that this package throws on purpose. Its message has the value that was wrong, and the remedy. */
export class LdpPcaError extends Error {
  readonly name: "LdpPcaError";
  /** What went wrong, for programs. */
  readonly code: LdpPcaErrorCode;
  constructor(code: LdpPcaErrorCode, message: string, options?: { cause?: unknown });
}

/**
 * One record: an object with a value for every column that is not ignored, by name (numbers for numeric columns,
 * strings for categorical ones), or one number per column in the order of the columns, ignored ones included.
 *
 * Only an object's own properties count. Unknown and missing columns, wrong types, NaN and infinity are errors.
 */
export type RecordInput = Readonly<Record<string, number | string>> | readonly number[] | Float64Array;

/** What one report promises. Without its relation and its unit a privacy parameter means nothing. */
export interface Guarantee {
  /**
   * The bound on the privacy loss. Whatever the record is, the probability of any report changes by a factor of at most
   * `exp(epsilon)`.
   */
  readonly epsilon: number;
  /** The probability with which the bound may fail; 0 where it never does. */
  readonly delta: number;
  /** What is hidden: any record in place of any other. */
  readonly neighbouring: "any-two-records";
  /** What is covered once: one report. Who sends two reports spends twice the budget. */
  readonly unit: "one-report";
}

/** A column as the task's JSON states it. */
export type Column =
  | { readonly type: "numeric"; readonly name: string; readonly offset: number; readonly scale: number }
  | {
      readonly type: "categorical";
      readonly name: string;
      readonly values: readonly string[];
      readonly unseen: "zero" | "error";
    }
  | { readonly type: "ignored"; readonly name: string };

/** The task's JSON. */
export interface TaskDocument {
  readonly version: 1;
  readonly schema: { readonly columns: readonly Column[] };
  readonly bounding: { readonly type: "unit-norm" } | { readonly type: "clip"; readonly radius: number };
  /**
   * Where it is there, reports carry the mean too: a public constant with this share (0.01 to 0.99) of the energy goes
   * beside the bounded record before it is randomized. The guarantee is the same. It cannot be `null`.
   */
  readonly centring?: { readonly weight: number };
  readonly mechanism:
    | { readonly type: "double-cap"; readonly epsilon: number; readonly candidates: number; readonly cap: number }
    | {
        readonly type: "gaussian";
        readonly epsilon: number;
        readonly delta: number;
        readonly calibration: "analytic" | "paper";
      };
  readonly folds: number;
}

/** What a task makes of a record. All of it is as private as the record: it is for the owner's eyes. */
export interface EncodedRecord {
  /** The d encoded features, in the order of {@link Task.featureNames}. */
  readonly features: Float64Array;
  /** The d coordinates after bounding: a vector of norm at most 1. The constant of centring is not among them. */
  readonly bounded: Float64Array;
  /** `x x^T` in the units of the features, d × d numbers (symmetric): what the report hides. */
  readonly contribution: Float64Array;
}

/** A collection's public parameters, checked: the columns, how a record is bounded, and how it is randomized. */
export class Task {
  private constructor();

  /**
   * Reads a task.
   *
   * @param json - The JSON text, or what `JSON.parse` made of it.
   * @throws {@link LdpPcaError} with code `task` for anything but a valid task of a known version; unknown fields are
   *   errors.
   */
  static fromJSON(json: string | TaskDocument): Task;

  /** The task's identity: SHA-256 of its canonical JSON, as 64 hexadecimal digits. */
  readonly digest: string;
  /** The number of features, d. */
  readonly dimension: number;
  /** The names of the d features: the column's name, or `column=value` for a categorical one. */
  readonly featureNames: string[];
  /** What one report promises. */
  readonly guarantee: Guarantee;
  /** `exp(epsilon)`: the most by which one report can change anybody's odds between two records, delta aside. */
  readonly oddsFactor: number;
  /** The length of every report in bytes. */
  readonly reportBytes: number;

  /**
   * Encodes and bounds a record, without randomizing it: for showing its owner what is about to be hidden.
   *
   * @throws {@link LdpPcaError} with code `schema` or `record` for a record that does not fit.
   */
  encode(record: RecordInput): EncodedRecord;

  /**
   * What an aggregator reads out of this one report: an unbiased and very noisy estimate of `x x^T`, d × d numbers
   * (symmetric), in a task with centring too.
   *
   * @throws {@link LdpPcaError} with code `report` for bytes that are not a report of this task.
   */
  debiasedContribution(report: Uint8Array): Float64Array;

  /** The task's JSON; `Task.fromJSON` of it is the same task. */
  toJSON(): TaskDocument;

  /** The canonical JSON text, which the digest is of. */
  toString(): string;

  /** Releases the memory inside the module. The object cannot be used afterwards; freeing it again does nothing. */
  free(): void;
  [Symbol.dispose](): void;
}

/** Turns records into reports of one task. */
export class Randomizer {
  /**
   * @param task - May be freed as soon as the randomizer exists.
   * @throws {@link LdpPcaError} with code `argument` when it is not a task, or a freed one.
   */
  constructor(task: Task);

  /**
   * Randomizes a record into the bytes of a report, which are private on their own: send these, and nothing else.
   *
   * Randomness comes straight from `crypto.getRandomValues`. Every call makes a new report and spends the guarantee
   * once more, so keep the bytes when a delivery has to be repeated.
   *
   * @returns {@link Task.reportBytes} bytes.
   * @throws {@link LdpPcaError} with code `schema` or `record` for a record that does not fit, `entropy` without
   *   randomness.
   */
  randomize(record: RecordInput): Uint8Array;

  /**
   * For tests and test vectors only: the report follows from the record and the seed. It is NOT private towards anyone
   * who knows or guesses the seed.
   *
   * @param seed - 32 bytes.
   * @throws {@link LdpPcaError} as {@link Randomizer.randomize}, and `argument` for a seed of another length.
   */
  randomizeSeeded(record: RecordInput, seed: Uint8Array): Uint8Array;

  /** Releases the memory inside the module. The object cannot be used afterwards; freeing it again does nothing. */
  free(): void;
  [Symbol.dispose](): void;
}
