// The spectrum of the records that the charts are about: what predictions follow from.

import type { PredictOptions } from "ldp-pca/lab";

import type { Pool, RunOptions } from "../../engine/pool.js";
import type { OwnRecords } from "../../own-records.js";
import type { ChartSettings } from "./settings.js";

/** A spectrum, and how many of its components are wanted. */
export type Population = Omit<PredictOptions, "mechanism" | "records">;

export async function populationOfCharts(
  pool: Pool,
  { own, dimension, rank, sparsity, signal }: ChartSettings,
  options: RunOptions,
): Promise<Population> {
  const spectrum = own
    ? spectrumOf(own, rank)
    : await pool.run("population", { dimension, rank, signal, sparsity }, options);
  return { dimension, rank, ...spectrum };
}

/** As many eigenvalues as the law of the noise tells apart, the others as one level. */
function spectrumOf({ eigenvalues }: OwnRecords, rank: number): { signals: number[]; bulk: number } {
  const signals = Math.min(2 * rank, eigenvalues.length - 1);
  const rest = eigenvalues.slice(signals);
  const bulk = rest.reduce((sum, value) => sum + value, 0) / rest.length;
  // A mean is not above all that it is of, but for its last digit.
  return { signals: eigenvalues.slice(0, signals).map((value) => Math.max(value, bulk)), bulk };
}
