// Runs the simulations of the two charts in the pool, one trial at one place at a time.

import type { Progress } from "ldp-pca/lab";

import { number } from "../../format.js";
import type { Pool } from "../../engine/pool.js";
import { mechanism } from "../../mechanisms.js";
import { type Axis, schedule, type Trial, type TrialErrors } from "./trials.js";
import type { Settings } from "./settings.js";

export interface TrialProgress extends Progress {
  /** Whether the chart has all its simulations. */
  readonly complete: boolean;
  /** The current work, in words. */
  readonly text: string;
}

/**
 * Adds to `results` as trials come in, and passes `onTrial` the chart that has something new. Rejects with the signal's
 * reason, or the first error of a simulation.
 */
export async function run(
  pool: Pool,
  settings: Settings,
  results: TrialErrors,
  signal: AbortSignal,
  onTrial: (axis: Axis, progress: TrialProgress) => void,
): Promise<void> {
  const all = schedule(settings);
  const left = { epsilon: 0, records: 0 };
  for (const { axis } of all) left[axis] += 1;
  let done = 0;
  await Promise.all(
    all.map(async (trial) => {
      const errors = await simulate(pool, settings, trial, signal);
      if (signal.aborted) return;
      done += 1;
      left[trial.axis] -= 1;
      for (const [series, error] of errors) results.add(trial.axis, series, trial.x, error);
      const place = trial.axis === "epsilon" ? `ε = ${number(trial.x)}` : `n = ${number(trial.x)}`;
      const text =
        `Trial ${trial.index + 1} of ${settings.trials} at ${place}; ${done} of ${all.length} simulations done.`;
      onTrial(trial.axis, { done, total: all.length, complete: left[trial.axis] === 0, text });
    }),
  );
}

/** One trial of every mechanism on the same records, drawn from the exact law of the reports. */
async function simulate(
  pool: Pool,
  settings: Settings,
  trial: Trial,
  signal: AbortSignal,
): Promise<[string, number][]> {
  const { dimension, rank, sparsity, signal: strength, delta, seed, mechanisms } = settings;
  const { byMechanism, nonPrivate } = await pool.run(
    "simulate",
    {
      dimension,
      rank,
      signal: strength,
      sparsity,
      records: trial.records,
      mechanisms: mechanisms.map((name) => mechanism(name, trial.epsilon, delta)),
      reports: "drawn",
      trials: 1,
      firstTrial: trial.index,
      seed,
    },
    { signal },
  );
  const errors = mechanisms.map((name, index): [string, number] => {
    return [name, byMechanism[index]!.methods[0]!.sinThetaSquared.values[0]!];
  });
  return [...errors, ["not private", nonPrivate.values[0]!]];
}
