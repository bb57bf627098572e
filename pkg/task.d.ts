// Types alone: there is no task.js.

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

/** The columns of a task, as its JSON states them. */
export interface Schema {
  readonly columns: readonly Column[];
}

/** The task's JSON. */
export interface TaskDocument<S extends Schema = Schema> {
  readonly version: 1;
  readonly schema: S;
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

/**
 * One record: an object with a value for every column that is not ignored, by name (numbers for numeric columns,
 * strings for categorical ones), or one number per column in the order of the columns, ignored ones included.
 *
 * Only an object's own properties count. Unknown and missing columns, wrong types, NaN and infinity are errors.
 */
export type RecordInput = Readonly<Record<string, number | string>> | RecordNumbers;

/** One number per column, in the order of the columns, ignored ones included. */
export type RecordNumbers = readonly number[] | Float64Array;

/**
 * The records of a task whose columns TypeScript knows: exactly the columns that are not ignored, each with its type.
 * Where it does not know them (a task that came over the network), any {@link RecordInput}.
 */
export type RecordOf<S extends Schema> = string extends S["columns"][number]["name"]
  ? RecordInput
  :
      | RecordNumbers
      | {
          readonly [C in S["columns"][number] as C extends { type: "ignored" } ? never : C["name"]]: ValueOf<C>;
        };

type ValueOf<C extends Column> = C extends { type: "categorical"; unseen: "error" }
  ? C["values"][number]
  : C extends { type: "categorical" }
    ? string
    : number;
