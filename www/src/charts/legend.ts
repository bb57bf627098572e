// The legend of a chart, in its own lines and marks.

import type { ChartData } from "./model.js";
import { parts, sample, SAMPLE } from "./series.js";
import { draw, picture } from "./shapes.js";

/** Fills a list with a sample and a name for each series, unless it has them already. */
export function legend(list: HTMLElement, { series }: ChartData): void {
  const names = series.map((one) => [one.name, one.style, parts(one).map(({ points }) => points.length > 0)]).join();
  if (list.dataset["names"] === names) return;
  list.dataset["names"] = names;
  list.replaceChildren(
    ...series.map((one) => {
      const item = document.createElement("li");
      item.className = one.style;
      const svg = picture();
      svg.setAttribute("aria-hidden", "true");
      draw(svg, SAMPLE, sample(one));
      item.append(svg, one.name);
      return item;
    }),
  );
}
