// Components as bars with names.

import type { Recovery } from "./aggregator.js";
import { make } from "./dom.js";
import { number } from "./format.js";

const SHOWN = 8;
/** The most features that name a pattern, and how large they are beside the largest. */
const NAMING = 5;
const LARGE = 0.5;

/** A pattern's strongest features, those of the other sign after "against". */
export function patternName(weights: readonly number[], names: readonly string[]): string {
  const strongest = byWeight(weights, names).slice(0, NAMING);
  const first = strongest[0]!.weight;
  const large = strongest.filter(({ weight }) => Math.abs(weight) >= LARGE * Math.abs(first));
  const side = (same: boolean) =>
    large.flatMap(({ name, weight }) => (weight * first > 0 === same ? name : [])).join(", ");
  return [side(true), side(false)].filter((names) => names !== "").join(", against ");
}

/** One list per component: its largest weights, each with a bar to the left (negative) or to the right (positive). */
export function componentLists(recovery: Recovery): HTMLElement[] {
  const longest = Math.max(...recovery.components.flat().map(Math.abs));
  return recovery.components.map((weights, index) => {
    const eigenvalue = recovery.eigenvalues[index]!;
    const sure = recovery.variances ? recovery.variances[index] !== null : eigenvalue > recovery.noise_edge;
    const strength = `Strength ${number(eigenvalue)}${sure ? "" : ": no stronger than noise"}`;
    const ordered = byWeight(weights, recovery.feature_names).slice(0, SHOWN);
    const name = sure ? `: ${patternName(weights, recovery.feature_names)}` : "";
    return make(
      "article",
      { className: sure ? "" : "noise" },
      make("h4", {}, `Pattern ${index + 1}${name}`),
      make("p", { className: "strength" }, strength),
      make("ul", {}, ...ordered.map(({ name, weight }) => bar(name, weight, weight / longest))),
    );
  });
}

function byWeight(weights: readonly number[], names: readonly string[]): { weight: number; name: string }[] {
  return weights
    .map((weight, feature) => ({ weight, name: names[feature]! }))
    .sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight));
}

/** `length` is from -1 to 1, in lengths of the longest bar. */
export function bar(name: string, weight: number, length: number): HTMLElement {
  const track = make("span", { className: weight < 0 ? "track negative" : "track positive", ariaHidden: "true" });
  track.style.setProperty("--length", String(Math.abs(length)));
  const value = weight.toFixed(2).replace("-", "−");
  return make("li", {}, make("span", { className: "name" }, name), track, make("span", { className: "value" }, value));
}
