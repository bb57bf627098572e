// Types alone: there is no task.js.

/** What one report promises. Without its relation and its unit a privacy parameter means nothing. */
export interface Guarantee {
  /**
   * The bound on the privacy loss. With another record, the probability that the report is in any set of reports is
   * larger by a factor of at most `exp(epsilon)`, and by `delta` besides.
   */
  readonly epsilon: number;
  /** What is added; 0 for nothing. It is not the probability that the privacy loss exceeds epsilon. */
  readonly delta: number;
  /** What is hidden: any record in place of any other. */
  readonly neighbouring: "any-two-records";
  /** What is covered once: one report. Who sends two reports spends twice the budget. */
  readonly unit: "one-report";
}

/** How well the best test of one report does that tells any record from any other, the mechanism's noise and all. */
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
}

/** The task's JSON. */
export interface TaskDocument<S extends Schema = Schema> {
  readonly version: 2;
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
 * A task's JSON as TypeScript sees an imported file, with `string` and `number` in place of constants. (Where the
 * constants are kept, the version above all, {@link TaskDocument} knows what they must be.)
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
 * One record: an object with a value for every column that is not ignored, by name (numbers for numeric columns,
 * strings for categorical ones), or one number per column in the order of the columns, ignored ones included.
 *
 * A question that was skipped is `null`, `undefined` or NaN (and an infinite number is none): its column contributes
 * nothing. Only an object's own properties count. Unknown and missing columns and wrong types are errors.
 */
export type RecordInput = RecordByName | RecordNumbers;

/** A value for every column that is not ignored, by its name. */
export type RecordByName = Readonly<Record<string, number | string | null | undefined>>;

/**
 * One number per column, in the order of the columns, ignored ones included: an array or a `Float64Array`.
 *
 * (Said by what they have in common. Beside an array's own type, errors about a record by name would not name its
 * column.)
 */
export interface RecordNumbers extends ArrayLike<number | null | undefined> {
  readonly [Symbol.toStringTag]?: "Float64Array";
}

/**
 * The records of a task whose columns TypeScript knows: exactly the columns that are not ignored, each with its type.
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
                  : number)
            | null
            | undefined;
        };
