// Components as bars with names.

import type { Recovery } from "./aggregator.js";
import { make } from "./dom.js";
import { number } from "./format.js";

const SHOWN = 8;

/** One list per component: its largest weights, each with a bar to the left (negative) or to the right (positive). */
export function componentLists(recovery: Recovery): HTMLElement[] {
  const longest = Math.max(...recovery.components.flat().map(Math.abs));
  return recovery.components.map((weights, index) => {
    const eigenvalue = recovery.eigenvalues[index]!;
    const sure = recovery.variances ? recovery.variances[index] !== null : eigenvalue > recovery.noise_edge;
    const strength = `Strength ${number(eigenvalue)}${sure ? "" : ": no stronger than noise"}`;
    const ordered = weights
      .map((weight, feature) => ({ weight, name: recovery.feature_names[feature]! }))
      .sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight))
      .slice(0, SHOWN);
    return make(
      "article",
      { className: sure ? "" : "noise" },
      make("h4", {}, `Pattern ${index + 1}`),
      make("p", { className: "strength" }, strength),
      make("ul", {}, ...ordered.map(({ name, weight }) => bar(name, weight, weight / longest))),
    );
  });
}

/** `length` is from -1 to 1, in lengths of the longest bar. */
function bar(name: string, weight: number, length: number): HTMLElement {
  const track = make("span", { className: weight < 0 ? "track negative" : "track positive", ariaHidden: "true" });
  track.style.setProperty("--length", String(Math.abs(length)));
  const value = weight.toFixed(2).replace("-", "−");
  return make("li", {}, make("span", { className: "name" }, name), track, make("span", { className: "value" }, value));
}
