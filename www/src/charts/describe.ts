// A chart in words: for readers who cannot see it, and for the description in its files.

import type { ChartData } from "./model.js";
import { REFUSED, type Series } from "./series.js";
import { about } from "./ticks.js";
import { number } from "../format.js";

/** A description of the chart in a few sentences. */
export function describe(data: ChartData): string {
  const { x, y, series, limits, levels } = data;
  const axes = x.log && y.log ? ", on logarithmic axes" : "";
  const sentences = [
    `${y.label}, against ${x.label} from ${number(x.range[0])} to ${number(x.range[1])}${axes}.`,
    data.setting,
    ...series.flatMap((one) => [course(one, x.symbol), one.note ?? ""]),
    ...limits.map((limit) =>
      limit.x > x.range[1]
        ? `${limit.name}: noise drowns the components everywhere on this axis.`
        : `${limit.name}: noise drowns the components up to ${x.symbol} of about ${about(limit.x)}.`,
    ),
    ...levels.map(({ name, y }) => `${capitalized(name)}: ${number(y)}.`),
  ];
  return sentences.filter((sentence) => sentence !== "").join(" ");
}

function course({ name, measured, predicted }: Series, symbol: string): string {
  const ends = (values: readonly { x: number; value: number }[]) => {
    const [first, last] = [values[0]!, values.at(-1)!];
    const [from, to] = [first, last].map(({ x, value }) => `${number(value)} at ${symbol} = ${number(x)}`);
    return `${from} to ${to}`;
  };
  const parts: string[] = [];
  if (measured.length > 0) {
    const least = Math.min(...measured.map(({ trials }) => trials));
    const trials = `${least === 1 ? "1 trial" : `${least} trials`} or more`;
    parts.push(
      `simulated from ${ends(measured.map(({ x, median }) => ({ x, value: median })))} (medians of ${trials})`,
    );
  }
  if (predicted.length > 0) parts.push(`predicted from ${ends(predicted.map(({ x, y }) => ({ x, value: y })))}`);
  return parts.length > 0 ? `${name}: ${parts.join("; ")}.` : "";
}

/** The numbers of all series at one place of the x-axis, one text for each series. */
export function valuesAt(data: ChartData, x: number): { series: Series; text: string }[] {
  return data.series.map((series) => {
    const point = series.measured.find((point) => point.x === x);
    const predicted = series.predicted.find((point) => point.x === x);
    const parts = [
      point ? `${number(point.median)} (${number(point.low)} to ${number(point.high)})` : "",
      predicted ? `predicted ${number(predicted.y)}` : "",
    ];
    const nothing = series.refused?.includes(x) ? REFUSED : "nothing yet";
    return { series, text: parts.filter((part) => part !== "").join(", ") || nothing };
  });
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
