// The predicted curves of the two charts, by the lab.

import type { Prediction } from "ldp-pca/lab";

import type { Limit } from "../../charts/model.js";
import type { Pool } from "../../engine/pool.js";
import type { Quality } from "../../measure.js";
import { mechanism, type MechanismName, NAMES, STYLES } from "../../mechanisms.js";
import { populationOfCharts } from "./population.js";
import { type Axis, type ChartSettings, PLACES } from "./settings.js";

/** A prediction at a place of the axis. */
export type Place = Quality & { readonly x: number };

export interface Curve {
  readonly points: readonly Place[];
  readonly limit: Limit | undefined;
}

/** The predictions for one chart. */
export interface Curves {
  readonly byMechanism: ReadonlyMap<MechanismName, Curve>;
}

/** A curve has this many additional points between two places of the axis. */
const BETWEEN = 8;

/** The places of the axis, and the ones between. */
export function along(axis: Axis): number[] {
  const places = PLACES[axis];
  return places.flatMap((from, index) => {
    const to = places[index + 1];
    if (to === undefined) return [from];
    return Array.from({ length: BETWEEN }, (_, step) => {
      const value = from * (to / from) ** (step / BETWEEN);
      return axis === "epsilon" ? value : Math.round(value);
    });
  });
}

export async function predictCurves(
  pool: Pool,
  settings: ChartSettings,
  axis: Axis,
  signal: AbortSignal,
): Promise<Curves> {
  const { delta } = settings;
  const population = await populationOfCharts(pool, settings, { signal, urgent: true });
  const places = along(axis);
  const curves = settings.mechanisms.map(async (name): Promise<[MechanismName, Curve]> => {
    const predictions = await Promise.all(
      places.map((x) => {
        const [epsilon, records] = axis === "epsilon" ? [x, settings.records] : [settings.epsilon, x];
        const asked = { ...population, mechanism: mechanism(name, epsilon, delta), records };
        return pool.run("predict", asked, { signal, urgent: true });
      }),
    );
    const points = predictions.map((prediction, index) => ({ ...prediction, x: places[index]! }));
    const threshold = axis === "epsilon" ? firstRecoverable(points, predictions) : await thresholdRecords(name);
    const limit = threshold <= places[0]! ? undefined : { name: NAMES[name], style: STYLES[name], x: threshold };
    return [name, { points, limit }];
  });
  async function thresholdRecords(name: MechanismName): Promise<number> {
    const asked = { ...population, mechanism: mechanism(name, settings.epsilon, delta) };
    return (await pool.run("plan", asked, { signal, urgent: true })).thresholdRecords ?? Infinity;
  }

  return { byMechanism: new Map(await Promise.all(curves)) };
}

/** The first place of the curve at which a component can be recovered. */
function firstRecoverable(points: readonly Place[], predictions: readonly Prediction[]): number {
  const first = predictions.findIndex(({ recoverable }) => recoverable.some(Boolean));
  return points[first]?.x ?? Infinity;
}
