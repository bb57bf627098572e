// The settings of the planner, and their limits.

import { choice, decimal, integer, InvalidValue, numberList, optional, type Values } from "../../fields.js";
import { BATCH } from "../../guarantee.js";
import { MECHANISMS } from "../../mechanisms.js";
import type { Problem } from "../../state.js";
import type { Population } from "../error/population.js";
import { checkRank } from "../error/settings.js";

export const FIELDS = {
  source: choice("charts", ["charts", "own"]),
  dimension: integer(116, { min: 2, max: 20_000 }),
  rank: integer(3, { min: 1, max: 100 }),
  spectrum: numberList([0.646, 0.176, 0.088, 0.039], checkSpectrum),
  mechanism: choice("double-cap", MECHANISMS),
  epsilon: decimal(2, { min: 0.01, max: 16 }),
  delta: decimal(1e-6, { min: 1e-15, max: 0.1 }),
  /** In percent of the structure. */
  share: decimal(90, { min: 1, max: 99.9 }),
  records: optional(integer(20_000, { min: 1, max: 1e12 })),
  batch: integer(BATCH, { min: 2, max: 1e11 }),
};

export type Settings = Values<typeof FIELDS>;

function checkSpectrum(values: readonly number[]): void {
  if (values.length === 0) throw new InvalidValue("Give at least one share of variance, such as 0.3.");
  const wrong = values.find((value) => !(value > 0 && value <= 1));
  if (wrong !== undefined)
    throw new InvalidValue(`${wrong} is not a share of variance: give numbers above 0 and up to 1.`);
  const sum = values.reduce((sum, value) => sum + value, 0);
  if (sum > 1 + 1e-9)
    throw new InvalidValue(`These shares sum to ${Number(sum.toPrecision(6))}: divide them by the total variance.`);
}

/** The spectrum that the visitor gave. */
export function ownPopulation({ dimension, rank, spectrum }: Settings): Population {
  return { dimension, rank, signals: spectrum.toSorted((a, b) => b - a) };
}

/** Checks for values that are impossible together. The population of the charts is checked where it is set. */
export function check(settings: Settings): Problem<keyof typeof FIELDS>[] {
  const { source, dimension, spectrum } = settings;
  if (source === "charts") return [];
  const problems = checkRank(settings);
  if (problems.length > 0 || spectrum.length < dimension) return problems;
  const message = `These are ${spectrum.length} shares for ${dimension} features: give fewer, or more features.`;
  return [{ name: "spectrum", message }];
}
