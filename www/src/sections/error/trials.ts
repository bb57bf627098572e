// The work behind the two charts: the simulations they need, their order, and their results.

import type { Measured } from "../../charts/series.js";
import type { Quality } from "../../measure.js";
import { at, type Axis, PLACES, type Settings } from "./settings.js";

/** One trial at one place: the least that is simulated at a time. */
export interface Trial {
  readonly axis: Axis;
  /** The place on the axis. */
  readonly x: number;
  readonly index: number;
  readonly epsilon: number;
  readonly records: number;
}

/** The trials of a place are in this order, so that the first ones already span the axis. */
const COARSE_FIRST = [0, 9, 4, 7, 2, 5, 8, 3, 6, 1];

/** All the work: a rough first trial of both charts, then the other trials of one chart after the other. */
export function schedule(settings: Settings): Trial[] {
  const round = (axis: Axis, index: number): Trial[] =>
    COARSE_FIRST.map((place) => {
      const x = PLACES[axis][place]!;
      return { axis, x, index, ...at(settings, axis, x) };
    });
  const others = Array.from({ length: settings.trials - 1 }, (_, index) => index + 1);
  return [
    ...round("epsilon", 0),
    ...round("records", 0),
    ...others.flatMap((trial) => round("epsilon", trial)),
    ...others.flatMap((trial) => round("records", trial)),
  ];
}

/** Results of trials, by chart, series and place. */
export class TrialResults {
  readonly #results = new Map<string, Map<number, Quality[]>>();

  add(axis: Axis, series: string, x: number, result: Quality): void {
    const key = `${axis} ${series}`;
    const places = this.#results.get(key) ?? new Map<number, Quality[]>();
    this.#results.set(key, places);
    places.set(x, [...(places.get(x) ?? []), result]);
  }

  /** Medians and quartiles over the trials that are done, along the axis, of the number that `height` makes of each. */
  measured(axis: Axis, series: string, height: (result: Quality) => number): Measured[] {
    const places = this.#results.get(`${axis} ${series}`) ?? new Map<number, Quality[]>();
    return [...places].sort(([a], [b]) => a - b).map(([x, results]) => summarized(x, results.map(height)));
  }
}

function summarized(x: number, values: readonly number[]): Measured {
  const sorted = values.toSorted((a, b) => a - b);
  return {
    x,
    median: quantile(sorted, 0.5),
    low: quantile(sorted, 0.25),
    high: quantile(sorted, 0.75),
    trials: sorted.length,
  };
}

/** By linear interpolation between the two nearest of the sorted values. */
export function quantile(sorted: readonly number[], share: number): number {
  const place = share * (sorted.length - 1);
  const below = sorted[Math.floor(place)]!;
  const above = sorted[Math.ceil(place)]!;
  return below + (above - below) * (place - Math.floor(place));
}
