// The few shapes of charts, and how a canvas draws them. SVG is in svg.ts.

import { FONT, type Mark } from "./theme.js";

export type Shape =
  | {
      readonly kind: "path";
      readonly points: readonly (readonly [number, number])[];
      readonly closed?: boolean;
      /** Every two points are a line of their own. */
      readonly apart?: boolean;
      readonly stroke?: string;
      readonly width?: number;
      readonly dash?: readonly number[];
      readonly fill?: string;
      readonly opacity?: number;
    }
  | {
      readonly kind: "text";
      readonly at: readonly [number, number];
      readonly text: string;
      readonly size: number;
      readonly fill: string;
      readonly anchor?: "start" | "middle" | "end";
      readonly weight?: 400 | 600;
      /** Upwards, around `at`. */
      readonly upright?: boolean;
      /** A rim that keeps it readable over lines. */
      readonly halo?: string;
    };

const SIDES = 20;

/** A mark of `size` pixels around a point, in the colour of its series with a rim of the surface. */
export function mark(kind: Mark, [x, y]: readonly [number, number], size: number, fill: string, rim: string): Shape {
  const radius = size / 2;
  const corners: Record<Mark, readonly (readonly [number, number])[]> = {
    circle: Array.from({ length: SIDES }, (_, index) => {
      const angle = (2 * Math.PI * index) / SIDES;
      return [Math.cos(angle), Math.sin(angle)] as const;
    }),
    square: [
      [-0.88, -0.88],
      [0.88, -0.88],
      [0.88, 0.88],
      [-0.88, 0.88],
    ],
    triangle: [
      [0, -1.2],
      [1.1, 0.8],
      [-1.1, 0.8],
    ],
    inverted: [
      [0, 1.2],
      [1.1, -0.8],
      [-1.1, -0.8],
    ],
    diamond: [
      [0, -1.2],
      [1.2, 0],
      [0, 1.2],
      [-1.2, 0],
    ],
  };
  const points = corners[kind].map(([dx, dy]) => [x + radius * dx, y + radius * dy] as const);
  return { kind: "path", points, closed: true, fill, stroke: rim, width: 1 };
}

/** Slanted lines through a box, each cut at its sides. */
export function hatching(left: number, top: number, right: number, bottom: number, stroke: string): Shape {
  const height = bottom - top;
  const points: [number, number][] = [];
  for (let foot = left - height + 6; foot < right; foot += 6) {
    const from = Math.max(left, foot);
    const to = Math.min(right, foot + height);
    if (to > from) points.push([from, bottom - (from - foot)], [to, bottom - (to - foot)]);
  }
  return { kind: "path", points, apart: true, stroke, width: 1 };
}

/** Draws on a canvas whose context is scaled to CSS pixels. */
export function paint(context: CanvasRenderingContext2D, shapes: readonly Shape[]): void {
  for (const shape of shapes) {
    context.save();
    if (shape.kind === "path") paintPath(context, shape);
    else paintText(context, shape);
    context.restore();
  }
}

function paintPath(context: CanvasRenderingContext2D, shape: Shape & { kind: "path" }): void {
  context.beginPath();
  for (const [index, [x, y]] of shape.points.entries()) {
    if (shape.apart && index % 2 === 0) context.moveTo(x, y);
    else context.lineTo(x, y);
  }
  if (shape.closed) context.closePath();
  context.globalAlpha = shape.opacity ?? 1;
  if (shape.fill) {
    context.fillStyle = shape.fill;
    context.fill();
  }
  if (shape.stroke) {
    context.strokeStyle = shape.stroke;
    context.lineWidth = shape.width ?? 1;
    context.lineJoin = "round";
    context.setLineDash([...(shape.dash ?? [])]);
    context.stroke();
  }
}

function paintText(context: CanvasRenderingContext2D, shape: Shape & { kind: "text" }): void {
  context.translate(...shape.at);
  if (shape.upright) context.rotate(-Math.PI / 2);
  context.font = `${shape.weight ?? 400} ${shape.size}px ${FONT}`;
  context.textAlign = ({ start: "left", middle: "center", end: "right" } as const)[shape.anchor ?? "start"];
  if (shape.halo) {
    context.strokeStyle = shape.halo;
    context.lineWidth = 4;
    context.lineJoin = "round";
    context.strokeText(shape.text, 0, 0);
  }
  context.fillStyle = shape.fill;
  context.fillText(shape.text, 0, 0);
}
