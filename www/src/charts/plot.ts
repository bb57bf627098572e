// The plot of a chart as shapes: axes, levels, series, and where noise drowns the components.

import { mapping, ticks } from "./axis.js";
import type { ChartData } from "./model.js";
import { plotted } from "./series.js";
import { box, type Frame, hatching, LETTER, path, type Place, type Shape, text } from "./shapes.js";
import { about, number } from "../format.js";

/** Pixels from one label to the next, at least. */
const X_ROOM = 62;
const Y_ROOM = 34;
/** The height of one row above the plot that shows where noise drowns the components. */
const LIMIT_ROW = 18;
/** The width of the plot from which the words are whole sentences. */
const WIDE = 420;

/** The plot in a box of this size, and the frame of its numbers. The box begins `above` pixels from the top. */
export function plot(
  data: ChartData,
  [width, height]: readonly [number, number],
  above = 0,
): { frame: Frame; shapes: Shape[] } {
  const rows = data.limits.length * LIMIT_ROW + (data.limits.length > 0 ? 6 : 0);
  const [left, right] = [78, width - 28];
  const [top, bottom] = [above + 12 + rows, above + height - 62];
  const frame = { left, right, top, bottom, x: mapping(data.x, left, right), y: mapping(data.y, bottom, top) };
  const rooms = (pixels: number, each: number) => Math.max(2, Math.floor(pixels / each));
  const shapes = [
    ...axes(data, frame, ticks(data.x, rooms(width - 80, X_ROOM)), ticks(data.y, rooms(height - 90, Y_ROOM))),
    ...levels(data, frame),
    ...plotted(data.series, frame),
    ...limits(data, frame),
  ];
  return { frame, shapes };
}

function axes({ x, y }: ChartData, frame: Frame, across: readonly number[], up: readonly number[]): Shape[] {
  const { left, right, top, bottom } = frame;
  // In the middle of a pixel a line is sharp.
  const sharp = (position: number) => Math.round(position) + 0.5;
  const line = (...points: Place[]) => path(points, { stroke: "line" });
  const muted = { fill: "muted", size: 12 } as const;
  const label = { fill: "text", size: 13, anchor: "middle" } as const;
  return [
    ...across.flatMap((value) => {
      const place = sharp(frame.x(value));
      const words = text([place, bottom + 19], number(value), { ...muted, anchor: "middle" });
      return [line([place, top], [place, bottom]), words];
    }),
    ...up.flatMap((value) => {
      const place = sharp(frame.y(value));
      const words = text([left - 9, place + 4], number(value), { ...muted, anchor: "end" });
      return [line([left, place], [right, place]), words];
    }),
    line([left, top], [left, bottom], [right, bottom]),
    text([(left + right) / 2, bottom + 44], x.label, label),
    text([left - 56, (top + bottom) / 2], y.label, { ...label, upright: true }),
  ];
}

function levels(data: ChartData, frame: Frame): Shape[] {
  const { left, right } = frame;
  return data.levels.flatMap(({ name, y }) => {
    const height = frame.y(y);
    return [
      path([[left, height], [right, height]], { stroke: "muted", dash: [1, 4], width: 1.5 }),
      text([right - 4, height - 7], name, { size: 12, anchor: "end", fill: "muted", halo: "surface" }),
    ];
  });
}

/** Above the plot a hatched bar for each series up to its threshold, and a line from there down through the plot. */
function limits(data: ChartData, frame: Frame): Shape[] {
  const { left, right } = frame;
  return data.limits.flatMap(({ name, style, x }, index) => {
    const top = frame.top - (data.limits.length - index) * LIMIT_ROW - 2;
    const bottom = top + LIMIT_ROW - 5;
    const end = frame.x(x);
    const never = x > data.x.range[1];
    const long = never ? `${name}: noise wins` : `${name}: noise wins up to ${data.x.symbol} ≈ ${about(x)}`;
    const words = right - left > WIDE ? long : never ? `${name}: all` : `${name} ≤ ${about(x)}`;
    const width = LETTER * words.length;
    const outside = right - end > width + 6;
    const start = outside ? end + 6 : Math.max(left, end - width - 12) + 8;
    const down = path([[end, bottom], [end, frame.bottom]], { stroke: style, dash: [1, 3], width: 1.5 });
    const plate = path(box(start - 4, top + 1, start + width, bottom - 1), { closed: true, fill: "surface" });
    return [
      hatching(left, top, end, bottom, style),
      path(box(left, top, end, bottom), { closed: true, stroke: style }),
      ...(never ? [] : [down]),
      ...(outside ? [] : [plate]),
      text([start, bottom - 2.5], words, { size: 11.5, fill: "text", weight: 600 }),
    ];
  });
}
