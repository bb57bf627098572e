// The mechanisms that the page compares, and their style in charts.

import type { MechanismInput } from "ldp-pca/lab";

import type { Style } from "./charts/series.js";

export type MechanismName = MechanismInput["type"];
export const MECHANISMS: readonly MechanismName[] = ["double-cap", "gaussian", "wang-xu"];

export const NAMES: Readonly<Record<MechanismName, string>> = {
  "double-cap": "Double-cap",
  gaussian: "Gaussian",
  "wang-xu": "Wang & Xu",
};

export const STYLES: Readonly<Record<MechanismName, Style>> = {
  "double-cap": "blue",
  gaussian: "orange",
  "wang-xu": "purple",
};

/** A mechanism as the lab takes it: double-cap has no delta. */
export function mechanism(type: MechanismName, epsilon: number, delta: number): MechanismInput {
  return type === "double-cap" ? { type, epsilon } : { type, epsilon, delta };
}
