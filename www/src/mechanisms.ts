// The mechanisms that the page compares, and their names and styles in charts.

import type { MechanismInput } from "ldp-pca/lab";

import type { Style } from "./charts/series.js";

export type MechanismName = MechanismInput["type"];

export const LOOKS: Readonly<Record<MechanismName, { readonly name: string; readonly style: Style }>> = {
  "double-cap": { name: "Double-cap", style: "blue" },
  gaussian: { name: "Gaussian", style: "orange" },
  "wang-xu": { name: "Wang & Xu", style: "purple" },
};
export const MECHANISMS = Object.keys(LOOKS) as MechanismName[];

/** A mechanism as the lab takes it: double-cap has no delta. */
export function mechanism(type: MechanismName, epsilon: number, delta: number): MechanismInput {
  return type === "double-cap" ? { type, epsilon } : { type, epsilon, delta };
}
