// The legend of a chart, in its own lines and marks.

import type { ChartData } from "./model.js";
import { parts, sample, SAMPLE } from "./series.js";
import { draw, picture } from "./shapes.js";
import { make } from "../dom.js";

/** Fills a list with a sample and a name for each series, unless it has them already. */
export function legend(list: HTMLElement, { series }: ChartData): void {
  const names = series.map((one) => [one.name, one.style, parts(one).map(({ points }) => points.length > 0)]).join();
  if (list.dataset["names"] === names) return;
  list.dataset["names"] = names;
  list.replaceChildren(
    ...series.map((one) => {
      const svg = picture();
      svg.setAttribute("aria-hidden", "true");
      draw(svg, SAMPLE, sample(one));
      return make("li", { className: one.style }, svg, one.name);
    }),
  );
}
