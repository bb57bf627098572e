import type { Freeable, Task } from "./api.js";
import type { InitInput } from "./index.js";
import type { Report } from "./report.js";
import type { Guarantee, RecordOf, Schema, TaskDocument } from "./task.js";

export * from "./index.js";

// The lab has its own module, which includes everything of the client's. Its tasks and randomizers work only with its
// own functions, and the client's only with the client.

/** The steps from a record to its report. All of it is as private as the record: show it only to the owner. */
export interface EncodedRecord {
  /** The d encoded features, in the order of {@link Task.featureNames}. */
  readonly features: Float64Array;
  /** The d coordinates after bounding: a vector of norm at most 1. The constant of centring is not among them. */
  readonly bounded: Float64Array;
  /** `x x^T` in the units of the features, d × d numbers (symmetric): what the report hides. */
  readonly contribution: Float64Array;
}

/**
 * Encodes and bounds a record, without randomizing it: for showing its owner what will be hidden.
 *
 * @throws {@link RecordError} with code `record` for what is no record at all. What does not fit counts as missing, as
 *   in a report.
 */
export function encode<const S extends Schema>(task: Task<S>, record: RecordOf<S>): EncodedRecord;

/**
 * What an aggregator reads from one report: an unbiased and very noisy estimate of `x x^T` in the units of the
 * features, d × d numbers (symmetric), also in a task with centring.
 *
 * @throws {@link ReportError} with code `report` for bytes that are not a report of this task.
 */
export function debiasedContribution(task: Task, report: Report | Uint8Array): Float64Array;

/**
 * The summed reports of one task. The sums are integers: any order and any grouping give the same bytes, here and in
 * the native aggregator. It has a sample of the reports' ids, and recognizes some repeats: keep duplicates out.
 */
export class Aggregate {
  /**
   * @param task - It may be freed as soon as the aggregate exists.
   * @param bytes - The state of an aggregate of this task, from {@link Aggregate.toBytes} or a native aggregator;
   *   without it there are no reports yet.
   * @throws {@link LdpPcaError} with code `aggregate` for bytes that are not such a state.
   */
  constructor(task: Task, bytes?: Uint8Array);

  /** The number of reports. */
  readonly records: number;

  /**
   * Adds reports: one, or the bytes of many, one after the other.
   *
   * @throws {@link ReportError} with code `report` when one of them is not of this task; {@link LdpPcaError} with code
   *   `aggregate` when one of them is recognized as being in the sum already. Then none was added.
   */
  add(reports: Report | Uint8Array): this;

  /**
   * Adds the sums of another aggregate of the same task, of other reports.
   *
   * @throws {@link LdpPcaError} with code `aggregate` when it is of another task, or is recognized to have reports of
   *   this one; {@link ArgumentError} when it is this one.
   */
  merge(other: Aggregate): this;

  /**
   * The estimate of the mean of `x x^T` over the records, unbiased and noisy, in the units of the features: d × d
   * numbers (symmetric).
   *
   * @throws {@link LdpPcaError} with code `aggregate` when there are no reports.
   */
  secondMoment(): Float64Array;

  /** The bytes of the state, which a native aggregator reads too. */
  toBytes(): Uint8Array;
}
export interface Aggregate extends Freeable {}

/** The progress of a long computation. */
export interface Progress {
  /** Iterations of the solver, or problems or trials, completed. */
  readonly done: number;
  /** Their largest possible number. */
  readonly total: number;
  /** The certified relative gap so far, once there is one. */
  readonly relativeGap?: number;
}

/** Progress and cancellation of a computation. It blocks its thread: in a page, run it in a worker. */
export interface WatchOptions {
  /** Called from time to time. `false` stops the solver; the result so far is returned, with status `cancelled`. */
  readonly onProgress?: (progress: Progress) => boolean | void;
  /** Stops it at the next call of `onProgress`: its reason is thrown, and there is no result. */
  readonly signal?: AbortSignal;
}

/** Options of a recovery. */
export interface RecoverOptions extends WatchOptions {
  /** The number of components k, from 1 to d. */
  readonly rank: number;
  /**
   * Without a penalty: plain principal components. With one: sparse components by the Fantope program, a number in the
   * units of the covariance; `"auto"` or `{ factor }` for `factor × noise × sqrt(ln d)`, with 0.5 by default; `"cv"`
   * for cross-validation over the folds of the task.
   */
  readonly penalty?: number | "auto" | "cv" | { readonly factor: number };
  /**
   * The relative gap at which the solver stops. By default 1e-6 for a matrix, and for reports, whose noise is known,
   * the gap that adds one to two hundredths of the noise to the guaranteed error, from 1e-6 to 1e-3.
   */
  readonly tolerance?: number;
  /** Whether to add simpler methods beside sparse components; this takes full eigendecompositions. */
  readonly baselines?: boolean;
  /**
   * Components to compare with, in the form of {@link Recovery.components}: d × k numbers, such as those of records
   * that somebody has seen.
   */
  readonly reference?: Float64Array;
}

/** Components of a symmetric d × d matrix. */
export interface Recovery {
  /**
   * The components, d × k numbers, row-major (feature by feature), orthonormal, most variance first; each one's largest
   * entry is positive. Sparse ones are exactly 0 off the support.
   */
  readonly components: Float64Array;
  /** d. */
  readonly dimension: number;
  /** k. */
  readonly rank: number;
  readonly method: "pca" | "fantope";
  /**
   * How the solver ended. Every solution is feasible and its gap certified; the gap is wider if it is not `optimal`.
   */
  readonly status: "optimal" | "stalled" | "budget-exhausted" | "cancelled";
  /** The variances along the k components, descending, in the units of the matrix. */
  readonly eigenvalues: number[];
  /** The trace of the matrix. */
  readonly totalVariance: number;
  /** The eigenvalues over the total; `null` where noise makes the total 0 or less. */
  readonly explainedVariance: number[] | null;
  /** The features that take part, ascending from 0. */
  readonly support: number[];
  /** Between the last eigenvalue kept and the first dropped: at 0 the subspace is not determined. `null` when all are
   * kept, and for sparse components. */
  readonly eigenvalueGap: number | null;
  /** For sparse components; `null` for others. */
  readonly sparse: SparseFacts | null;
  /**
   * With a reference: `||sin Theta||_F^2` between the components and it, 0 for the same subspace and k (1 - k/d) on
   * average for a random one.
   */
  readonly sinThetaSquared?: number;
}

/** The sparse solver's report on its solution, in the units of the matrix. */
export interface SparseFacts {
  readonly penalty: number;
  readonly objective: number;
  /** An upper bound on the objective of every feasible point. */
  readonly dualBound: number;
  /** The certified relative gap between them. */
  readonly relativeGap: number;
  readonly iterations: number;
  /** For each feature of the support, the share that the components explain, 0 to 1. */
  readonly leverages: number[];
  /** If asked for: plain components of the matrix soft-thresholded by the penalty, and of the matrix itself. */
  readonly baselines?: { readonly softThreshold: Baseline; readonly pca: Baseline };
}

/** The result of a simpler method on the same matrix. */
export interface Baseline {
  /** The variances along its components in the matrix itself, descending. */
  readonly eigenvalues: number[];
  /** The features that they use, ascending from 0. */
  readonly support: number[];
  /** `||sin Theta||_F^2` between them and the sparse components. */
  readonly distance: number;
  /** With a reference: `||sin Theta||_F^2` between them and it. */
  readonly sinThetaSquared?: number;
}

/**
 * Components of an aggregate's estimate: of second moments about zero, not of the covariance, unless the task has
 * centring. Without it a mean away from zero is the first component.
 */
export interface AggregateRecovery extends Recovery {
  /** The number of reports. */
  readonly records: number;
  /** Standard deviation of the noise in one off-diagonal entry of the estimate. */
  readonly noiseDeviation: number;
  /**
   * The variance that noise alone would give to the first component: a component that is not above it cannot be
   * distinguished from noise.
   */
  readonly noiseEdge: number;
  /** The mean of the bounded records, d numbers, of a task with centring; else `null`. */
  readonly mean: number[] | null;
}

/**
 * Recovers components from an aggregate: d = 400 takes a fraction of a second.
 *
 * @throws {@link LdpPcaError} with code `aggregate` when there are no reports; `recovery` for a rank above d, or `"cv"`
 *   where the task has one fold; {@link ArgumentError} for options of another type or name.
 */
export function recover(aggregate: Aggregate, options: RecoverOptions): AggregateRecovery;

/**
 * Recovers components of any symmetric matrix.
 *
 * @param matrix - d × d numbers.
 * @param options - Give the penalty as a number, since the noise of a matrix is not known.
 * @throws {@link LdpPcaError} with code `recovery` for a matrix that is not symmetric or not finite.
 */
export function solve(
  matrix: Float64Array,
  dimension: number,
  options: RecoverOptions & { readonly penalty?: number },
): Recovery;

/** The solution for one penalty of a sequence. */
export interface PathPoint extends Pick<SparseFacts, "penalty" | "objective" | "relativeGap" | "iterations"> {
  readonly status: Recovery["status"];
  readonly support: number[];
  readonly eigenvalues: number[];
}

/**
 * Solves the sparse problem for a geometric sequence of penalties, from the largest that changes anything to a quarter
 * of that of `"auto"`.
 *
 * @param options - `points` is their number, 20 by default.
 * @throws As {@link recover}; {@link LdpPcaError} with code `cancelled` when `onProgress` returned `false`.
 */
export function penaltyPath(
  aggregate: Aggregate,
  options: WatchOptions & { readonly rank: number; readonly points?: number },
): PathPoint[];

/**
 * A mechanism. If they are left out, candidates and cap are the best ones, and delta is 1e-6.
 *
 * `wang-xu` is the Gaussian mechanism printed by Wang & Xu (2019, Algorithm 1), for comparison: noise of variance
 * `2 ln(1.25/delta) / epsilon^2` on every entry. It takes the sensitivity as 1 although two records may differ by
 * sqrt(2), and uses a formula that holds up to epsilon = 1. It is private, but not with the delta it is computed from:
 * except for small epsilons it has a larger one. `simulate` states the true one as its guarantee.
 */
export type MechanismInput =
  | { readonly type: "double-cap"; readonly epsilon: number; readonly candidates?: number; readonly cap?: number }
  | { readonly type: "gaussian" | "wang-xu"; readonly epsilon: number; readonly delta?: number };

/**
 * A mechanism in the form of a task, with the best parameters where they are left out.
 *
 * @throws {@link ArgumentError} for `wang-xu`, which no task takes, and for parameters that make no sense.
 */
export function recommendedMechanism(mechanism: MechanismInput): TaskDocument["mechanism"];

/** Whether a task has centring, and the mean of the records that it is about. */
export interface AboutMean {
  /** The weight of centring, as in a task: components are then of the covariance. */
  readonly centring?: { readonly weight: number };
  /**
   * With centring, the mean's share of the second moments about zero, at least 0 and below 1: 0 by default. The mean is
   * orthogonal to the components.
   */
  readonly meanShare?: number;
}

/**
 * A population of unit-norm records, given by the eigenvalues of its second-moment matrix or, with centring, of its
 * covariance, as shares of the trace; and its mechanism.
 */
export interface PopulationInput extends AboutMean {
  /** d. */
  readonly dimension: number;
  /** The largest eigenvalues, fewer than d. */
  readonly signals: readonly number[];
  /** Every other eigenvalue; by default the rest of 1, in equal parts. */
  readonly bulk?: number;
  readonly mechanism: MechanismInput;
}

/** Options of a prediction. */
export interface PredictOptions extends PopulationInput {
  /** k, below d. */
  readonly rank: number;
  /** The number of reports. */
  readonly records: number;
}

/** The prediction for the leading k components. */
export interface Prediction {
  /**
   * The expected share of the structure that they find: 1 for the true components, 0 for a random subspace on average.
   * `null` where no eigenvalue is above the bulk.
   */
  readonly shareFound: number | null;
  /** Expected `||sin Theta||_F^2` of the whole subspace, 0 to `uninformed`. */
  readonly sinThetaSquared: number;
  /** The error of a random subspace: k (1 - k/d). */
  readonly uninformed: number;
  /** The true eigenvalue above which a component can be recovered at all. */
  readonly threshold: number;
  /** The part of each true component that the recovered subspace misses, 0 to 1. */
  readonly perComponent: readonly number[];
  /** Whether each can be recovered at all. */
  readonly recoverable: readonly boolean[];
}

/**
 * Predicts what recovered components find, before or after the reports are in.
 *
 * @throws {@link LdpPcaError} with code `recovery` for a spectrum or a rank that makes no sense; {@link ArgumentError}
 *   for options of another type or name.
 */
export function predict(population: PredictOptions): Prediction;
export function predict(aggregate: Aggregate, options: { readonly rank: number }): Prediction;

/** The questions of a plan. */
export interface PlanOptions {
  /** k, below d. */
  readonly rank: number;
  /** A number of reports, to predict what they find. */
  readonly records?: number;
  /** A share of the structure, above 0 and below 1, to find the number of reports it takes. */
  readonly share?: number;
  /** A target for `||sin Theta||_F^2`, above 0 and below k (1 - k/d), to find what it takes. */
  readonly target?: number;
  /**
   * Also plan for reports that somebody trusted shuffles before anybody sees them, in batches with so many honest
   * reports. The mechanism's epsilon is then that of each batch, with this delta, and every report may have a larger
   * one.
   */
  readonly shuffled?: { readonly honestReports: number; readonly delta: number };
}

/** What to expect of a collection, and what a goal takes. A number is `null` where no finite one is enough. */
export interface Plan {
  /** d. */
  readonly dimension: number;
  /** k. */
  readonly rank: number;
  /** The eigenvalues that stand out, descending. */
  readonly signals: readonly number[];
  /** Every other eigenvalue. */
  readonly bulk: number;
  /** The guarantee that is planned for: of one report, or of each shuffled batch. */
  readonly epsilon: number;
  /** The guarantee of one report at that epsilon. */
  readonly guarantee: Guarantee;
  /** The number of reports below which nothing can be recovered: that of the strongest component. */
  readonly thresholdRecords: number | null;
  /** For each of the k components, the number of reports below which it cannot be recovered. */
  readonly thresholdRecordsPerComponent: readonly (number | null)[];
  /** The error of a random subspace: k (1 - k/d). */
  readonly uninformed: number;
  /** As asked. */
  readonly records?: number;
  readonly share?: number;
  readonly target?: number;
  /** Of `records`, where they are given. */
  readonly predicted?: Omit<Prediction, "uninformed">;
  /** The least number of reports that finds `share` of the structure, where that is given. */
  readonly recordsForShare?: number | null;
  /** The least number of reports that reaches `target`, where that is given. */
  readonly recordsForTarget?: number | null;
  /** The least epsilon (0.001 to 16) at which `records` reports reach `target`, where both are given. */
  readonly epsilonForTarget?: number | null;
  /** The plan for shuffled reports, where that is asked for. */
  readonly shuffled?: {
    /** Of each batch of `honestReports` honest reports. */
    readonly epsilon: number;
    readonly delta: number;
    readonly honestReports: number;
    /** The largest epsilon that each report may have. */
    readonly localEpsilon: number | null;
    /** Of `records` reports at that epsilon. */
    readonly predicted?: Omit<Prediction, "uninformed">;
    /** The number of them for `target`, at least one batch. */
    readonly recordsForTarget?: number | null;
    /** The number of them for `share`, at least one batch. */
    readonly recordsForShare?: number | null;
    /** The epsilon of each batch when `records` reports reach `target`. */
    readonly epsilonForTarget?: number | null;
  };
  /**
   * The share of these people that other unbiased reports of this promise would need at least, for the same expected
   * squared error of the second moments where no direction is special: what is proved, and what is conjectured, with
   * the rank of the projection that the latter is computed from (docs/privacy/optimality.md). Only for pure epsilon and
   * unit norm, without centring and shuffling.
   */
  readonly optimum?: { readonly provedShare: number; readonly conjecturedShare: number; readonly rank: number };
}

/**
 * Finds how many reports a share of the structure takes, and how many, or which epsilon, a target takes.
 *
 * @throws {@link LdpPcaError} with code `recovery` for a spectrum, a rank, a share or a target that makes no sense;
 *   {@link ArgumentError} for options of another type or name.
 */
export function plan(what: PopulationInput & PlanOptions): Plan;
/**
 * Finds the same for another collection like that of the aggregate, with the spectrum of its estimate.
 */
export function plan(aggregate: Aggregate, options: PlanOptions): Plan;

/** The population of a simulation: unit-norm records `y / |y|` of the spiked model `y = g + sqrt(signal) V f`. */
export interface PopulationOptions {
  /** d. */
  readonly dimension: number;
  /** k, 3 by default. */
  readonly rank?: number;
  /** Strength of the components relative to the noise in the records, 20 by default. */
  readonly signal?: number;
  /** The number of features that the components use; all by default. */
  readonly sparsity?: number;
}

/**
 * The expected eigenvalues of `x x^T` over the records that {@link simulate} draws, for comparing {@link predict} with
 * it: k equal ones above d - k equal ones, with sum 1. By quadrature, to 14 digits.
 *
 * @throws {@link LdpPcaError} with code `simulation` for a population that does not exist; {@link ArgumentError} for
 *   options of another type or name.
 */
export function population(options: PopulationOptions): { readonly signals: number[]; readonly bulk: number };

/**
 * How the reports of a simulation are generated. `randomized`: every record is randomized, as on a user's device.
 * `drawn`: the sums of reports are drawn from their law, in O(d^2) operations per record, many times faster and with
 * other random numbers; the sums are used in the same way.
 */
export type ReportsInput = "randomized" | "drawn";

/** Simulated collections. */
export interface SimulateOptions extends PopulationOptions, AboutMean {
  /** The number of records n of each trial, at least 1. */
  readonly records: number;
  /** The mechanism; without it records are not randomized. */
  readonly mechanism?: MechanismInput;
  /** Several mechanisms in place of `mechanism`, for the same records of each trial. */
  readonly mechanisms?: readonly MechanismInput[];
  /** `"randomized"` by default. */
  readonly reports?: ReportsInput;
  /** The methods that recover components from the same reports, `["pca"]` by default. */
  readonly methods?: readonly ("pca" | "soft-threshold" | "fantope")[];
  /** The factor c of the penalty c × noise × sqrt(ln d), 0.5 by default. */
  readonly penaltyFactor?: number;
  /** 5 by default. */
  readonly trials?: number;
  /**
   * The number of the first one, 0 by default. Trials do not depend on each other: any split of them gives the same
   * numbers.
   */
  readonly firstTrial?: number;
  /**
   * 1 by default: the same seed gives the same numbers, here and by the command line's `simulate`. Where reports are
   * drawn, the records of a trial are the same ones whatever the mechanisms, and the first n of more.
   */
  readonly seed?: number;
}

/** Figures, one of each trial. */
export interface Figures {
  readonly mean: number;
  readonly values: number[];
}

/** The result of one mechanism. */
export interface MechanismSimulation {
  /** One entry for each method, in the order asked for. */
  readonly methods: readonly {
    readonly method: string;
    /** Shares of the structure found; `null` for a population without any. */
    readonly shareFound: Figures | null;
    /** Squared distances `||sin Theta||_F^2` (0 to k). */
    readonly sinThetaSquared: Figures;
  }[];
  /** The length of a report; `null` without a mechanism. */
  readonly reportBytes: number | null;
  /**
   * The true guarantee of a report: with `wang-xu`, its delta is not the one in its scale. `null` without a mechanism.
   */
  readonly guarantee: Guarantee | null;
}

/** The result of a simulation: of the first mechanism, and of all of them. */
export interface Simulation extends MechanismSimulation {
  /** One entry for each mechanism, in their order. */
  readonly byMechanism: readonly MechanismSimulation[];
  /** Shares of the structure that plain principal components of the records themselves find. */
  readonly nonPrivateShareFound: Figures | null;
  /** Their errors. */
  readonly nonPrivate: Figures;
  /** The expected error of a random subspace: k (1 - k/d). */
  readonly randomSubspace: number;
}

/**
 * Measures what is found on synthetic records, through the real mechanisms. The thread is free between trials.
 *
 * @throws {@link LdpPcaError} (by rejecting) with code `simulation` for a population that does not exist; the signal's
 *   reason when it is aborted; {@link ArgumentError} for options of another type or name.
 */
export function simulate(
  options: SimulateOptions,
  watch?: { readonly signal?: AbortSignal; readonly onProgress?: (progress: Progress) => void },
): Promise<Simulation>;

/** One simulated collection. */
export interface CollectionOptions extends PopulationOptions, AboutMean {
  readonly records: number;
  /** The mechanism; without it the estimate is that of the records themselves. */
  readonly mechanism?: MechanismInput;
  /** `"drawn"` by default. */
  readonly reports?: ReportsInput;
  /** 1 by default. */
  readonly seed?: number;
  /** The number of the collection among those of the seed, as in {@link simulate}; 0 by default. */
  readonly trial?: number;
}

/** An estimate that was made elsewhere, and what it is an estimate of. */
export interface GivenEstimate {
  /** d. */
  readonly dimension: number;
  /** k. */
  readonly rank: number;
  /** The second moments whose first components are the true ones, d × d numbers. */
  readonly secondMoment: Float64Array;
  /** The estimate of them, d × d numbers. */
  readonly estimate: Float64Array;
  /** Standard deviation of the noise in one off-diagonal entry of the estimate. */
  readonly noiseDeviation: number;
}

/** Components as an orthogonal projection, compared with the true ones. */
export interface ComparedComponents {
  /** `V V^T`, d × d numbers (symmetric). */
  readonly matrix: Float64Array;
  /** The share of the true structure that they find; `null` where there is none. */
  readonly shareFound: number | null;
  /** Squared distance `||sin Theta||_F^2` from the true components, 0 to k. */
  readonly sinThetaSquared: number;
  /** The diagonal of the matrix, d numbers: each feature's share in the components, 0 to 1. */
  readonly leverages: number[];
  /**
   * The features that take part, ascending from 0: for the truth those that are not zero, for the Fantope program the
   * solver's support, for others those with a leverage of more than 1e-4.
   */
  readonly support: number[];
  /** True features that are in the support. */
  readonly hits: number;
  /** True features that are not. */
  readonly misses: number;
  /** Others that are. */
  readonly falseAlarms: number;
}

/** Recovered components beside the true ones. */
export interface Comparison {
  /** The penalty, in the units of the estimate. */
  readonly penalty: number;
  /** The certified relative gap of the solution of the Fantope program. */
  readonly relativeGap: number;
  readonly truth: ComparedComponents;
  readonly pca: ComparedComponents;
  /** Components of the estimate after all entries were moved towards 0 by the penalty. */
  readonly softThreshold: ComparedComponents;
  readonly fantope: ComparedComponents;
}

/** The estimate of one simulated collection, beside the truth. */
export class SimulatedCollection {
  /**
   * @throws {@link LdpPcaError} with code `simulation` for a population that does not exist; {@link ArgumentError} for
   *   options of another type or name.
   */
  constructor(options: CollectionOptions | GivenEstimate);

  /** Standard deviation of the noise in one off-diagonal entry of the estimate. */
  readonly noiseDeviation: number;

  /**
   * Recovers the components by all methods.
   *
   * @param options - The penalty, or the factor c of c × noise × sqrt(ln d): 0.5 by default.
   * @throws {@link LdpPcaError} with code `recovery` for a factor below 0; {@link ArgumentError} for a penalty below 0,
   *   and for options of another type or name.
   */
  compare(options?: { readonly penalty?: number } | { readonly factor?: number }): Comparison;

  /**
   * Solves the sparse problem for a geometric sequence of penalties, as {@link penaltyPath}.
   *
   * @param options - `points` is their number, 20 by default.
   * @throws {@link LdpPcaError} with code `recovery` without a mechanism, since the smallest penalty follows from its
   *   noise, and `cancelled` when `onProgress` returned `false`.
   */
  path(
    options?: WatchOptions & { readonly points?: number },
  ): (PathPoint & Pick<ComparedComponents, "hits" | "misses" | "falseAlarms">)[];
}
export interface SimulatedCollection extends Freeable {}

/** Draws a collection: `new SimulatedCollection(options)`. */
export function drawCollection(options: CollectionOptions): SimulatedCollection;

/**
 * Loads a second module, with every method of {@link compare}: the lab's own has room for five. It is nearly as large
 * as the lab's, and is downloaded only when this is called. Further calls return the same promise, whatever their
 * arguments; after a failure the next call tries again. With it `compare` needs no `init`.
 *
 * @param input - The module, as for {@link init}. By default the file in this package,
 *   `ldp-pca/ldp_pca_methods_bg.wasm`.
 * @throws {@link InitError} with code `init` (by rejecting) when it cannot be fetched or compiled.
 */
export function loadMethods(input?: InitInput | Promise<InitInput>): Promise<void>;

/** A method of the lab's own module, by its key. */
export type LabMethod = "pca" | "gaussian-analytic-pca" | "mod-sulq" | "ppca" | "analyze-gauss";

/**
 * A method by its key: its name in its paper, as an option. One that is not a {@link LabMethod} needs
 * {@link loadMethods}.
 */
export type Method =
  | LabMethod
  | "oja"
  | "random-subspace"
  | "double-cap-pca"
  | "double-cap-fantope"
  | "privunit-pca"
  | "wang-xu-algorithm-1"
  | "wang-xu-algorithm-2"
  | "dps-pca"
  | "sulq"
  | "sulq-laplace"
  | "mod-sulq-laplace"
  | "amin-et-al"
  | "wishart-difference"
  | "cai-xia-zha"
  | "spectral-projector-tested-gap"
  | "noisy-power-method"
  | "private-oja"
  | "private-oja-not-shuffled"
  | "dp-pca"
  | "dp-pca-in-balls";

/** Options of a comparison of methods. */
export interface CompareMethodsOptions extends Pick<PopulationOptions, "dimension" | "rank"> {
  /** The epsilon of every method. Its neighbouring relation differs: see {@link MethodComparison.guarantee}. */
  readonly epsilon: number;
  /** For the methods that have one. Default 1e-6. */
  readonly delta?: number;
  /**
   * Keys of methods, such as `"mod-sulq"`. Default: every {@link LabMethod}, and after {@link loadMethods} every
   * {@link Method}.
   */
  readonly methods?: readonly Method[];
  /** The seed of populations and of the methods' randomness. Default 1. */
  readonly seed?: number;
  /** The random streams `firstTrial`, …, `firstTrial + trials - 1` are used. Default 0. */
  readonly firstTrial?: number;
  /** Estimates by each method. Default 1. */
  readonly trials?: number;
}

/** Records, of norm at most 1. */
export interface ComparedRecords {
  /** n × d numbers, record after record. */
  readonly records: Float64Array;
}

/** Only the second moments of records. Methods that read records one by one refuse. */
export interface ComparedMoments {
  /** The mean of `x x^T`, d × d numbers. */
  readonly secondMoment: Float64Array;
  /** n. */
  readonly count: number;
  /** The norm of the longest record. Default 1. */
  readonly largestNorm?: number;
}

/**
 * Unit-norm records of the spiked model: the population of `firstTrial` in {@link simulate}. Methods are compared with
 * the population's components.
 */
export interface ComparedPopulation extends Pick<PopulationOptions, "signal" | "sparsity"> {
  /** n. */
  readonly count: number;
  /**
   * `"moments"`: only the second moments are drawn, from their law, which takes time but no memory for a large `count`;
   * methods that read records one by one refuse. `"records"`, after {@link loadMethods}: all records are drawn, up to
   * 2^25 numbers. Default: `"moments"`.
   */
  readonly drawn?: "moments" | "records";
}

/** Epsilon, and delta, which is 0 where there is none. */
export interface Budget {
  readonly epsilon: number;
  readonly delta: number;
}

/** The result of one method. */
export interface MethodComparison {
  /** The method's name in its paper. */
  readonly name: string;
  /** The name as an option. */
  readonly key: Method;
  /** The parties that have to be trusted. */
  readonly trusted: string;
  /** Missing for a method that guarantees nothing, or refuses. */
  readonly guarantee?: {
    /** By the paper. */
    readonly claimed: Budget;
    /** The part that is proved; missing where nothing is. */
    readonly proved?: Budget;
    /**
     * The neighbouring relation of the guarantee: "any two records", "one record replaced", "one record more or less".
     */
    readonly about: string;
    /** The argument, in one sentence. */
    readonly argument: string;
  };
  readonly trials: readonly {
    /** The share found of the structure of the records, or of the population; `null` where there is none. */
    readonly shareFound: number | null;
    /** `‖sin Θ‖²_F` from the components without privacy, or from the population's. */
    readonly sinThetaSquared: number;
    /** `q_F`, the part of the second moments that the estimate captures. */
    readonly captured: number;
    /** Measured by the page's clock, which is coarse. */
    readonly seconds: number;
  }[];
  /** Why there are no trials, or fewer than asked for. */
  readonly refusal?: string;
}

/** Methods side by side. */
export interface MethodsComparison {
  readonly methods: readonly MethodComparison[];
  /** The error of the records' own components: 0 except for a population. */
  readonly nonPrivate: number;
  /** `q_F` of the components that the methods are compared with. */
  readonly captured: number;
  /** The average error of a random subspace: `k (1 - k/d)`. */
  readonly randomSubspace: number;
}

/**
 * Runs methods of the literature on the same records: local, distributed and central ones, each with whom it requires
 * trust in and what it guarantees. They are comparators: their noise is not for a release. A method that refuses keeps
 * its row. The numbers of a method are the same in either module, and equal those
 * of `ldp-pca-research compare`.
 *
 * @throws {@link LdpPcaError} with code `argument` or `method` for invalid records, or a name that no method of the
 *   loaded modules has.
 */
export function compare(
  options: CompareMethodsOptions & (ComparedRecords | ComparedMoments | ComparedPopulation),
): MethodsComparison;
