// The legend of a chart, in its own lines and marks.

import type { ChartData, Style } from "./model.js";
import { mark } from "./shapes.js";
import { DASHES, MARKS } from "./theme.js";

const SVG = "http://www.w3.org/2000/svg";

/** Fills a list with a sample and a name for each series, unless it has them already. */
export function legend(list: HTMLElement, { series }: ChartData): void {
  const shown = (points: readonly unknown[]) => points.length > 0;
  const names = series
    .map(({ name, style, measured, predicted }) => `${name} ${style} ${shown(measured)} ${shown(predicted)}`)
    .join();
  if (list.dataset["names"] === names) return;
  list.dataset["names"] = names;
  list.replaceChildren(
    ...series.map(({ name, style, measured, predicted }) => {
      const item = document.createElement("li");
      item.className = style;
      item.append(sample(style, shown(measured), shown(predicted)), name);
      return item;
    }),
  );
}

/** The line, the mark and the dashes of a series. Colours are the style sheet's. */
function sample(style: Style, measured: boolean, predicted: boolean): SVGElement {
  const svg = svgElement("svg", { viewBox: "0 0 44 20", width: "44", height: "20", "aria-hidden": "true" });
  if (measured) {
    svg.append(svgElement("path", { class: "band", d: "M0 2H44V12H0Z" }));
    svg.append(svgElement("path", { class: "line", d: "M0 7H44" }));
    const shape = mark(MARKS[style], [22, 7], 8, "", "");
    if (shape.kind === "path") svg.append(svgElement("path", { class: "mark", d: `M${shape.points.join("L")}Z` }));
  }
  if (predicted) {
    const d = measured ? "M0 16H44" : "M0 10H44";
    svg.append(svgElement("path", { class: "line", d, "stroke-dasharray": DASHES[style].join(" ") }));
  }
  return svg;
}

function svgElement(name: string, attributes: Record<string, string>): SVGElement {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}
