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

/** An eigenvalue stands out when it is this many times the mean of those below it. */
const STANDS_OUT = 1.5;

/** The wanted components, as many more that stand out, and the others as one level. */
function spectrumOf({ eigenvalues }: OwnRecords, rank: number): { signals: number[]; bulk: number } {
  const level = (signals: number) => {
    const rest = eigenvalues.slice(signals);
    return rest.reduce((sum, value) => sum + value, 0) / rest.length;
  };
  let signals = Math.min(2 * rank, eigenvalues.length - 1);
  // With one level too many the prediction would be a third too large, with one too few a third too small.
  while (signals > rank && eigenvalues[signals - 1]! < STANDS_OUT * level(signals)) signals -= 1;
  const bulk = level(signals);
  // A mean is not above all of its values, except in its last digit.
  return { signals: eigenvalues.slice(0, signals).map((value) => Math.max(value, bulk)), bulk };
}
