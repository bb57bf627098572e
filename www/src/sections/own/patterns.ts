// The patterns of the visitor's file, and what the noisy reports of so many people like those in it show of them.

import { componentLists } from "../../components.js";
import { element } from "../../context.js";
import { make } from "../../dom.js";
import type { Pool } from "../../engine/pool.js";
import { counted, percent } from "../../format.js";
import type { OwnRecords } from "../../own-records.js";

export async function showPatterns(
  pool: Pool,
  { dimension, features, module, secondMoment }: OwnRecords,
  asked: { readonly people: number; readonly loss: number; readonly rank: number },
  signal: AbortSignal,
): Promise<void> {
  const { people: records, loss: epsilon } = asked;
  const rank = Math.min(asked.rank, dimension - 1);
  const mechanisms = [{ type: "double-cap", epsilon }] as const;
  const options = { module, secondMoment, dimension, rank, records, mechanisms, seed: 1, trial: 0 };
  const { truth, found, share, noiseDeviation, noiseEdge } = await pool.run("patternsLike", options, {
    signal,
    urgent: true,
  });
  signal.throwIfAborted();
  const words = `With ${counted(records, "person", "people")}: `;
  const strong = make("strong", {}, `${percent(Math.max(0, share))} of the structure`);
  element("own-patterns-share").replaceChildren(words, strong);
  const common = { records, rank, feature_names: features, noise_deviation: noiseDeviation };
  const lists = {
    true: componentLists({ ...common, ...truth, noise_edge: -Infinity }),
    found: componentLists({ ...common, ...found, noise_edge: noiseEdge }),
  };
  for (const [name, list] of Object.entries(lists)) element(`own-patterns-${name}`).replaceChildren(...list);
}
