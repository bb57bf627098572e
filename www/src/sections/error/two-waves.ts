// The predicted curves of two waves of people, for visitors who ask for them: where two waves are worth it, and the
// words about where they are not.

import moduleUrl from "ldp-pca/ldp_pca_waves_bg.wasm?url";

import { compiledOnce } from "../../engine/lab.js";
import type { Pool } from "../../engine/pool.js";
import type { TwoWaves, WaveRefusal } from "../../engine/protocol.js";
import { about } from "../../format.js";
import { populationOfCharts } from "./population.js";
import { along, type Place } from "./prediction.js";
import { at, type Axis, type ChartSettings, WORDS } from "./settings.js";

/** The prediction for two waves in one chart; `note` says where they are not worth it, and why. */
export interface WavesCurve {
  readonly predicted: readonly Place[];
  readonly refused: readonly number[];
  readonly note: string;
}

const load = compiledOnce(moduleUrl);

export async function predictTwoWaves(
  pool: Pool,
  settings: ChartSettings,
  axis: Axis,
  signal: AbortSignal,
): Promise<WavesCurve> {
  const options = { signal, urgent: true };
  const [module, population] = await Promise.all([load(), populationOfCharts(pool, settings, options)]);
  const found = await Promise.all(
    along(axis).map(async (x) => {
      const asked = { ...population, module, ...at(settings, axis, x) };
      return { x, ...(await pool.run("twoWaves", asked, options)) };
    }),
  );
  return {
    predicted: found.flatMap(({ x, refused, sin_theta_squared }) =>
      refused ? [] : { x, sinThetaSquared: sin_theta_squared },
    ),
    refused: found.flatMap(({ x, refused }) => (refused ? x : [])),
    note: note(axis, found),
  };
}

/** Neighbouring places where two waves are refused. */
interface Stretch {
  readonly from: number;
  to: number;
  readonly refusals: Map<WaveRefusal["reason"], WaveRefusal>;
}

/** Where two waves are not worth it, and why, in one sentence. */
function note(axis: Axis, found: readonly (TwoWaves & { readonly x: number })[]): string {
  const stretches: Stretch[] = [];
  for (const [index, { refused }] of found.entries()) {
    if (!refused) continue;
    if (stretches.at(-1)?.to !== index - 1) stretches.push({ from: index, to: index, refusals: new Map() });
    const last = stretches.at(-1)!;
    last.to = index;
    last.refusals.set(refused.reason, refused);
  }
  if (stretches.length === 0) return "Two waves are worth it everywhere on this axis.";
  const place = (index: number) => `${WORDS[axis].symbol} ≈ ${about(found[index]!.x)}`;
  const said = new Set<string>();
  const parts = stretches.map(({ from, to, refusals }) => {
    const why = [...refusals.values()].map((refusal) => reason(refusal, said)).join(" or ");
    const [begins, ends] = [from === 0, to === found.length - 1];
    if (begins && ends) return `anywhere on this axis: ${why}`;
    const within = place(from) === place(to) ? `at ${place(from)}` : `from ${place(from)} to ${place(to)}`;
    const where = begins ? `up to ${place(to)}` : ends ? `from ${place(from)} on` : within;
    return `${where}, where ${why}`;
  });
  return `Two waves are not worth it ${parts.join(", and ")}.`;
}

/** In full where it is said for the first time. */
function reason(refusal: WaveRefusal, said: Set<string>): string {
  const [short, more] =
    refusal.reason === "first-wave"
      ? ["the first wave finds too little to refine", `its weakest component is off by more than ${refusal.most}`]
      : ["too little is gained", `the error of one wave may be less than ${refusal.least} times that of two`];
  const full = said.has(short) ? short : `${short} (${more})`;
  said.add(short);
  return full;
}
