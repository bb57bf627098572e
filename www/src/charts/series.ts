// A series of a chart: its numbers, what is said, tabled and saved of them, and how they are drawn in plot and legend.

import { box, type Color, type Frame, mark, path, type Place, type Shape } from "./shapes.js";
import { counted, number } from "../format.js";

/** The style of a series: its colour, its marks and its dashes each identify it on their own. */
export type Style = Extract<Color, "blue" | "orange" | "purple" | "green" | "grey">;

/** Trials at one place: their median and quartiles. */
export type Measured = {
  readonly x: number;
  readonly median: number;
  readonly low: number;
  readonly high: number;
  readonly trials: number;
};

export type Point = {
  readonly x: number;
  readonly y: number;
};

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

/** The numbers of one kind in a series. */
export interface Part {
  /** What they look like, in the words below a saved chart. */
  readonly key: string;
  /** The columns of a table by their heads, each with the names of its numbers. The first has the height. */
  readonly columns: Readonly<Record<string, readonly string[]>>;
  readonly points: readonly { readonly x: number; readonly [name: string]: number }[];
  /** Places that they leave out. */
  readonly refused?: readonly number[];
  /** The cells of one place in words. */
  readonly value: (cells: readonly string[]) => string;
  /** The course "from … to …" in words. */
  readonly course: (ends: string) => string;
}

/** What a series consists of. The series of a chart have the same kinds of parts. */
export function parts({ measured, predicted, refused }: Series): Part[] {
  const least = Math.min(...measured.map(({ trials }) => trials));
  return [
    {
      key: "Marks and lines: medians of trials. Bands: quartiles.",
      columns: { median: ["median"], quartiles: ["low", "high"], trials: ["trials"] },
      points: measured,
      value: ([median, quartiles]) => `${median} (${quartiles})`,
      course: (ends) => `simulated ${ends} (medians of ${counted(least, "trial")} or more)`,
    },
    {
      key: "Dashed: predicted. Hatched: noise wins.",
      columns: { predicted: ["y"] },
      points: predicted,
      refused,
      value: ([y]) => (y === REFUSED ? y : `predicted ${y}`),
      course: (ends) => `predicted ${ends}`,
    },
  ];
}

/** The cell of a place that is left out. */
const REFUSED = "not worth it";

/** The cells of a part at one place, empty where it has nothing there. */
export function cells({ columns, points, refused }: Part, x: number): string[] {
  const point = points.find((point) => point.x === x);
  if (!point && refused?.includes(x)) return [REFUSED];
  return Object.values(columns).map((own) => own.flatMap((name) => (point ? number(point[name]!) : [])).join(" to "));
}

/** All that has a height in the plot. */
export function heights(all: readonly Series[]): number[] {
  return all.flatMap(({ measured, predicted }) => [
    ...measured.flatMap(({ low, high }) => [low, high]),
    ...predicted.map(({ y }) => y),
  ]);
}

/** Dashes of the predicted curve. */
const DASHES: Readonly<Record<Style, readonly number[]>> = {
  blue: [8, 4],
  orange: [3, 3],
  purple: [9, 3, 2, 3],
  green: [12, 3],
  grey: [2, 5],
};

const round = (angle: number): Place => [Math.cos(angle), Math.sin(angle)];

/** The corners of the mark of a measured median: a circle, a square, triangles and a diamond. */
const MARKS: Readonly<Record<Style, readonly Place[]>> = {
  blue: Array.from({ length: 20 }, (_, side) => round((Math.PI * side) / 10)),
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
    ...simulated.map(({ style, measured }) =>
      band(
        [...measured.map(({ x, high }) => at(x, high)), ...measured.map(({ x, low }) => at(x, low)).reverse()],
        style,
      ),
    ),
    ...simulated.map(({ style, measured }) => line(measured.map(({ x, median }) => at(x, median)), style)),
    ...all.flatMap((one) => unbroken(one).map((piece) => dashed(piece.map(({ x, y }) => at(x, y)), one.style))),
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
  const shapes: Shape[] = [];
  if (measured.length > 0) {
    shapes.push(band([...across(2), ...across(12).reverse()], style), line(across(7), style));
    shapes.push(mark(MARKS[style], [(left + right) / 2, top + 7], style));
  }
  if (predicted.length > 0) shapes.push(dashed(across(shapes.length > 0 ? 16 : 10), style));
  return shapes;
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

/** The pieces of the predicted curve between its gaps. */
function unbroken({ predicted, refused = [] }: Series): Point[][] {
  const pieces: Point[][] = [];
  let last = -Infinity;
  for (const point of predicted) {
    if (pieces.length === 0 || refused.some((x) => last < x && x < point.x)) pieces.push([]);
    pieces.at(-1)!.push(point);
    last = point.x;
  }
  return pieces;
}
