// Runs the simulations of the two charts in the pool, one trial at one place at a time.

import type { Figures, Progress } from "ldp-pca/lab";

import { number } from "../../format.js";
import type { Pool } from "../../engine/pool.js";
import type { Quality } from "../../measure.js";
import { mechanism } from "../../mechanisms.js";
import { schedule, type Trial, type TrialResults } from "./trials.js";
import { type Axis, type ChartSettings, WORDS } from "./settings.js";

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
  settings: ChartSettings,
  results: TrialResults,
  signal: AbortSignal,
  onTrial: (axis: Axis, progress: TrialProgress) => void,
): Promise<void> {
  const all = schedule(settings);
  const left = { epsilon: 0, records: 0 };
  for (const { axis } of all) left[axis] += 1;
  let done = 0;
  await Promise.all(
    all.map(async (trial) => {
      const found = await simulate(pool, settings, trial, signal);
      if (signal.aborted) return;
      done += 1;
      left[trial.axis] -= 1;
      for (const [series, quality] of found) results.add(trial.axis, series, trial.x, quality);
      const place = `${WORDS[trial.axis].symbol} = ${number(trial.x)}`;
      const text =
        `Trial ${trial.index + 1} of ${settings.trials} at ${place}; ${done} of ${all.length} simulations done.`;
      onTrial(trial.axis, { done, total: all.length, complete: left[trial.axis] === 0, text });
    }),
  );
}

/** One trial of every mechanism on the same records, drawn from the exact law of the reports. */
async function simulate(
  pool: Pool,
  settings: ChartSettings,
  trial: Trial,
  signal: AbortSignal,
): Promise<[string, Quality][]> {
  const { own, dimension, rank, sparsity, signal: strength, delta, seed } = settings;
  const { records, index } = trial;
  const mechanisms = settings.mechanisms.map((name) => mechanism(name, trial.epsilon, delta));
  const asked = { dimension, rank, records, mechanisms, seed };
  if (own) {
    const { module, secondMoment } = own;
    const like = { ...asked, module, secondMoment, trial: index };
    return named(settings, ...(await pool.run("trialLike", like, { signal })));
  }
  const drawn = { ...asked, signal: strength, sparsity, reports: "drawn", trials: 1, firstTrial: index } as const;
  const { byMechanism, nonPrivate, nonPrivateShareFound } = await pool.run("simulate", drawn, { signal });
  const first = (error: Figures, share: Figures | null): Quality => {
    return { sinThetaSquared: error.values[0]!, shareFound: share?.values[0] ?? null };
  };
  const found = byMechanism.map(({ methods }) => first(methods[0]!.sinThetaSquared, methods[0]!.shareFound));
  return named(settings, found, first(nonPrivate, nonPrivateShareFound));
}

/** The results of one trial by the names of their series. */
function named({ mechanisms }: ChartSettings, found: readonly Quality[], nonPrivate: Quality): [string, Quality][] {
  return [...mechanisms.map((name, place): [string, Quality] => [name, found[place]!]), ["not private", nonPrivate]];
}
