// The few shapes of charts, and how they are drawn as SVG: the same in the page and in its files.

const SVG = "http://www.w3.org/2000/svg";
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
/** The approximate width of a letter in a small text. */
export const LETTER = 6.9;

/** A colour by its name in the style sheet: `--blue`. */
export type Color = "text" | "muted" | "line" | "surface" | "blue" | "orange" | "purple" | "green" | "grey";

/** Pixels from the left and from the top. */
export type Place = readonly [number, number];

/** The box of a plot in pixels, and how numbers lie in it. */
export interface Frame {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
  x(value: number): number;
  y(value: number): number;
}

/** An element of SVG. Attributes that it could have and has not are undefined. */
export interface Shape {
  readonly name: "path" | "text";
  readonly fill: Color | undefined;
  readonly stroke: Color | undefined;
  readonly attributes: Attributes;
  readonly text?: string;
}

type Attributes = Readonly<Record<string, string | number | undefined>>;

interface PathLook {
  readonly closed?: boolean;
  /** Every two points are a line of their own. */
  readonly apart?: boolean;
  readonly fill?: Color;
  readonly stroke?: Color;
  readonly width?: number;
  readonly dash?: readonly number[];
  readonly opacity?: number;
}

export function path(points: readonly Place[], look: PathLook): Shape {
  const { closed, apart, fill, stroke, width, dash, opacity } = look;
  const step = (index: number) => (index === 0 || (apart && index % 2 === 0) ? "M" : "L");
  const d = points.map(([x, y], index) => `${step(index)}${short(x)} ${short(y)}`).join("") + (closed ? "Z" : "");
  const attributes = { d, "stroke-width": width, "stroke-dasharray": dash?.join(" "), opacity };
  return { name: "path", fill, stroke, attributes };
}

export function box(left: number, top: number, right: number, bottom: number): Place[] {
  return [
    [left, top],
    [right, top],
    [right, bottom],
    [left, bottom],
  ];
}

interface TextLook {
  readonly size: number;
  readonly fill: Color;
  readonly anchor?: "start" | "middle" | "end";
  readonly weight?: 400 | 600;
  /** Upwards, around its place. */
  readonly upright?: boolean;
  /** A rim that keeps it readable over lines. */
  readonly halo?: Color;
}

export function text([x, y]: Place, words: string, look: TextLook): Shape {
  const { size, fill, anchor, weight, upright, halo } = look;
  const attributes = {
    x: upright ? undefined : short(x),
    y: upright ? undefined : short(y),
    transform: upright ? `translate(${short(x)} ${short(y)}) rotate(-90)` : undefined,
    "font-size": size,
    "text-anchor": anchor,
    "font-weight": weight,
    "stroke-width": halo && 4,
    "paint-order": halo && "stroke",
  };
  return { name: "text", fill, stroke: halo, attributes, text: words };
}

/** The radius of a mark, in pixels. */
const RADIUS = 4;

/** A mark around a point, in the colour of its series with a rim of the surface. Its corners are in radii. */
export function mark(corners: readonly Place[], [x, y]: Place, fill: Color): Shape {
  const points = corners.map(([dx, dy]): Place => [x + RADIUS * dx, y + RADIUS * dy]);
  return path(points, { closed: true, fill, stroke: "surface", width: 1 });
}

/** Slanted lines through a box, each cut at its sides. */
export function hatching(left: number, top: number, right: number, bottom: number, stroke: Color): Shape {
  const height = bottom - top;
  const points: Place[] = [];
  for (let foot = left - height + 6; foot < right; foot += 6) {
    const from = Math.max(left, foot);
    const to = Math.min(right, foot + height);
    if (to > from) points.push([from, bottom - (from - foot)], [to, bottom - (to - foot)]);
  }
  return path(points, { apart: true, stroke, width: 1 });
}

/** A new element of SVG with these attributes and this content. */
export function drawn(name: string, attributes: Attributes = {}, ...content: readonly (Node | string)[]): SVGElement {
  const made = document.createElementNS(SVG, name) as SVGElement;
  set(made, attributes);
  made.append(...content);
  return made;
}

/** A picture without shapes yet. */
export function picture(): SVGSVGElement {
  return drawn("svg", { "font-family": FONT, "stroke-linejoin": "round" }) as SVGSVGElement;
}

/** Makes `shapes` the whole content of a picture. What is there already changes only where it differs. */
export function draw(
  svg: SVGSVGElement,
  [width, height]: readonly [number, number],
  shapes: readonly Shape[],
  color = (name: Color) => `var(--${name})`,
): void {
  set(svg, { width, height, viewBox: `0 0 ${width} ${height}` });
  for (const [index, { name, fill, stroke, attributes, text }] of shapes.entries()) {
    const old = svg.children[index];
    const element = old?.nodeName === name ? old : drawn(name);
    if (element !== old) svg.insertBefore(element, old ?? null);
    set(element, { fill: fill ? color(fill) : "none", stroke: stroke && color(stroke), ...attributes });
    if (text !== undefined && element.textContent !== text) element.textContent = text;
  }
  while (svg.children.length > shapes.length) svg.lastElementChild!.remove();
}

function set(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined) element.removeAttribute(name);
    else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, String(value));
  }
}

function short(value: number): number {
  return Math.round(value * 100) / 100;
}
