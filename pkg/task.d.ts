// Only types: there is no task.js.

/** The guarantee of one report. Without its relation and its unit a privacy parameter means nothing. */
export interface Guarantee {
  /**
   * The bound on the privacy loss. With another record, the probability that the report is in any set of reports is
   * larger by a factor of at most `exp(epsilon)`, and additionally by `delta`.
   */
  readonly epsilon: number;
  /** The additional probability; 0 for none. It is not the probability that the privacy loss exceeds epsilon. */
  readonly delta: number;
  /** What is hidden: any record in place of any other. */
  readonly neighbouring: "any-two-records";
  /** What the guarantee covers once: one report. Sending two reports spends twice the budget. */
  readonly unit: "one-report";
}

/**
 * The power of the best test of one report that distinguishes any record from any other, with the mechanism's noise.
 */
export interface Detection {
  /** The share of those with the other record whom it accuses falsely: 0.01. */
  readonly falseAlarms: number;
  /** The largest share of those with the record whom it then finds. Without a report that is `falseAlarms`. */
  readonly power: number;
}

/** A column as the task's JSON states it. */
export type Column =
  | {
      readonly type: "numeric";
      readonly name: string;
      readonly label?: string;
      readonly offset: number;
      readonly scale: number;
    }
  | {
      readonly type: "categorical";
      readonly name: string;
      readonly label?: string;
      readonly values: readonly string[];
      readonly unseen: "zero" | "other";
    }
  | { readonly type: "ignored"; readonly name: string; readonly label?: string };

/** The columns of a task, as its JSON states them. */
export interface Schema {
  readonly columns: readonly Column[];
  /** How text files of its records are read by the command line, if it is not the usual way. */
  readonly dialect?: { readonly header: boolean; readonly separator: string; readonly decimal_comma: boolean };
}

/** The task's JSON. */
export interface TaskDocument<S extends Schema = Schema> {
  readonly version: 1;
  readonly schema: S;
  readonly bounding: { readonly type: "unit-norm" } | { readonly type: "clip"; readonly radius: number };
  /**
   * If present, reports carry the mean too: a public constant with this share (0.01 to 0.99) of the energy goes beside
   * the bounded record before it is randomized. The guarantee is the same. It cannot be `null`.
   */
  readonly centring?: { readonly weight: number };
  /** If present, the task is that of a second wave, with the mechanism `signed-cap`. It cannot be `null`. */
  readonly refinement?: {
    readonly parent: string;
    readonly directions: readonly (readonly number[])[];
    readonly weights: readonly number[];
    readonly clip: number;
  };
  readonly mechanism:
    | { readonly type: "double-cap"; readonly epsilon: number; readonly candidates: number; readonly cap: number }
    | { readonly type: "signed-cap"; readonly epsilon: number; readonly candidates: number; readonly cap: number }
    | { readonly type: "norm-cap"; readonly epsilon: number; readonly candidates: number; readonly cap: number }
    | {
        readonly type: "gaussian";
        readonly epsilon: number;
        readonly delta: number;
        readonly calibration: "analytic" | "paper";
      };
  /** If present, the name of the period that the task is for: 1 to 64 letters, digits and `-._:`. */
  readonly period?: string;
  readonly folds: number;
}

/**
 * A task's JSON as TypeScript sees an imported file, with `string` and `number` in place of constants. (If the
 * constants are kept, above all the version, {@link TaskDocument} checks them.)
 */
export interface ImportedTask<V extends number = number> {
  readonly version: V & (number extends V ? unknown : never);
  readonly schema: { readonly columns: readonly { readonly type: string; readonly name: string }[] };
  readonly bounding: { readonly type: string };
  readonly centring?: { readonly weight: number };
  readonly mechanism: { readonly type: string; readonly epsilon: number };
  readonly folds: number;
}

/**
 * One record: an object with a value for every column that is not ignored, by name (numbers for numeric columns, or
 * their decimal texts, as forms have them; strings, booleans or whole numbers for categorical ones), or one number per
 * column in the order of the columns, ignored ones included.
 *
 * A skipped question is `null`, `undefined`, NaN or an empty text (or an infinite number, or a bigint of more than 64
 * bits): its column contributes nothing. Only an object's own properties count. What does not fit its column counts as
 * missing.
 */
export type RecordInput = RecordByName | RecordNumbers;

/** A value for every column that is not ignored, by its name. */
export type RecordByName = Readonly<Record<string, number | string | boolean | bigint | null | undefined>>;

/**
 * One number per column, in the order of the columns, ignored ones included: an array or a `Float64Array`.
 *
 * (Typed by what the two have in common. With an array's own type in the union, errors about a record by name would not
 * name its column.)
 */
export interface RecordNumbers extends ArrayLike<number | null | undefined> {
  readonly [Symbol.toStringTag]?: "Float64Array";
}

/**
 * The records of a task whose columns TypeScript knows: exactly the columns that are not ignored, each with its type.*
 * Where it does not know them (a task that came over the network), any {@link RecordInput}.
 */
export type RecordOf<S extends Schema> = string extends S["columns"][number]["name"]
  ? RecordInput
  :
      | RecordNumbers
      | {
          // Any other text of a column that gives unseen values nothing is most likely a mistake. (Without a name of
          // its own, so that errors show what a column takes.)
          readonly [C in S["columns"][number] as C extends { type: "ignored" } ? never : C["name"]]:
            | (C extends { type: "categorical"; unseen: "zero" }
                ? C["values"][number]
                : C extends { type: "categorical" }
                  ? string
                  : number | string)
            | null
            | undefined;
        };
