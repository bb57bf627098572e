// A chart as a file: SVG and PNG of the same shapes, and CSV of the same numbers.

import { describe } from "./describe.js";
import { BAND_OPACITY, type Frame, levels, limits, limitsHeight, marks } from "./layers.js";
import type { Axis, ChartData, Point, Series } from "./model.js";
import { paint, type Shape } from "./shapes.js";
import { svgDocument } from "./svg.js";
import { DASHES, PAPER, type Theme } from "./theme.js";
import { ticks } from "./ticks.js";
import { number } from "../format.js";

const WIDTH = 960;
const HEIGHT = 600;
const MARGIN = { left: 84, top: 74, right: 170, bottom: 96 };

export type Format = "PNG" | "SVG" | "CSV";

/** The chart as a file of this format. */
export async function file(data: ChartData, format: Format): Promise<Blob> {
  if (format === "CSV") return new Blob([csv(data)], { type: "text/csv" });
  if (format === "SVG") return new Blob([svg(data)], { type: "image/svg+xml" });
  const canvas = document.createElement("canvas");
  const scale = 2;
  canvas.width = WIDTH * scale;
  canvas.height = HEIGHT * scale;
  const context = canvas.getContext("2d")!;
  context.scale(scale, scale);
  paint(context, shapes(data));
  return new Promise((resolve, reject) => {
    canvas.toBlob(
      (blob) => (blob ? resolve(blob) : reject(new Error("this browser cannot make a picture of it"))),
      "image/png",
    );
  });
}

function svg(data: ChartData): string {
  return svgDocument(shapes(data), { width: WIDTH, height: HEIGHT, title: data.title, description: describe(data) });
}

/** One line for each point of each series: measured ones have quartiles and trials, predicted ones only that. */
function csv(data: ChartData): string {
  const lines = [["series", data.x.label, "predicted", "median", "lower quartile", "upper quartile", "trials"]];
  for (const { name, measured, predicted } of data.series) {
    const curve = new Map(predicted.map(({ x, y }) => [x, y]));
    const points = new Map(measured.map((point) => [point.x, point]));
    for (const x of [...new Set([...curve.keys(), ...points.keys()])].sort((a, b) => a - b)) {
      const { median, low, high, trials } = points.get(x) ?? {};
      lines.push([name, ...[x, curve.get(x), median, low, high, trials].map((value) => String(value ?? ""))]);
    }
  }
  return lines.map((cells) => `${cells.map(quoted).join(",")}\r\n`).join("");
}

function quoted(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

function shapes(data: ChartData): Shape[] {
  const top = MARGIN.top + limitsHeight(data);
  const frame: Frame = {
    left: MARGIN.left,
    top,
    right: WIDTH - MARGIN.right,
    bottom: HEIGHT - MARGIN.bottom,
    x: mapping(data.x, MARGIN.left, WIDTH - MARGIN.right),
    y: mapping(data.y, HEIGHT - MARGIN.bottom, top),
  };
  return [
    {
      kind: "path",
      points: [
        [0, 0],
        [WIDTH, 0],
        [WIDTH, HEIGHT],
        [0, HEIGHT],
      ],
      closed: true,
      fill: PAPER.surface,
    },
    { kind: "text", at: [24, 34], text: data.title, size: 19, weight: 600, fill: PAPER.text },
    { kind: "text", at: [24, 56], text: data.setting, size: 13, fill: PAPER.muted },
    ...axes(data, frame),
    ...levels(data, frame, PAPER),
    ...lines(data, frame, PAPER),
    ...marks(data, frame, PAPER),
    ...limits(data, frame, PAPER),
    ...labels(data, frame, PAPER),
    {
      kind: "text",
      at: [24, HEIGHT - 18],
      text: "Marks and lines: medians of trials. Bands: quartiles. Dashed: predicted. Hatched: noise wins.",
      size: 12,
      fill: PAPER.muted,
    },
  ];
}

function mapping({ log, range: [from, to] }: Axis, start: number, end: number): (value: number) => number {
  const scale = log ? Math.log : Number;
  return (value) => start + ((scale(value) - scale(from)) / (scale(to) - scale(from))) * (end - start);
}

function axes({ x, y }: ChartData, frame: Frame): Shape[] {
  const { left, right, top, bottom } = frame;
  const muted = { fill: PAPER.muted, size: 12 };
  const middle = [(left + right) / 2, (top + bottom) / 2] as const;
  return [
    ...ticks(x, 12).flatMap((value): Shape[] => [
      {
        kind: "path",
        points: [
          [frame.x(value), top],
          [frame.x(value), bottom],
        ],
        stroke: PAPER.line,
      },
      { kind: "text", at: [frame.x(value), bottom + 19], text: number(value), anchor: "middle", ...muted },
    ]),
    ...ticks(y, 10).flatMap((value): Shape[] => [
      {
        kind: "path",
        points: [
          [left, frame.y(value)],
          [right, frame.y(value)],
        ],
        stroke: PAPER.line,
      },
      { kind: "text", at: [left - 9, frame.y(value) + 4], text: number(value), anchor: "end", ...muted },
    ]),
    { kind: "text", at: [middle[0], bottom + 44], text: x.label, anchor: "middle", size: 13, fill: PAPER.text },
    { kind: "text", at: [28, middle[1]], text: y.label, anchor: "middle", upright: true, size: 13, fill: PAPER.text },
  ];
}

/** The band between the quartiles, the line of medians and the predicted curve, where uPlot does not draw them. */
function lines({ series }: ChartData, frame: Frame, theme: Theme): Shape[] {
  const at = (x: number, y: number) => [frame.x(x), frame.y(y)] as const;
  const bands = series.map(({ style, measured }): Shape => {
    const high = measured.map((point) => at(point.x, point.high));
    const low = measured.map((point) => at(point.x, point.low)).reverse();
    return { kind: "path", points: [...high, ...low], closed: true, fill: theme.styles[style], opacity: BAND_OPACITY };
  });
  const curves = series.flatMap((one): Shape[] => {
    const stroke = theme.styles[one.style];
    return [
      { kind: "path", points: one.measured.map(({ x, median }) => at(x, median)), stroke, width: 2 },
      ...unbroken(one).map((part): Shape => {
        return { kind: "path", points: part.map(({ x, y }) => at(x, y)), stroke, width: 1.75, dash: DASHES[one.style] };
      }),
    ];
  });
  return [...bands, ...curves].filter((shape) => shape.kind === "path" && shape.points.length > 0);
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

/** The names of the series at the right ends of their lines, apart from each other. */
function labels({ series }: ChartData, frame: Frame, theme: Theme): Shape[] {
  const placed = series
    .flatMap((one) => {
      const end = lineEnd(one);
      return end === undefined ? [] : [{ one, y: Math.min(frame.bottom, Math.max(frame.top, frame.y(end))) }];
    })
    .sort((a, b) => a.y - b.y);
  let last = -Infinity;
  for (const label of placed) {
    label.y = Math.max(label.y, last + LABEL_HEIGHT);
    last = label.y;
  }
  let next = frame.bottom + LABEL_HEIGHT / 2;
  for (const label of placed.toReversed()) {
    label.y = Math.min(label.y, next);
    next = label.y - LABEL_HEIGHT;
  }
  return placed.map(({ one, y }) => ({
    kind: "text",
    at: [frame.right + 10, y + 4],
    text: one.name,
    size: 13,
    weight: 600,
    fill: theme.styles[one.style],
  }));
}

const LABEL_HEIGHT = 17;

/** The last value of a series. */
function lineEnd({ measured, predicted }: Series): number | undefined {
  return measured.at(-1)?.median ?? predicted.at(-1)?.y;
}
