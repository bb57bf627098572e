// A worker: the lab, ready for jobs, which are names of its functions with their options.

import { compare, drawCollection, init, loadMethods, plan, population, predict, simulate } from "ldp-pca/lab";

import type { Jobs, Objects, Request, Response } from "./protocol.js";

/** Options come from the page, where they were typed: see protocol.ts. */
type Call = (options: never) => unknown;

const functions: Jobs & Objects = {
  compare,
  async compareAllMethods({ module, ...options }) {
    await loadMethods(module);
    return compare(options);
  },
  drawCollection,
  drawLike: async (options) => (await import("./records.js")).drawLike(options),
  openRecords: async (options) => (await import("./records.js")).openRecords(options),
  openSurvey: async () => (await import("./survey.js")).openSurvey(),
  patternsLike: async (options) => (await import("./records.js")).patternsLike(options),
  plan,
  population,
  predict,
  simulate,
  trialLike: async (options) => (await import("./records.js")).trialLike(options),
  twoWaves: async (options) => (await import("./waves.js")).twoWaves(options),
};
let ready: Promise<void> | undefined;
/** The object that this worker was asked to make, if any. */
let instance: Record<string, Call> | undefined;

addEventListener("message", ({ data }: MessageEvent<Request>) => {
  if ("module" in data) ready = init(data.module);
  else void answer(data);
});

async function answer(request: Exclude<Request, { module: unknown }>): Promise<void> {
  const { id } = request;
  try {
    await ready;
    postMessage({ id, result: await perform(request) } satisfies Response);
  } catch (error) {
    postMessage({ id, error: error instanceof Error ? error.message : String(error) } satisfies Response);
  }
}

async function perform(request: Exclude<Request, { module: unknown }>): Promise<unknown> {
  const options = request.options as never;
  if ("job" in request) return functions[request.job](options);
  if ("method" in request) return instance![request.method]!(options);
  instance = (await functions[request.make](options)) as unknown as Record<string, Call>;
  return undefined;
}
