// A series of a chart: its numbers, and how they are drawn in the plot and as a sample in the legend.

import { box, type Color, type Frame, mark, path, type Place, type Shape } from "./shapes.js";

/** The style of a series: its colour, its marks and its dashes each identify it on their own. */
export type Style = Extract<Color, "blue" | "orange" | "purple" | "green" | "grey">;

/** Trials at one place: their median and quartiles. */
export interface Measured {
  readonly x: number;
  readonly median: number;
  readonly low: number;
  readonly high: number;
  readonly trials: number;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Series {
  readonly name: string;
  readonly style: Style;
  readonly measured: readonly Measured[];
  readonly predicted: readonly Point[];
  /** Places that the predicted curve leaves out. */
  readonly refused?: readonly number[];
  /** A sentence about it, for those who do not see the chart. */
  readonly note?: string;
}

/** The place of a number that the curve leaves out. */
export const REFUSED = "not worth it";

/** Dashes of the predicted curve. */
const DASHES: Readonly<Record<Style, readonly number[]>> = {
  blue: [8, 4],
  orange: [3, 3],
  purple: [9, 3, 2, 3],
  green: [12, 3],
  grey: [2, 5],
};

/** The corners of the mark of a measured median: a circle, a square, triangles and a diamond. */
const MARKS: Readonly<Record<Style, readonly Place[]>> = {
  blue: Array.from({ length: 20 }, (_, index): Place => {
    const angle = (Math.PI * index) / 10;
    return [Math.cos(angle), Math.sin(angle)];
  }),
  orange: box(-0.88, -0.88, 0.88, 0.88),
  purple: [[0, -1.2], [1.1, 0.8], [-1.1, 0.8]],
  green: [[0, 1.2], [1.1, -0.8], [-1.1, -0.8]],
  grey: [[0, -1.2], [1.2, 0], [0, 1.2], [-1.2, 0]],
};

/** All series in the plot: the bands between the quartiles, the lines over them, and the marks on top. */
export function plotted(all: readonly Series[], frame: Frame): Shape[] {
  const at = (x: number, y: number): Place => [frame.x(x), frame.y(y)];
  const simulated = all.filter(({ measured }) => measured.length > 0);
  return [
    ...simulated.map(({ style, measured }) => {
      const high = measured.map((point) => at(point.x, point.high));
      const low = measured.map((point) => at(point.x, point.low));
      return band([...high, ...low.reverse()], style);
    }),
    ...simulated.map(({ style, measured }) => line(measured.map(({ x, median }) => at(x, median)), style)),
    ...all.flatMap((one) => unbroken(one).map((part) => dashed(part.map(({ x, y }) => at(x, y)), one.style))),
    ...simulated.flatMap(({ style, measured }) =>
      measured.map(({ x, median }) => mark(MARKS[style], at(x, median), style)),
    ),
  ];
}

/** The size of a sample in the legend. */
export const SAMPLE = [44, 20] as const;

/** What a series looks like, from this place on. */
export function sample({ style, measured, predicted }: Series, [left, top]: Place = [0, 0]): Shape[] {
  const right = left + SAMPLE[0];
  const across = (y: number): Place[] => [[left, top + y], [right, top + y]];
  const simulated = measured.length > 0;
  return [
    ...(simulated
      ? [
          band([...across(2), ...across(12).reverse()], style),
          line(across(7), style),
          mark(MARKS[style], [(left + right) / 2, top + 7], style),
        ]
      : []),
    ...(predicted.length > 0 ? [dashed(across(simulated ? 16 : 10), style)] : []),
  ];
}

function band(points: readonly Place[], fill: Style): Shape {
  return path(points, { closed: true, fill, opacity: 0.17 });
}

function line(points: readonly Place[], stroke: Style): Shape {
  return path(points, { stroke, width: 2 });
}

function dashed(points: readonly Place[], stroke: Style): Shape {
  return path(points, { stroke, width: 1.75, dash: DASHES[stroke] });
}

/** The parts of the predicted curve between its gaps. */
function unbroken({ predicted, refused = [] }: Series): Point[][] {
  const parts: Point[][] = [];
  let last = -Infinity;
  for (const point of predicted) {
    if (parts.length === 0 || refused.some((x) => last < x && x < point.x)) parts.push([]);
    parts.at(-1)!.push(point);
    last = point.x;
  }
  return parts;
}
