// What the planner can be asked, and what it cannot.

import { choice, list, optional, real, Refused, type Values, whole } from "../../fields.js";
import { MECHANISMS } from "../../mechanisms.js";
import type { Problem } from "../../state.js";

export const FIELDS = {
  source: choice("charts", ["charts", "own"]),
  dimension: whole(116, { least: 2, most: 20_000 }),
  rank: whole(3, { least: 1, most: 100 }),
  spectrum: list([0.646, 0.176, 0.088, 0.039], checkSpectrum),
  mechanism: choice("double-cap", MECHANISMS),
  epsilon: real(2, { least: 0.01, most: 16 }),
  delta: real(1e-6, { least: 1e-15, most: 0.1 }),
  target: real(0.1, { least: 1e-6, most: 100 }),
  records: optional(whole(20_000, { least: 1, most: 1e12 })),
};

export type Settings = Values<typeof FIELDS>;

function checkSpectrum(values: readonly number[]): void {
  if (values.length === 0) throw new Refused("Give at least one share of variance, such as 0.3.");
  const wrong = values.find((value) => !(value > 0 && value <= 1));
  if (wrong !== undefined) throw new Refused(`${wrong} is no share of variance: give numbers above 0 and up to 1.`);
  const sum = values.reduce((sum, value) => sum + value, 0);
  if (sum > 1 + 1e-9)
    throw new Refused(`These shares sum to ${Number(sum.toPrecision(6))}: divide them by the total variance.`);
}

/** What is impossible together. The population of the charts is checked where it is set. */
export function check({ source, dimension, rank, spectrum }: Settings): Problem<typeof FIELDS>[] {
  if (source === "charts") return [];
  if (rank >= dimension) {
    const message = `With ${dimension} features there can be at most ${dimension - 1} components to tell from the rest.`;
    return [{ name: "rank", message }];
  }
  if (spectrum.length >= dimension) {
    const message = `These are ${spectrum.length} shares for ${dimension} features: give fewer, or more features.`;
    return [{ name: "spectrum", message }];
  }
  return [];
}
