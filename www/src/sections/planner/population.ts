// The population of the plan: the records of the charts, or a spectrum that the visitor gives.

import type { PredictOptions } from "ldp-pca/lab";

import type { Pool, RunOptions } from "../../engine/pool.js";
import type { Settings as ChartSettings } from "../error/settings.js";
import type { Settings } from "./settings.js";

/** A spectrum, and the number of components wanted. */
export type Population = Omit<PredictOptions, "mechanism" | "records">;

/** The spectrum of the records that the charts simulate. */
export async function populationOfCharts(pool: Pool, charts: ChartSettings, options: RunOptions): Promise<Population> {
  const { dimension, rank, sparsity, signal } = charts;
  return { dimension, rank, ...(await pool.run("population", { dimension, rank, signal, sparsity }, options)) };
}

/** The spectrum that the visitor gave. */
export function ownPopulation({ dimension, rank, spectrum }: Settings): Population {
  return { dimension, rank, signals: spectrum.toSorted((a, b) => b - a) };
}
