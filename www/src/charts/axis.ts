// An axis of a chart: its range, where numbers lie on it, and its ticks.

export interface Axis {
  readonly label: string;
  /** As in "at ε = 2". */
  readonly symbol: string;
  /** On a whole axis no tick is between whole numbers. */
  readonly scale: "log" | "linear" | "whole";
  readonly range: readonly [number, number];
}

/** The range of a logarithmic axis that keeps `values` inside: the next of 1, 2, 5, 10, …, below and above. */
export function roundedRange(values: readonly number[]): [number, number] {
  const known = values.filter((value) => value > 0 && value < Infinity);
  const [least, most] = [Math.min(...known), Math.max(...known)];
  if (least > most) return [0.01, 1];
  return [steps(least).findLast((step) => step <= least * 1.0001)!, steps(most).find((step) => step >= most * 0.9999)!];
}

/** The pixel of a number on an axis between two pixels. What lies outside the axis is at its end. */
export function mapping({ scale, range: [from, to] }: Axis, start: number, end: number): (value: number) => number {
  const along = scale === "log" ? Math.log : Number;
  return (value) => {
    const share = (along(value) - along(from)) / (along(to) - along(from));
    return start + Math.min(1, Math.max(0, share)) * (end - start);
  };
}

/** Round numbers within the axis, at most `room` of them where that is possible. `room` is two or more. */
export function ticks({ scale, range: [from, to] }: Axis, room: number): number[] {
  return scale === "log" ? logTicks(from, to, room) : linearTicks(from, to, room, scale === "whole" ? 1 : 0);
}

const MULTIPLES = [[1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 5], [1, 3], [1]] as const;

function logTicks(from: number, to: number, room: number): number[] {
  const decades = whole(Math.floor(Math.log10(from)), Math.ceil(Math.log10(to)));
  // Never more than three in a decade's style of a slide rule: it reads worse than 1, 2, 5.
  const sets = MULTIPLES.slice(Math.log10(to / from) > 0.8 ? 1 : 0).map((multiples) =>
    decades
      .flatMap((decade) => multiples.map((multiple) => precise(multiple * 10 ** decade)))
      .filter((value) => value >= from * 0.9999 && value <= to * 1.0001),
  );
  const fewest = sets.at(-1)!;
  const every = Math.ceil(fewest.length / room);
  return sets.find((set) => set.length <= room) ?? fewest.filter((_, index) => index % every === 0);
}

/** In steps of `least` or more. */
function linearTicks(from: number, to: number, room: number, least: number): number[] {
  const rough = (to - from) / (room - 1);
  const step = Math.max(least, steps(rough).find((step) => step >= rough)!);
  return whole(Math.ceil(from / step - 1e-9), Math.floor(to / step + 1e-9)).map((count) => precise(count * step));
}

/** 1, 2, 5 and 10 times the decade of a number. */
function steps(value: number): number[] {
  return [1, 2, 5, 10].map((step) => step * 10 ** Math.floor(Math.log10(value)));
}

/** The whole numbers from the first to the last. */
function whole(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

function precise(value: number): number {
  return Number(value.toPrecision(6));
}
