import type { RandomizerFacts, RandomizerOptions, TaskFacts, TaskFetchOptions } from "./api.js";
import type { RecordError } from "./errors.js";
import type { InitInput as PageInput } from "./index.js";
import type { Report } from "./report.js";
import type { ImportedTask, Schema, TaskDocument } from "./task.js";

export type { RandomizeOptions, RandomizerOptions, TaskFetchOptions } from "./api.js";
export * from "./common.js";

/** The sources from which {@link init} can load the module inside the worker: those that can be sent there. */
export type InitInput = Exclude<PageInput, Request | Response>;

/** Options of {@link init} for the worker. */
export interface WorkerOptions {
  /**
   * The worker, for pages that cannot start the package's own: its script comes from another origin (a CDN), or Trusted
   * Types are required. Give the URL of `ldp-pca/worker-thread.js` on your origin; a worker with it, of type `module`;
   * or a function that makes one, which is called again if the worker dies.
   *
   * ```js
   * const code = `import "https://cdn.example/ldp-pca/worker-thread.js"`;
   * const script = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
   * await init(undefined, { worker: () => new Worker(policy.createScriptURL(script), { type: "module" }) });
   * ```
   *
   * (With `worker-src blob: https://cdn.example`.)
   */
  readonly worker?: string | URL | Worker | (() => Worker);
  /**
   * The longest silence while an answer is due, in milliseconds; 30,000 by default. Then the worker is ended.
   */
  readonly timeout?: number;
}

/**
 * Starts the worker and loads the WebAssembly module in it. Call it once before anything else and await it; further
 * calls return the same promise. After a failure the next call tries again.
 *
 * If a worker dies (its script fails, memory runs out, it does not answer), what waits for it fails with code `init`.
 * The next call of any function starts another one, in which tasks and randomizers continue to work.
 *
 * @throws {@link InitError} with code `init` (by rejecting) when there are no workers here, or the page's policy
 *   forbids one (`worker-src`) or its module (`script-src 'wasm-unsafe-eval'`).
 */
export function init(input?: InitInput, options?: WorkerOptions): Promise<void>;

/** Ends the worker. Pending calls reject with code `init`, and its tasks and randomizers are gone. */
export function terminate(): void;

/** The version of the library, for instance `0.1.0`. */
export function version(): Promise<string>;

/**
 * Like the `Task` of `ldp-pca`, but read in the worker. What it asks for is here as plain data, and records to check
 * stay on the page.
 */
export class Task<const S extends Schema = Schema> {
  #worker: true;
  private constructor();
  static parse<const S extends Schema>(json: TaskDocument<S>): Promise<Task<S>>;
  static parse<V extends number>(json: ImportedTask<V>): Promise<Task>;
  static parse(json: string): Promise<Task>;
  static fetch<const S extends Schema = Schema>(url: string | URL, options?: TaskFetchOptions): Promise<Task<S>>;
}
export interface Task<S extends Schema = Schema> extends TaskFacts<S, Promise<RecordError[]>> {}

/**
 * Like the `Randomizer` of `ldp-pca`, with promises: the part of a record that the task asks for is copied into the
 * worker (so the record may be a framework's proxy), and reports move out of it. These promises reject with what the
 * other one throws. The page's console has the warnings.
 */
export class Randomizer<const S extends Schema = Schema> {
  #worker: true;
  constructor(task: Task<S>, options: RandomizerOptions);
}
export interface Randomizer<S extends Schema = Schema> extends RandomizerFacts<S, Promise<Report>> {}
