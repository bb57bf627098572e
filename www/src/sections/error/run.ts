// Runs the simulations of the two charts in the pool, one trial at one place at a time.

import { number } from "../../format.js";
import type { Pool } from "../../engine/pool.js";
import { mechanism } from "../../mechanisms.js";
import { type Axis, type Results, type Unit, units } from "./plan.js";
import type { Settings } from "./settings.js";

export interface Progress {
  readonly done: number;
  readonly total: number;
  /** Whether the chart has all its simulations. */
  readonly complete: boolean;
  /** What is being done, for people. */
  readonly text: string;
}

/**
 * Adds to `results` as trials come in, and tells `onUnit` which chart has something new. Rejects with the signal's
 * reason, or the first error of a simulation.
 */
export async function run(
  pool: Pool,
  settings: Settings,
  results: Results,
  signal: AbortSignal,
  onUnit: (axis: Axis, progress: Progress) => void,
): Promise<void> {
  const all = units(settings);
  const left = { epsilon: 0, records: 0 };
  for (const { axis } of all) left[axis] += 1;
  let done = 0;
  await Promise.all(
    all.map(async (unit) => {
      const errors = await simulate(pool, settings, unit, signal);
      if (signal.aborted) return;
      done += 1;
      left[unit.axis] -= 1;
      for (const [series, error] of errors) results.add(unit.axis, series, unit.x, error);
      const place = unit.axis === "epsilon" ? `ε = ${number(unit.x)}` : `n = ${number(unit.x)}`;
      const text = `Trial ${unit.trial + 1} of ${settings.trials} at ${place}; ${done} of ${all.length} simulations done.`;
      onUnit(unit.axis, { done, total: all.length, complete: left[unit.axis] === 0, text });
    }),
  );
}

/** One trial of every mechanism on the same records, drawn from the exact law of the reports. */
async function simulate(pool: Pool, settings: Settings, unit: Unit, signal: AbortSignal): Promise<[string, number][]> {
  const { dimension, rank, sparsity, signal: strength, delta, seed, mechanisms } = settings;
  const { byMechanism, nonPrivate } = await pool.run(
    "simulate",
    {
      dimension,
      rank,
      signal: strength,
      sparsity,
      records: unit.records,
      mechanisms: mechanisms.map((name) => mechanism(name, unit.epsilon, delta)),
      reports: "drawn",
      trials: 1,
      firstTrial: unit.trial,
      seed,
    },
    { signal },
  );
  const errors = mechanisms.map((name, index): [string, number] => {
    return [name, byMechanism[index]!.methods[0]!.sinThetaSquared.values[0]!];
  });
  return [...errors, ["not private", nonPrivate.values[0]!]];
}
