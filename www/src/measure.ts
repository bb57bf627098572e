// How good a result is, and which of its two measures charts show: the share of the structure that it finds
// (docs/guides/how-many-people.md), or the error ‖sin Θ‖².

import { type Axis, roundedRange } from "./charts/axis.js";
import type { Level } from "./charts/model.js";
import { heights, type Series } from "./charts/series.js";

export const MEASURES = ["share", "error"] as const;
export type Measure = (typeof MEASURES)[number];

/** What the lab says of a result or of a prediction. */
export interface Quality {
  readonly sinThetaSquared: number;
  readonly shareFound?: number | null;
}

/** The size of a subspace, and of the space around it. */
export interface Size {
  readonly dimension: number;
  readonly rank: number;
}

/** The error of a random subspace. */
export function uninformed({ dimension, rank }: Size): number {
  return rank * (1 - rank / dimension);
}

/** The share of the structure that is found; where the lab does not give it, that of components of equal variance. */
export function shareFound({ sinThetaSquared, shareFound }: Quality, size: Size): number {
  return shareFound ?? 1 - sinThetaSquared / uninformed(size);
}

/** A result on the axis of its measure. */
export function height(measure: Measure, quality: Quality, size: Size): number {
  return measure === "share" ? 100 * shareFound(quality, size) : quality.sinThetaSquared;
}

export const TITLES = { share: "Structure found", error: "Error" } as const;

/** The upright axis of these series, and its levels. */
export function upright(measure: Measure, series: readonly Series[], size: Size): { y: Axis; levels: Level[] } {
  if (measure === "share") {
    return { y: { label: "structure found, %", symbol: "share", scale: "linear", range: [0, 100] }, levels: [] };
  }
  const nothing = uninformed(size);
  // With room for the words above the highest line.
  const range = roundedRange([...heights(series), 1.4 * nothing]);
  const y = { label: "error ‖sin Θ‖²", symbol: "error", scale: "log", range } as const;
  return { y, levels: [{ name: "knowing nothing", y: nothing }] };
}
