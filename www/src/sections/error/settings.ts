// The settings of the two charts of the error, and their limits.

import { choice, decimal, integer, optional, subset, type Values } from "../../fields.js";
import { counted } from "../../format.js";
import { MEASURES } from "../../measure.js";
import { MECHANISMS } from "../../mechanisms.js";
import type { Context } from "../../context.js";
import { about, inPlace, type MadeUp, type OwnRecords } from "../../own-records.js";
import type { Problem, SectionState } from "../../state.js";

export const FIELDS = {
  dimension: integer(40, { min: 2, max: 200 }),
  rank: integer(3, { min: 1, max: 20 }),
  sparsity: optional(integer(40, { min: 1, max: 200 })),
  signal: decimal(20, { min: 0.01, max: 10_000 }),
  records: integer(20_000, { min: 100, max: 1_000_000 }),
  epsilon: decimal(2, { min: 0.05, max: 16 }),
  delta: decimal(1e-6, { min: 1e-15, max: 0.1 }),
  trials: integer(20, { min: 1, max: 100 }),
  seed: integer(1, { min: 0, max: 2 ** 32 - 1 }),
  mechanisms: subset(MECHANISMS, MECHANISMS),
  measure: choice("share", MEASURES),
};

export type Settings = Values<typeof FIELDS>;

/** The subject of the charts: made-up records, or those of the visitor. */
export interface ChartSettings extends Settings {
  readonly own?: OwnRecords | undefined;
}

/** The form of the charts, which other sections follow. */
export function chartsOf({ state, records }: Context): SectionState<typeof FIELDS> {
  return state.section("error", FIELDS, (settings) =>
    checkSparsity(inPlace(settings, records.current), ", or nothing for all"),
  );
}

/** What the charts are about at present. */
export function asked(context: Context): ChartSettings {
  return about(chartsOf(context).values, context.records.current);
}

/** Checks that there can be so many components. */
export function checkRank({ dimension, rank }: MadeUp): Problem<"rank">[] {
  if (rank < dimension) return [];
  const most = `With ${dimension} features there can be at most ${dimension - 1} components above the rest`;
  return [{ name: "rank", message: `${most}: give fewer than ${dimension}.` }];
}

/** Checks that so many features can carry so many components. `otherwise` is what can be given beside a number. */
export function checkSparsity(settings: MadeUp, otherwise = ""): Problem<"rank" | "sparsity">[] {
  const { dimension, rank, sparsity = dimension } = settings;
  const wrong = (message: string) => [{ name: "sparsity" as const, message: `${message}${otherwise}.` }];
  if (rank >= dimension) return checkRank(settings);
  if (sparsity > dimension) return wrong(`There are only ${dimension} features: give at most ${dimension}`);
  if (sparsity < rank) return wrong(`${rank} components need at least ${rank} features: give ${rank} or more`);
  return [];
}

/** The places of the two charts on their axes. */
export const PLACES = {
  epsilon: [0.25, 0.35, 0.5, 0.7, 1, 1.4, 2, 2.8, 4, 5.6],
  records: [1000, 1700, 2800, 4600, 7700, 13_000, 22_000, 36_000, 60_000, 100_000],
};

/** Which of the two charts, by what it has on its x-axis. */
export type Axis = keyof typeof PLACES;

/** What is on the x-axis, in short, with more words, and as in "the error against it". */
export const WORDS = {
  epsilon: { symbol: "ε", label: "ε of one report", against: "ε" },
  records: { symbol: "n", label: "users n", against: "the number of users" },
} as const;

/** The epsilon and the number of users at a place of a chart. */
export function at({ epsilon, records }: Settings, axis: Axis, x: number): { epsilon: number; records: number } {
  return { epsilon, records, [axis]: x };
}

/** The population in words. */
export function describePopulation({ dimension, rank, sparsity, signal, own }: ChartSettings): string {
  const components = counted(rank, "component");
  if (own) return `${counted(own.rows, "record")} of ${own.name}, ${dimension} features, ${components}`;
  const features = sparsity === undefined ? "all of them" : `${sparsity} of them`;
  return `${dimension} features, ${components} on ${features}, signal ${signal}`;
}
