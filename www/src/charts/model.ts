// The content of a chart: its axes, its series, and where noise drowns the components.

import type { Axis } from "./axis.js";
import { type Part, parts, type Series, type Style } from "./series.js";

/** Up to `x` noise drowns the components of a series: from the left end of the axis to the threshold. */
export interface Limit {
  readonly name: string;
  readonly style: Style;
  readonly x: number;
}

/** A horizontal line, such as the error of knowing nothing. */
export interface Level {
  readonly name: string;
  readonly y: number;
}

export interface ChartData {
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly series: readonly Series[];
  readonly limits: readonly Limit[];
  readonly levels: readonly Level[];
  /** What all series have in common, for exported files: "40 features, 3 components, …". */
  readonly setting: string;
}

/** For each kind of parts, those of all series. */
export function kinds({ series }: ChartData): Part[][] {
  const all = series.map(parts);
  return all[0]!.map((_, kind) => all.map((own) => own[kind]!));
}

/** The places of these parts on the x-axis, ascending. */
export function places(all: readonly Part[]): number[] {
  const found = all.flatMap(({ points }) => points.map(({ x }) => x));
  return [...new Set(found)].sort((a, b) => a - b);
}

/** The places of the first kind that has any: where something was measured, or else predicted. */
export function xValues(data: ChartData): number[] {
  return kinds(data).map(places).find((found) => found.length > 0) ?? [];
}
