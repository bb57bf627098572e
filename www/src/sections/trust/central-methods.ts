// Methods that trust a curator with the records: simulated in the pool on the second moments of the charts' records.

import type { ComparedMoments, CompareMethodsOptions, ComparedPopulation, LabMethod, Progress } from "ldp-pca/lab";

import type { Measured, Style } from "../../charts/series.js";
import type { Pool } from "../../engine/pool.js";
import type { Quality } from "../../measure.js";
import { TrialResults } from "../error/trials.js";

/** In the order of the chart: the key is the lab's. */
export const METHODS: readonly { readonly key: LabMethod; readonly name: string; readonly style: Style }[] = [
  { key: "mod-sulq", name: "Central: MOD-SULQ", style: "purple" },
  { key: "ppca", name: "Central: PPCA", style: "grey" },
  { key: "analyze-gauss", name: "Central: Analyze Gauss", style: "green" },
];

/** The places of the simulations, also on the predicted curves, in an order that spans the axis early. */
const EPSILONS = [0.1, 4, 0.63, 1.6, 0.25, 2.5, 0.16, 1, 0.4];
const TRIALS = 5;

/** The records of the charts, how many of them, and delta. */
export type ChartRecords = (ComparedPopulation | ComparedMoments) & Omit<CompareMethodsOptions, "epsilon" | "methods">;

/** The simulations for one question, kept for when it is asked again. */
export class CentralSimulation {
  readonly #records: ChartRecords;
  readonly #results = new TrialResults();
  readonly #done = new Set<string>();
  /** The reasons of methods that refuse, by name. */
  readonly refusals = new Map<string, string>();

  constructor(records: ChartRecords) {
    this.#records = records;
  }

  /** Whether it answers this question. */
  isOf(records: ChartRecords): boolean {
    const [own, others] = [split(records), split(this.#records)];
    return own.moments === others.moments && own.text === others.text;
  }

  measured(key: string, height: (result: Quality) => number): Measured[] {
    return this.#results.measured("epsilon", key, height);
  }

  /** Simulates what is missing, and reports after each place. Rejects with the signal's reason. */
  async run(pool: Pool, signal: AbortSignal, onProgress: (progress: Progress) => void): Promise<void> {
    const total = TRIALS * EPSILONS.length;
    const pairs = Array.from({ length: TRIALS }, (_, trial) => EPSILONS.map((epsilon) => ({ trial, epsilon }))).flat();
    const keys = METHODS.map(({ key }) => key);
    await Promise.all(
      pairs.map(async ({ trial, epsilon }) => {
        const pair = `${trial} ${epsilon}`;
        if (this.#done.has(pair)) return;
        const { methods } = await pool.run(
          "compare",
          { ...this.#records, methods: keys, epsilon, firstTrial: trial },
          { signal },
        );
        if (signal.aborted) return;
        for (const { key, name, trials, refusal } of methods) {
          const [found] = trials;
          if (found) this.#results.add("epsilon", key, epsilon, found);
          if (refusal !== undefined) this.refusals.set(name, refusal);
        }
        this.#done.add(pair);
        onProgress({ done: this.#done.size, total });
      }),
    );
  }
}

/** Second moments are the same when they are one array: there is one of each file. */
function split(records: ChartRecords): { readonly moments: Float64Array | undefined; readonly text: string } {
  const { secondMoment, ...others } = { secondMoment: undefined, ...records };
  return { moments: secondMoment, text: JSON.stringify(others) };
}
