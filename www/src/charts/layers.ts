// The parts of a chart as shapes, over any mapping from numbers to pixels.

import type { ChartData } from "./model.js";
import { hatching, mark, type Shape } from "./shapes.js";
import { MARKS, type Theme } from "./theme.js";
import { about } from "./ticks.js";

/** The box of the plot in pixels, and how numbers lie in it. */
export interface Frame {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
  x(value: number): number;
  y(value: number): number;
}

/** The height of one row above the plot that shows where noise drowns the components. */
export const LIMIT_ROW = 18;

/** The room that limits take above the plot. */
export function limitsHeight(data: ChartData): number {
  return data.limits.length * LIMIT_ROW + (data.limits.length > 0 ? 6 : 0);
}

/** The width of the plot from which the words are whole sentences. */
const WIDE = 420;
/** The approximate width of a letter in them. */
const LETTER = 6.9;

/** Above the plot a hatched bar for each series up to its threshold, and a line from there down through the plot. */
export function limits(data: ChartData, frame: Frame, theme: Theme): Shape[] {
  return data.limits.flatMap(({ name, style, x }, index) => {
    const color = theme.styles[style];
    const top = frame.top - (data.limits.length - index) * LIMIT_ROW - 2;
    const bottom = top + LIMIT_ROW - 5;
    const end = Math.min(frame.right, Math.max(frame.left, frame.x(x)));
    const never = x > data.x.range[1];
    const long = never ? `${name}: noise wins` : `${name}: noise wins up to ${data.x.symbol} ≈ ${about(x)}`;
    const text = frame.right - frame.left > WIDE ? long : never ? `${name}: all` : `${name} ≤ ${about(x)}`;
    const width = LETTER * text.length;
    const outside = frame.right - end > width + 6;
    const start = outside ? end + 6 : Math.max(frame.left, end - width - 12) + 8;
    const bar = [
      [frame.left, top],
      [end, top],
      [end, bottom],
      [frame.left, bottom],
    ] as const;
    const plate = [
      [start - 4, top + 1],
      [start + width, top + 1],
      [start + width, bottom - 1],
      [start - 4, bottom - 1],
    ] as const;
    return [
      hatching(frame.left, top, end, bottom, color),
      { kind: "path", points: bar, closed: true, stroke: color },
      ...(never
        ? []
        : [
            {
              kind: "path",
              points: [
                [end, bottom],
                [end, frame.bottom],
              ],
              stroke: color,
              dash: [1, 3],
              width: 1.5,
            },
          ]),
      ...(outside ? [] : [{ kind: "path", points: plate, closed: true, fill: theme.surface }]),
      { kind: "text", at: [start, bottom - 2.5], text, size: 11.5, fill: theme.text, weight: 600 },
    ] as Shape[];
  });
}

export function levels(data: ChartData, frame: Frame, theme: Theme): Shape[] {
  return data.levels.flatMap(({ name, y }): Shape[] => {
    const height = frame.y(y);
    return [
      {
        kind: "path",
        points: [
          [frame.left, height],
          [frame.right, height],
        ],
        stroke: theme.muted,
        dash: [1, 4],
        width: 1.5,
      },
      {
        kind: "text",
        at: [frame.right - 4, height - 7],
        text: name,
        size: 12,
        anchor: "end",
        fill: theme.muted,
        halo: theme.surface,
      },
    ];
  });
}

export function marks({ series }: ChartData, frame: Frame, theme: Theme): Shape[] {
  return series.flatMap(({ style, measured }) =>
    measured.map(({ x, median }) =>
      mark(MARKS[style], [frame.x(x), frame.y(median)], 8, theme.styles[style], theme.surface),
    ),
  );
}

export const BAND_OPACITY = 0.17;
