// In a worker: the module that reads a visitor's file and draws from what is in it, loaded when there is such a file.

import { loading } from "ldp-pca/instantiate";
import { SimulatedCollection, solve } from "ldp-pca/lab";
import * as wasm from "ldp-pca/records-module";

import type { Collection, LikeOptions, LikePatterns, LikeTrial, OpenedRecords, ReaderOptions } from "./protocol.js";
import { ABOVE_EDGE, columns, shareFound } from "./share.js";

/** A step of reading is about this long, so that its progress is seen. */
const STEP_MS = 100;
const ROWS = 100;

// Part by part: the whole file as an object is more in a bundle.
const { load, call } = loading({
  imports: wasm.imports,
  RecordsReader: wasm.RecordsReader,
  estimateLike: wasm.estimateLike,
  trialLike: wasm.trialLike,
});

export async function openRecords({ module, file, ...inference }: ReaderOptions): Promise<OpenedRecords> {
  await load(() => module);
  const files = new FileReaderSync();
  const read = (from: number, to: number) => new Uint8Array(files.readAsArrayBuffer(file.slice(from, to)));
  const options = { ...inference, name: file.name };
  const reader = call(({ RecordsReader }) => new RecordsReader(options, file.size, read));
  return {
    step() {
      const end = performance.now() + STEP_MS;
      let share;
      do share = call(() => reader.step(ROWS));
      while (share < 1 && performance.now() < end);
      return share;
    },
    facts() {
      const { secondMoment, ...facts } = call(() => reader.facts());
      return { ...facts, secondMoment: Float64Array.from(secondMoment) };
    },
  };
}

export async function trialLike({ module, secondMoment, ...options }: LikeOptions): Promise<LikeTrial> {
  await load(() => module);
  return call(({ trialLike }) => trialLike(secondMoment, options));
}

/** The true components, and those of one collection of reports. */
export async function patternsLike({ module, secondMoment, ...options }: LikeOptions): Promise<LikePatterns> {
  await load(() => module);
  const [estimate, noiseDeviation] = call(({ estimateLike }) => estimateLike(secondMoment, options));
  const { dimension, rank } = options;
  const truth = solve(secondMoment, dimension, { rank });
  const found = solve(Float64Array.from(estimate), dimension, { rank });
  const loadings = columns(truth);
  const recovered = columns(found, loadings);
  return {
    truth: { components: loadings, eigenvalues: truth.eigenvalues },
    found: { components: recovered, eigenvalues: found.eigenvalues },
    share: shareFound(secondMoment, recovered, truth),
    noiseDeviation,
    noiseEdge: ABOVE_EDGE * 2 * noiseDeviation * Math.sqrt(dimension),
  };
}

/** The estimate is drawn here, and its components are recovered by the lab. */
export async function drawLike({ module, secondMoment, ...options }: LikeOptions): Promise<Collection> {
  await load(() => module);
  const [estimate, noiseDeviation] = call(({ estimateLike }) => estimateLike(secondMoment, options));
  const { dimension, rank } = options;
  return new SimulatedCollection({
    secondMoment,
    estimate: Float64Array.from(estimate),
    noiseDeviation,
    dimension,
    rank,
  });
}
