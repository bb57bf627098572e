// The messages between the page and its workers. Each is plain data: clones of options and results.

import type * as lab from "ldp-pca/lab";

/** The functions of the lab that take options and give plain results: the jobs that any worker can do. */
export interface Jobs {
  simulate: typeof lab.simulate;
  population: typeof lab.population;
  predict: (options: lab.PredictOptions) => lab.Prediction;
  plan: (options: lab.PopulationInput & lab.PlanOptions) => lab.Plan;
  compare: (options: Compared) => lab.MethodsComparison;
  /** Jobs of the second module, which comes with every job and is started by the first. */
  compareAllMethods: (options: Compared & { readonly module: WebAssembly.Module }) => Promise<lab.MethodsComparison>;
}

type Compared = lab.CompareMethodsOptions & lab.ComparedPopulation;

export type JobName = keyof Jobs;
export type JobOptions<N extends JobName> = Parameters<Jobs[N]>[0];
export type JobResult<N extends JobName> = Awaited<ReturnType<Jobs[N]>>;

/** The functions of the lab that make an object, which then lives in a worker of its own, and what its methods take. */
export interface Objects {
  drawCollection: (options: lab.CollectionOptions) => Collection;
}

/** The requests to a simulated collection. */
export type Collection = Pick<lab.SimulatedCollection, "compare" | "path">;

export type ObjectName = keyof Objects;
export type ObjectOptions<N extends ObjectName> = Objects[N] extends (options: infer O) => unknown ? O : never;
export type Instance<N extends ObjectName> = Objects[N] extends (options: never) => infer M ? M : never;

/** From the page. The first message to a worker has the compiled module, every other one a job. */
export type Request =
  | { readonly module: WebAssembly.Module }
  | { readonly id: number; readonly job: JobName; readonly options: unknown }
  | { readonly id: number; readonly make: ObjectName; readonly options: unknown }
  | { readonly id: number; readonly method: string; readonly options: unknown };

/** From a worker: the answer to the request with this id. */
export type Response =
  { readonly id: number; readonly result: unknown } | { readonly id: number; readonly error: Failure };

/** An error on its way between threads, which keep no classes. */
export interface Failure {
  readonly name: string;
  readonly code: string;
  readonly message: string;
}

/**
 * The error of a failed job. `code` is the lab's own (see its LdpPcaError), or `worker` when the worker itself broke.
 */
export class JobError extends Error {
  readonly code: string;

  constructor({ name, code, message }: Failure) {
    super(message);
    this.name = name;
    this.code = code;
  }
}
