// What the two charts of the error can be asked, and what they cannot.

import { optional, real, subset, type Values, whole } from "../../fields.js";
import { MECHANISMS } from "../../mechanisms.js";
import type { Problem } from "../../state.js";

export const FIELDS = {
  dimension: whole(40, { least: 2, most: 200 }),
  rank: whole(3, { least: 1, most: 20 }),
  sparsity: optional(whole(40, { least: 1, most: 200 })),
  signal: real(20, { least: 0.01, most: 10_000 }),
  records: whole(20_000, { least: 100, most: 1_000_000 }),
  epsilon: real(2, { least: 0.05, most: 16 }),
  delta: real(1e-6, { least: 1e-15, most: 0.1 }),
  trials: whole(20, { least: 1, most: 100 }),
  seed: whole(1, { least: 0, most: 2 ** 32 - 1 }),
  mechanisms: subset(MECHANISMS, MECHANISMS),
};

export type Settings = Values<typeof FIELDS>;

/** What is impossible together. */
export function check({ dimension, rank, sparsity }: Settings): Problem<typeof FIELDS>[] {
  if (rank >= dimension) {
    const most = `With ${dimension} features there can be at most ${dimension - 1} components to tell from the rest`;
    return [{ name: "rank", message: `${most}: give fewer than ${dimension}.` }];
  }
  if (sparsity === undefined) return [];
  if (sparsity > dimension) {
    return [
      {
        name: "sparsity",
        message: `There are only ${dimension} features: give at most ${dimension}, or nothing for all.`,
      },
    ];
  }
  if (sparsity < rank) {
    const message = `${rank} components need at least ${rank} features: give ${rank} or more, or nothing for all.`;
    return [{ name: "sparsity", message }];
  }
  return [];
}

/** The places of the two charts on their axes. */
export const EPSILONS = [0.25, 0.35, 0.5, 0.7, 1, 1.4, 2, 2.8, 4, 5.6];
export const RECORDS = [1000, 1700, 2800, 4600, 7700, 13_000, 22_000, 36_000, 60_000, 100_000];

/** The population in words. */
export function population({ dimension, rank, sparsity, signal }: Settings): string {
  const components = rank === 1 ? "1 component" : `${rank} components`;
  const features = sparsity === undefined ? "all of them" : `${sparsity} of them`;
  return `${dimension} features, ${components} on ${features}, signal ${signal}`;
}
