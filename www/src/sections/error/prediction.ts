// The predicted curves of the two charts, by the lab.

import type { Limit } from "../../charts/model.js";
import type { Pool } from "../../engine/pool.js";
import type { Quality } from "../../measure.js";
import { LOOKS, mechanism, type MechanismName } from "../../mechanisms.js";
import { populationOfCharts } from "./population.js";
import { at, type Axis, type ChartSettings, PLACES } from "./settings.js";

/** A prediction at a place of the axis. */
export type Place = Quality & { readonly x: number };

interface Curve {
  readonly points: readonly Place[];
  readonly limit: Limit | undefined;
}

/** The predictions for one chart. */
export type Curves = ReadonlyMap<MechanismName, Curve>;

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
    const points = await Promise.all(
      places.map(async (x) => {
        const { epsilon, records } = at(settings, axis, x);
        const asked = { ...population, mechanism: mechanism(name, epsilon, delta), records };
        return { ...(await pool.run("predict", asked, { signal, urgent: true })), x };
      }),
    );
    // The first place of the curve at which a component can be recovered.
    const first = () => points.find(({ recoverable }) => recoverable.some(Boolean))?.x ?? Infinity;
    const threshold = axis === "epsilon" ? first() : await thresholdRecords(name);
    const limit = threshold <= places[0]! ? undefined : { ...LOOKS[name], x: threshold };
    return [name, { points, limit }];
  });
  async function thresholdRecords(name: MechanismName): Promise<number> {
    const asked = { ...population, mechanism: mechanism(name, settings.epsilon, delta) };
    return (await pool.run("plan", asked, { signal, urgent: true })).thresholdRecords ?? Infinity;
  }

  return new Map(await Promise.all(curves));
}
