// The ticks of an axis, and the form of their numbers.

import { number } from "../format.js";
import type { Axis } from "./model.js";

const MULTIPLES = [[1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 5], [1, 3], [1]] as const;

/** Round numbers within the axis, at most `room` of them where that is possible. */
export function ticks({ log, range: [from, to] }: Axis, room: number): number[] {
  return log ? logTicks(from, to, room) : linearTicks(from, to, room);
}

function logTicks(from: number, to: number, room: number): number[] {
  const first = Math.floor(Math.log10(from));
  const last = Math.ceil(Math.log10(to));
  const inside = (value: number) => value >= from * 0.9999 && value <= to * 1.0001;
  const sets = MULTIPLES.map((multiples) => {
    const decades = Array.from({ length: last - first + 1 }, (_, index) => first + index);
    return decades.flatMap((decade) => multiples.map((multiple) => precise(multiple * 10 ** decade))).filter(inside);
  });
  // Never more than three in a decade's style of a slide rule: it reads worse than 1, 2, 5.
  const decades = Math.log10(to / from);
  const candidates = decades > 0.8 ? sets.slice(1) : sets;
  return candidates.find((set) => set.length <= room) ?? thinned(candidates.at(-1)!, room);
}

function linearTicks(from: number, to: number, room: number): number[] {
  const rough = (to - from) / Math.max(1, room - 1);
  const decade = 10 ** Math.floor(Math.log10(rough));
  const step = decade * ([1, 2, 5].find((step) => step * decade >= rough) ?? 10);
  const first = Math.ceil(from / step - 1e-9);
  const count = Math.floor(to / step + 1e-9) - first + 1;
  return Array.from({ length: count }, (_, index) => precise((first + index) * step));
}

function thinned(values: number[], room: number): number[] {
  const every = Math.ceil(values.length / Math.max(1, room));
  return values.filter((_, index) => index % every === 0);
}

function precise(value: number): number {
  return Number(value.toPrecision(6));
}

/** A rounded number: 12,000, 1.2 million. */
export function about(value: number, digits = 2): string {
  const short = Number(value.toPrecision(digits));
  return short < 1e6 ? number(short) : short.toLocaleString("en", { notation: "compact", compactDisplay: "long" });
}
