// In a worker: the module that predicts two waves, loaded when a visitor asks for their curve.

import { loading } from "ldp-pca/instantiate";
import * as wasm from "ldp-pca/waves-module";

import type { TwoWaves, WavesOptions } from "./protocol.js";

const { load, call } = loading({ imports: wasm.imports, twoWaves: wasm.twoWaves });

export async function twoWaves(options: WavesOptions): Promise<TwoWaves> {
  const { module, dimension, rank, signals, bulk, epsilon, records } = options;
  await load(() => module);
  return call(({ twoWaves }) => twoWaves(dimension, rank, Float64Array.from(signals), bulk!, epsilon, records));
}
