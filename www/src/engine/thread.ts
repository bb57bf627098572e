// One worker, and the requests that it has not yet answered.

import workerUrl from "worker-url";

import type { JobName, ObjectName, Request, Response } from "./protocol.js";

/** What waits for a result. */
export interface Pending {
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** A worker with the lab in it. Its requests are answered in order. */
export class Thread {
  readonly #worker = new Worker(workerUrl, { type: "module" });
  readonly #pending = new Map<number, Pending>();
  #nextId = 0;
  #broken: Error | undefined;

  constructor(module: WebAssembly.Module) {
    this.#worker.addEventListener("message", ({ data }: MessageEvent<Response>) => this.#settle(data));
    this.#worker.addEventListener("error", ({ message }) => this.#break(message || "the worker did not load"));
    this.#worker.addEventListener("messageerror", () => this.#break("the worker's answer could not be read"));
    this.#worker.postMessage({ module } satisfies Request);
  }

  /** Whether it is no longer usable. */
  get broken(): boolean {
    return this.#broken !== undefined;
  }

  /** The worker's answer to `request`; rejects with the error of the work. */
  request(request: { job: JobName } | { make: ObjectName } | { method: string }, options: unknown): Promise<unknown> {
    if (this.#broken) return Promise.reject(this.#broken);
    const id = this.#nextId;
    this.#nextId += 1;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#worker.postMessage({ id, ...request, options } satisfies Request);
    });
  }

  /** Ends the worker at once. Its open requests are rejected. */
  terminate(): void {
    this.#break("the worker was ended");
  }

  #settle(response: Response): void {
    const pending = this.#pending.get(response.id);
    this.#pending.delete(response.id);
    if ("error" in response) pending?.reject(new Error(response.error));
    else pending?.resolve(response.result);
  }

  #break(message: string): void {
    this.#broken = new Error(message);
    this.#worker.terminate();
    for (const { reject } of this.#pending.values()) reject(this.#broken);
    this.#pending.clear();
  }
}
