// The shapes of charts as SVG, for files alone.

import type { Shape } from "./shapes.js";
import { FONT } from "./theme.js";

/** A complete, self-contained SVG document. */
export function svgDocument(
  shapes: readonly Shape[],
  { width, height, title, description }: { width: number; height: number; title: string; description: string },
): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`,
    `  role="img" font-family="${escaped(FONT)}" stroke-linejoin="round">`,
    `<title>${escaped(title)}</title>`,
    `<desc>${escaped(description)}</desc>`,
    ...shapes.map(svgShape),
    "</svg>\n",
  ].join("\n");
}

function svgShape(shape: Shape): string {
  return shape.kind === "path" ? svgPath(shape) : svgText(shape);
}

function svgPath({ points, closed, apart, fill, stroke, width, dash, opacity }: Shape & { kind: "path" }): string {
  const step = (index: number) => (index === 0 || (apart && index % 2 === 0) ? "M" : "L");
  const d = points.map(([x, y], index) => `${step(index)}${short(x)} ${short(y)}`).join("") + (closed ? "Z" : "");
  return element("path", {
    d,
    fill: fill ?? "none",
    stroke,
    "stroke-width": width,
    "stroke-dasharray": dash?.join(" "),
    opacity,
  });
}

function svgText({ at: [x, y], text, size, fill, anchor, weight, upright, halo }: Shape & { kind: "text" }): string {
  const place = upright
    ? { transform: `translate(${short(x)} ${short(y)}) rotate(-90)` }
    : { x: short(x), y: short(y) };
  const rim = halo ? { stroke: halo, "stroke-width": 4, "paint-order": "stroke" } : {};
  return element(
    "text",
    { ...place, "font-size": size, fill, "text-anchor": anchor, "font-weight": weight, ...rim },
    text,
  );
}

function element(name: string, attributes: Record<string, string | number | undefined>, text?: string): string {
  const given = Object.entries(attributes).filter(([, value]) => value !== undefined);
  const start = `<${name}${given.map(([key, value]) => ` ${key}="${escaped(String(value))}"`).join("")}`;
  return text === undefined ? `${start}/>` : `${start}>${escaped(text)}</${name}>`;
}

function short(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
