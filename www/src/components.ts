// Components as bars with names.

import type { Recovery } from "./aggregator.js";
import { number } from "./format.js";

const SHOWN = 8;

/** One list per component: its largest weights, each with a bar to the left (negative) or to the right (positive). */
export function componentLists(recovery: Recovery): HTMLElement[] {
  const longest = Math.max(...recovery.components.flat().map(Math.abs));
  return recovery.components.map((weights, index) => {
    const article = document.createElement("article");
    const title = document.createElement("h4");
    title.textContent = `Pattern ${index + 1}`;
    const strength = document.createElement("p");
    strength.className = "strength";
    const eigenvalue = recovery.eigenvalues[index]!;
    const sure = recovery.variances ? recovery.variances[index] !== null : eigenvalue > recovery.noise_edge;
    strength.textContent = `Strength ${number(eigenvalue)}${sure ? "" : ": no stronger than noise"}`;
    article.className = sure ? "" : "noise";
    const list = document.createElement("ul");
    const ordered = weights
      .map((weight, feature) => ({ weight, name: recovery.feature_names[feature]! }))
      .sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight))
      .slice(0, SHOWN);
    list.append(...ordered.map(({ name, weight }) => bar(name, weight, weight / longest)));
    article.append(title, strength, list);
    return article;
  });
}

/** `length` is from -1 to 1, in lengths of the longest bar. */
function bar(name: string, weight: number, length: number): HTMLElement {
  const item = document.createElement("li");
  const label = document.createElement("span");
  label.className = "name";
  label.textContent = name;
  const track = document.createElement("span");
  track.className = weight < 0 ? "track negative" : "track positive";
  track.setAttribute("aria-hidden", "true");
  track.style.setProperty("--length", String(Math.abs(length)));
  const value = document.createElement("span");
  value.className = "value";
  value.textContent = weight.toFixed(2).replace("-", "−");
  item.append(label, track, value);
  return item;
}
