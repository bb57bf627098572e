// A chart on the screen: uPlot draws bands, lines and axes, and the rest is drawn over them.

import type uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { BAND_OPACITY, type Frame, levels, limits, limitsHeight, marks } from "./layers.js";
import type { ChartData } from "./model.js";
import { paint } from "./shapes.js";
import { DASHES, FONT, screenTheme, type Theme } from "./theme.js";
import { ticks } from "./ticks.js";
import { number } from "../format.js";

const TICK_FONT = `12px ${FONT}`;
const LABEL_FONT = `13px ${FONT}`;
/** Pixels from one label to the next, at least. */
const X_ROOM = 62;
const Y_ROOM = 34;

let Plot: typeof uPlot;

/** Loads uPlot before there is a chart, apart from the other scripts, so that the page stays responsive. */
export async function loadPlots(): Promise<void> {
  Plot = (await import("uplot")).default;
}

export class Screen {
  readonly #holder: HTMLElement;
  #plot: uPlot | undefined;
  #data: ChartData | undefined;
  /** Settings that only a new uPlot can change. */
  #shape = "";
  #theme: Theme;

  constructor(holder: HTMLElement) {
    this.#holder = holder;
    this.#theme = screenTheme();
    new ResizeObserver(() => this.#fit()).observe(holder);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.#theme = screenTheme();
      this.#plot?.redraw(false, true);
    });
  }

  show(data: ChartData): void {
    this.#data = data;
    const { x, y, series } = data;
    const shape = JSON.stringify([x, y, series.map(({ style }) => style), data.limits.length]);
    if (shape !== this.#shape) {
      this.#shape = shape;
      this.#plot?.destroy();
      this.#plot = new Plot(this.#options(data), aligned(data), this.#holder);
    } else {
      this.#plot!.setData(aligned(data), false);
      this.#plot!.redraw(true, false);
    }
  }

  /** Where a value of the x-axis is, in pixels from the left of the holder; and the height of the plot. */
  place(value: number): { left: number; top: number; height: number } {
    const { over } = this.#plot!;
    return {
      left: over.offsetLeft + this.#plot!.valToPos(value, "x"),
      top: over.offsetTop,
      height: over.offsetHeight,
    };
  }

  /** The value of the x-axis at this many pixels from the left of the holder. */
  value(left: number): number {
    return this.#plot!.posToVal(left - this.#plot!.over.offsetLeft, "x");
  }

  #size(): { width: number; height: number } {
    const width = Math.max(240, this.#holder.clientWidth);
    return { width, height: Math.round(Math.min(440, Math.max(300, width * 0.58))) };
  }

  #fit(): void {
    const { width } = this.#size();
    if (this.#plot && this.#plot.width !== width) this.#plot.setSize(this.#size());
  }

  #options(data: ChartData): uPlot.Options {
    const color = (style: ChartData["series"][number]["style"]) => () => this.#theme.styles[style];
    const hidden = { stroke: "transparent", width: 0, points: { show: false }, spanGaps: true };
    return {
      ...this.#size(),
      class: "uplot-chart",
      legend: { show: false },
      cursor: { show: false },
      // No axis has dates, and making their formats takes longer than drawing.
      fmtDate: () => () => "",
      select: { show: false, left: 0, top: 0, width: 0, height: 0 },
      padding: [12 + limitsHeight(data), 28, 4, 2],
      scales: { x: { time: false, ...scale(data.x) }, y: scale(data.y) },
      axes: [this.#axis(data, "x"), this.#axis(data, "y")],
      series: [
        {},
        ...data.series.flatMap(({ style }): uPlot.Series[] => [
          hidden,
          hidden,
          { stroke: color(style), width: 2, points: { show: false }, spanGaps: true },
          { stroke: color(style), width: 1.75, dash: [...DASHES[style]], points: { show: false } },
        ]),
      ],
      bands: data.series.map(({ style }, index) => ({
        series: [4 * index + 2, 4 * index + 1],
        fill: () => translucent(this.#theme.styles[style]),
      })),
      hooks: {
        drawAxes: [(plot) => this.#paint(plot, (frame) => levels(this.#data!, frame, this.#theme))],
        draw: [
          (plot) =>
            this.#paint(plot, (frame) => [
              ...marks(this.#data!, frame, this.#theme),
              ...limits(this.#data!, frame, this.#theme),
            ]),
        ],
      },
    };
  }

  #axis(data: ChartData, which: "x" | "y"): uPlot.Axis {
    const axis = data[which];
    const line = () => this.#theme.line;
    return {
      label: axis.label,
      labelFont: LABEL_FONT,
      labelSize: 24,
      font: TICK_FONT,
      size: which === "x" ? 34 : 52,
      gap: 6,
      stroke: () => this.#theme.muted,
      grid: { stroke: line, width: 1 },
      ticks: { show: false },
      border: { show: true, stroke: line, width: 1 },
      splits: () => {
        const { width, height } = this.#size();
        return ticks(axis, Math.max(2, Math.floor(which === "x" ? (width - 80) / X_ROOM : (height - 90) / Y_ROOM)));
      },
      values: (_, splits) => splits.map((value) => number(value)),
      // uPlot would leave some of a logarithmic axis out.
      filter: (_, splits) => splits,
    };
  }

  #paint(plot: uPlot, shapes: (frame: Frame) => Parameters<typeof paint>[1]): void {
    const { ctx, bbox } = plot;
    const ratio = Plot.pxRatio;
    const frame: Frame = {
      left: bbox.left / ratio,
      top: bbox.top / ratio,
      right: (bbox.left + bbox.width) / ratio,
      bottom: (bbox.top + bbox.height) / ratio,
      x: (value) => plot.valToPos(value, "x", true) / ratio,
      y: (value) => plot.valToPos(value, "y", true) / ratio,
    };
    ctx.save();
    ctx.scale(ratio, ratio);
    paint(ctx, shapes(frame));
    ctx.restore();
  }
}

function scale({ log, range: [from, to] }: ChartData["x"]): uPlot.Scale {
  return { distr: log ? 3 : 1, range: () => [from, to] };
}

/**
 * The series on one list of x: low, high, median and predicted of each. Where there is no prediction a curve is null in
 * its gaps, which uPlot leaves open, and undefined elsewhere.
 */
function aligned({ series }: ChartData): uPlot.AlignedData {
  const all = series.flatMap(({ measured, predicted, refused = [] }) => [
    ...[...measured, ...predicted].map(({ x }) => x),
    ...refused,
  ]);
  const xs = [...new Set(all)].sort((a, b) => a - b);
  const place = new Map(xs.map((x, index) => [x, index]));
  const columns = series.flatMap(({ measured, predicted, refused = [] }) => {
    const column = <P extends { x: number }>(points: readonly P[], value: (point: P) => number, none?: null) => {
      const values: (number | null | undefined)[] = xs.map(() => none);
      for (const point of points) values[place.get(point.x)!] = value(point);
      return values;
    };
    const curve = column(predicted, ({ y }) => y);
    for (const x of refused) {
      for (const step of [-1, 1]) {
        for (let at = place.get(x)!; at in curve && curve[at] == null; at += step) curve[at] = null;
      }
    }
    return [
      column(measured, ({ low }) => low, null),
      column(measured, ({ high }) => high, null),
      column(measured, ({ median }) => median, null),
      curve,
    ];
  });
  return [xs, ...columns];
}

/** A colour of the palette, which is written as #rrggbb. */
function translucent(color: string): string {
  return `${color}${Math.round(BAND_OPACITY * 255)
    .toString(16)
    .padStart(2, "0")}`;
}
