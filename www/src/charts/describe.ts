// A chart in words: for readers who cannot see it, and for the description in its files.

import type { ChartData } from "./model.js";
import { cells, parts, type Series, type Style } from "./series.js";
import { about, number } from "../format.js";

/** A description of the chart in a few sentences. */
export function describe(data: ChartData): string {
  const { x, y, series, limits, levels } = data;
  const axes = x.scale === "log" && y.scale === "log" ? ", on logarithmic axes" : "";
  const sentences = [
    `${y.label}, against ${x.label} from ${number(x.range[0])} to ${number(x.range[1])}${axes}.`,
    data.setting,
    ...series.flatMap((one) => [course(one, x.symbol), one.note ?? ""]),
    ...limits.map((limit) =>
      limit.x > x.range[1]
        ? `${limit.name}: noise drowns the components everywhere on this axis.`
        : `${limit.name}: noise drowns the components up to ${x.symbol} of about ${about(limit.x)}.`,
    ),
    ...levels.map(({ name, y }) => `${name.charAt(0).toUpperCase()}${name.slice(1)}: ${number(y)}.`),
  ];
  return sentences.filter((sentence) => sentence !== "").join(" ");
}

function course(one: Series, symbol: string): string {
  const said = parts(one).flatMap((part) => {
    const ends = [...part.points.slice(0, 1), ...part.points.slice(-1)];
    const texts = ends.map(({ x }) => `${cells(part, x)[0]} at ${symbol} = ${number(x)}`);
    return texts.length > 0 ? part.course(`from ${texts.join(" to ")}`) : [];
  });
  return said.length > 0 ? `${one.name}: ${said.join("; ")}.` : "";
}

/** What each series has at one place of the x-axis, in words. */
export function valuesAt({ series }: ChartData, x: number): { style: Style; text: string }[] {
  return series.map((one) => {
    const said = parts(one).flatMap((part) => {
      const own = cells(part, x);
      return own[0] ? part.value(own) : [];
    });
    return { style: one.style, text: `${one.name} ${said.join(", ") || "nothing yet"}` };
  });
}
