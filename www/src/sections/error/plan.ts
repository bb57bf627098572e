// The work behind the two charts: which simulations they need, in which order, and what came of them.

import type { Measured } from "../../charts/model.js";
import { EPSILONS, RECORDS, type Settings } from "./settings.js";

/** Which of the two charts, by what it has on its x-axis. */
export type Axis = "epsilon" | "records";

/** One trial at one place: the least that is simulated at a time. */
export interface Unit {
  readonly axis: Axis;
  /** The place on the axis. */
  readonly x: number;
  readonly trial: number;
  readonly epsilon: number;
  readonly records: number;
}

/** The trials of a place are in this order, so that the first ones already span the axis. */
const COARSE_FIRST = [0, 9, 4, 7, 2, 5, 8, 3, 6, 1];

/** All the work: a rough first trial of both charts, and then the other trials of one after the other. */
export function units({ epsilon, records, trials }: Settings): Unit[] {
  const round = (axis: Axis, trial: number): Unit[] =>
    COARSE_FIRST.map((index) =>
      axis === "epsilon"
        ? { axis, x: EPSILONS[index]!, trial, epsilon: EPSILONS[index]!, records }
        : { axis, x: RECORDS[index]!, trial, epsilon, records: RECORDS[index]! },
    );
  const others = Array.from({ length: trials - 1 }, (_, index) => index + 1);
  return [
    ...round("epsilon", 0),
    ...round("records", 0),
    ...others.flatMap((trial) => round("epsilon", trial)),
    ...others.flatMap((trial) => round("records", trial)),
  ];
}

/** Errors of trials, by chart, series and place. */
export class Results {
  readonly #values = new Map<string, Map<number, number[]>>();

  add(axis: Axis, series: string, x: number, error: number): void {
    const key = `${axis} ${series}`;
    const places = this.#values.get(key) ?? new Map<number, number[]>();
    this.#values.set(key, places);
    places.set(x, [...(places.get(x) ?? []), error]);
  }

  /** Medians and quartiles over the trials that are done, along the axis. */
  measured(axis: Axis, series: string): Measured[] {
    const places = this.#values.get(`${axis} ${series}`) ?? new Map<number, number[]>();
    return [...places].sort(([a], [b]) => a - b).map(([x, values]) => summarized(x, values));
  }

  /** The errors of every trial, in the order in which they came. */
  values(axis: Axis): number[] {
    const own = [...this.#values].filter(([key]) => key.startsWith(`${axis} `));
    return own.flatMap(([, places]) => [...places.values()].flat());
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
function quantile(sorted: readonly number[], share: number): number {
  const place = share * (sorted.length - 1);
  const below = sorted[Math.floor(place)]!;
  const above = sorted[Math.ceil(place)]!;
  return below + (above - below) * (place - Math.floor(place));
}
