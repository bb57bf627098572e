// The trust models to compare, and the prediction of each for the same promise to the outside.

import type { PredictOptions } from "ldp-pca/lab";

import type { Style } from "../../charts/series.js";
import { BATCH } from "../../guarantee.js";
import type { Pool, RunOptions } from "../../engine/pool.js";
import type { Quality } from "../../measure.js";

/** A collection whose promise, the epsilon of the mechanism, is about what the outside sees. */
export interface Collection extends PredictOptions {
  /** The delta of what the outside sees. */
  readonly delta: number;
}

export interface Outcome {
  /** Predicted; `undefined` where the model cannot keep the promise. */
  readonly predicted: Quality | undefined;
  /** The epsilon of the single report. */
  readonly localEpsilon: number | undefined;
}

export interface TrustModel {
  readonly name: string;
  readonly style: Style;
  outcome(pool: Pool, collection: Collection, options: RunOptions): Promise<Outcome>;
}

/** The honest reports in each batch of a collection: of a small one, there is one. */
export function honestReportsOf(records: number): number {
  return Math.min(records, BATCH);
}

export const MODELS: readonly TrustModel[] = [
  {
    name: "Local",
    style: "blue",
    async outcome(pool, { delta: _, ...collection }, options) {
      return { predicted: await pool.run("predict", collection, options), localEpsilon: collection.mechanism.epsilon };
    },
  },
  {
    name: "Shuffled",
    style: "orange",
    async outcome(pool, { delta, ...collection }, options) {
      const honestReports = honestReportsOf(collection.records);
      const { shuffled } = await pool.run("plan", { ...collection, shuffled: { honestReports, delta } }, options);
      return { predicted: shuffled?.predicted, localEpsilon: shuffled?.localEpsilon ?? undefined };
    },
  },
];
