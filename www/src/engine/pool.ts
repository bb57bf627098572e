// The workers that compute for the page: jobs wait in a queue, and each worker does one at a time.

import type { Instance, JobName, JobOptions, JobResult, ObjectName, ObjectOptions } from "./protocol.js";
import { type Pending, Thread } from "./thread.js";

/** How long a worker may go on with a job that nobody waits for any more, before another takes its place. */
const GRACE_MS = 150;
/** More than this many workers gain little, and each has a memory of its own. */
const MAX_THREADS = 6;

export interface RunOptions {
  /** Takes the job out of the queue, or its worker from it; the promise rejects with the signal's reason at once. */
  readonly signal?: AbortSignal | undefined;
  /** Goes before the jobs that wait. For what answers a hand on a control. */
  readonly urgent?: boolean;
}

interface Job extends Pending {
  readonly name: JobName;
  readonly options: unknown;
  readonly signal: AbortSignal | undefined;
}

/** An object of the lab that lives in a worker of its own. */
export interface Remote<M> {
  /** Calls a method; aborting ends the worker and with it the object. */
  call<K extends keyof M & string>(
    method: K,
    options: M[K] extends (options: infer O) => unknown ? O : never,
  ): Promise<M[K] extends (options: never) => infer R ? Awaited<R> : never>;
  /** Ends the worker. Its open calls are rejected. */
  close(): void;
}

export class Pool {
  /** How many jobs are done at a time. */
  readonly size = Math.max(1, Math.min(MAX_THREADS, navigator.hardwareConcurrency || 2));
  readonly #module: Promise<WebAssembly.Module>;
  readonly #queue: Job[] = [];
  readonly #idle: Thread[] = [];
  #threads = 0;

  /** @param module - The compiled lab: compiled once, and shared by all workers. */
  constructor(module: Promise<WebAssembly.Module>) {
    this.#module = module;
  }

  /** Runs a function of the lab in a worker. Rejects with its error. */
  run<N extends JobName>(
    name: N,
    options: JobOptions<N>,
    { signal, urgent = false }: RunOptions = {},
  ): Promise<JobResult<N>> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const job: Job = { name, options, signal, resolve: resolve as Job["resolve"], reject };
      signal?.addEventListener("abort", () => this.#cancel(job), { once: true });
      if (urgent) this.#queue.unshift(job);
      else this.#queue.push(job);
      void this.#assign();
    });
  }

  /** Makes an object of the lab in a worker of its own; its methods are called there. */
  async open<N extends ObjectName>(
    name: N,
    options: ObjectOptions<N>,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<Remote<Instance<N>>> {
    const module = await this.#module;
    signal?.throwIfAborted();
    const thread = new Thread(module);
    signal?.addEventListener("abort", () => thread.terminate(), { once: true });
    try {
      await thread.request({ make: name }, options);
    } catch (error) {
      thread.terminate();
      signal?.throwIfAborted();
      throw error;
    }
    return {
      call: (method, options) => thread.request({ method }, options) as never,
      close: () => thread.terminate(),
    };
  }

  async #assign(): Promise<void> {
    let module: WebAssembly.Module;
    try {
      module = await this.#module;
    } catch (error) {
      for (const { reject } of this.#queue.splice(0)) reject(error);
      return;
    }
    while (this.#queue.length > 0) {
      const thread = this.#idleThread() ?? this.#spawn(module);
      if (!thread) return;
      void this.#perform(thread, this.#queue.shift()!);
    }
  }

  /** One that has nothing to do. Those that broke meanwhile are let go: what is asked of them fails. */
  #idleThread(): Thread | undefined {
    let thread;
    while ((thread = this.#idle.pop())?.broken) this.#threads -= 1;
    return thread;
  }

  #spawn(module: WebAssembly.Module): Thread | undefined {
    if (this.#threads >= this.size) return undefined;
    this.#threads += 1;
    return new Thread(module);
  }

  async #perform(thread: Thread, { name, options, signal, resolve, reject }: Job): Promise<void> {
    // A job that nobody waits for is given a moment, so that short ones do not cost a worker each.
    let grace: ReturnType<typeof setTimeout> | undefined;
    const terminateSoon = () => (grace = setTimeout(() => thread.terminate(), GRACE_MS));
    signal?.addEventListener("abort", terminateSoon, { once: true });
    try {
      resolve(await thread.request({ job: name }, options));
    } catch (error) {
      reject(error);
    }
    clearTimeout(grace);
    signal?.removeEventListener("abort", terminateSoon);
    if (thread.broken) this.#threads -= 1;
    else this.#idle.push(thread);
    void this.#assign();
  }

  #cancel(job: Job): void {
    const place = this.#queue.indexOf(job);
    if (place >= 0) this.#queue.splice(place, 1);
    job.reject(job.signal?.reason);
  }
}
