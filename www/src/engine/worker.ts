// A worker: the lab, ready for jobs, which are names of its functions with their options.

import * as lab from "ldp-pca/lab";

import type { Failure, Request, Response } from "./protocol.js";

type Call = (options: unknown) => unknown;

const functions = lab as unknown as Record<string, Call | undefined>;
let started: Promise<void> | undefined;
/** The object that this worker was asked to make, if any. */
let made: Record<string, Call | undefined> | undefined;

addEventListener("message", ({ data }: MessageEvent<Request>) => {
  if ("module" in data) started = lab.init(data.module);
  else void answer(data);
});

async function answer(request: Exclude<Request, { module: unknown }>): Promise<void> {
  const { id } = request;
  try {
    await started;
    reply({ id, result: await perform(request) });
  } catch (error) {
    reply({ id, error: failure(error) });
  }
}

async function perform(request: Exclude<Request, { module: unknown }>): Promise<unknown> {
  if ("job" in request) return named(functions, request.job)(request.options);
  if ("method" in request) return named(made ?? {}, request.method).call(made, request.options);
  made = (await named(functions, request.make)(request.options)) as Record<string, Call>;
  return undefined;
}

function named(functions: Record<string, Call | undefined>, name: string): Call {
  const found = functions[name];
  if (typeof found !== "function") throw new TypeError(`the lab has no function '${name}'`);
  return found;
}

function reply(response: Response): void {
  postMessage(response);
}

function failure(error: unknown): Failure {
  const { name = "Error", code = "worker", message = String(error) } = Object(error) as Partial<Failure>;
  return { name, code, message };
}
