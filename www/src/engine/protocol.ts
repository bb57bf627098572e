// The messages between the page and its workers. Each is plain data: clones of options and results.

import type * as lab from "ldp-pca/lab";

import type { Recovery } from "../aggregator.js";
import type { Quality } from "../measure.js";

/** The functions of the lab that take options and give plain results: the jobs that any worker can do. */
export interface Jobs {
  simulate: typeof lab.simulate;
  population: typeof lab.population;
  predict: (options: lab.PredictOptions) => lab.Prediction;
  plan: (options: lab.PopulationInput & lab.PlanOptions) => lab.Plan;
  compare: (options: Compared) => lab.MethodsComparison;
  /** Jobs of the second module, which comes with every job and is started by the first. */
  compareAllMethods: (options: Compared & { readonly module: WebAssembly.Module }) => Promise<lab.MethodsComparison>;
  /** By the module of the visitor's records, which comes with every job too. */
  patternsLike: (options: LikeOptions) => Promise<LikePatterns>;
  trialLike: (options: LikeOptions) => Promise<LikeTrial>;
  /** By a module of its own, which comes with every job too. */
  twoWaves: (options: WavesOptions) => Promise<TwoWaves>;
}

type Compared = lab.CompareMethodsOptions & (lab.ComparedPopulation | lab.ComparedMoments);

/** One collection of reports from people like those of these second moments. */
export interface LikeOptions {
  readonly module: WebAssembly.Module;
  readonly secondMoment: Float64Array;
  readonly dimension: number;
  readonly rank: number;
  readonly records: number;
  readonly mechanisms: readonly lab.MechanismInput[];
  readonly seed: number;
  readonly trial: number;
}

/** Components of the second moments, and of an estimate of them, with the signs of the former. */
export interface LikePatterns {
  readonly truth: Patterns;
  readonly found: Patterns;
  /** The share of the structure that is found (docs/guides/how-many-people.md). */
  readonly share: number;
  readonly noiseDeviation: number;
  /** A component of the estimate with a smaller eigenvalue may be noise. */
  readonly noiseEdge: number;
}

type Patterns = Pick<Recovery, "components" | "eigenvalues">;

/** What is found by each mechanism, and without one. */
export type LikeTrial = readonly [found: readonly Quality[], nonPrivate: Quality];

/** A collection by double-cap from so many people, in two waves. */
export interface WavesOptions extends Omit<lab.PredictOptions, "mechanism"> {
  readonly module: WebAssembly.Module;
  readonly epsilon: number;
}

/** What the page shows of the prediction. */
export interface TwoWaves {
  readonly sin_theta_squared: number;
  /** Missing where two waves are worth it. */
  readonly refused?: WaveRefusal;
}

export type WaveRefusal =
  { readonly reason: "first-wave"; readonly most: number } | { readonly reason: "gain"; readonly least: number };

export const SCALINGS = ["robust", "max-abs", "range", "standard", "none"] as const;
export const SEPARATORS = ["comma", "semicolon", "tab"] as const;

/** How a file is read, and how a schema is inferred from it: as by the command line's options of these names. */
export interface Inference {
  /** Nothing where the file shows it. */
  readonly separator?: (typeof SEPARATORS)[number] | undefined;
  readonly decimalComma: boolean;
  readonly scaling: (typeof SCALINGS)[number];
  readonly ignore: readonly string[];
  readonly categorical: readonly string[];
}

/** A text file of the visitor. */
export interface ReaderOptions extends Inference {
  readonly module: WebAssembly.Module;
  readonly file: File;
}

/** The facts about the visitor's records. */
export interface RecordsFacts {
  /** The schema, as the command line writes it. */
  readonly schema: string;
  readonly rows: number;
  readonly columns: number;
  readonly features: string[];
  /** Columns that are zero or missing in every row. */
  readonly alwaysZero: string[];
  readonly missing: readonly (readonly [column: string, count: number])[];
  /** What is odd about the columns, such as those that are left out, and what to do. */
  readonly warnings: string[];
  /** Of the second moments of the records, brought to unit norm; descending. */
  readonly eigenvalues: number[];
}

export type JobName = keyof Jobs;
export type JobOptions<N extends JobName> = Parameters<Jobs[N]>[0];
export type JobResult<N extends JobName> = Awaited<ReturnType<Jobs[N]>>;

/** The functions of the lab that make an object, which then lives in a worker of its own, and what its methods take. */
export interface Objects {
  drawCollection: (options: lab.CollectionOptions) => Collection;
  /** By one mechanism, from people like those of the second moments. */
  drawLike: (options: LikeOptions) => Promise<Collection>;
  openRecords: (options: ReaderOptions) => Promise<OpenedRecords>;
  openSurvey: (options?: undefined) => Promise<OpenedSurvey>;
}

/** What the reports of so many people show. */
export interface Frame {
  readonly people: number;
  /** The share of the structure that is found (docs/guides/how-many-people.md). */
  readonly share: number;
  /** The components, each with the sign of the true one. */
  readonly components: Recovery["components"];
  /** Their variances, null for one that may be noise. */
  readonly variances: readonly (number | null)[];
  /** For each component, up to where a loading may be noise; infinite where the component may be. */
  readonly noise: readonly number[];
  readonly noiseEdge: number;
}

/** The made-up survey. */
export interface OpenedSurvey {
  /** Randomizes more answers for a moment, up to so many: what was passed on the way. */
  grow(until: number): Frame[];
}

/** A file that is being read. */
export interface OpenedRecords {
  /** Reads on for a moment: the share of the work that is done. At 1 there are facts. */
  step(options?: undefined): number;
  facts(options?: undefined): RecordsFacts & { readonly secondMoment: Float64Array };
}

/** The requests to a simulated collection. */
export type Collection = Pick<lab.SimulatedCollection, "compare" | "path">;

export type ObjectName = keyof Objects;
export type ObjectOptions<N extends ObjectName> = Objects[N] extends (options: infer O) => unknown ? O : never;
export type Instance<N extends ObjectName> = Objects[N] extends (options: never) => infer M ? Awaited<M> : never;

/** From the page. The first message to a worker has the compiled module, every other one a job. */
export type Request =
  | { readonly module: WebAssembly.Module }
  | { readonly id: number; readonly job: JobName; readonly options: unknown }
  | { readonly id: number; readonly make: ObjectName; readonly options: unknown }
  | { readonly id: number; readonly method: string; readonly options: unknown };

/** From a worker: the answer to the request with this id, or the message of its error. */
export type Response =
  { readonly id: number; readonly result: unknown } | { readonly id: number; readonly error: string };
