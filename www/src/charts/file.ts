// A chart as a file: its picture with title, setting and legend as SVG, the same as PNG, and its numbers as CSV.

import { describe } from "./describe.js";
import { type ChartData, kinds, places } from "./model.js";
import { plot } from "./plot.js";
import { sample, SAMPLE } from "./series.js";
import { box, type Color, draw, drawn, LETTER, path, picture, type Shape, text } from "./shapes.js";
import { make } from "../dom.js";

const WIDTH = 960;
const HEIGHT = 600;
/** The rooms of the title, the setting and the legend above the plot, and of the key below it. */
const HEAD = 92;
const FOOT = 34;
/** Pixels of a PNG to one of these. */
const SCALE = 2;
/** The heads of columns that tables do not have. */
const HEADS: Readonly<Record<string, string>> = { low: "lower quartile", high: "upper quartile" };

/** The page's light colours: a file is for paper and slides, whatever the screen's are. */
const PAPER: Readonly<Record<Color, string>> = {
  text: "#1c2330",
  muted: "#586274",
  line: "#d5dae2",
  surface: "#ffffff",
  blue: "#1f5fa8",
  orange: "#c25a0a",
  purple: "#8a3f8f",
  green: "#1d6b45",
  grey: "#586274",
};

export type Format = "PNG" | "SVG" | "CSV";

/** The chart as a file of this format. */
export async function file(data: ChartData, format: Format): Promise<Blob> {
  if (format === "CSV") return new Blob([csv(data)], { type: "text/csv" });
  const svg = new Blob([svgDocument(data)], { type: "image/svg+xml" });
  return format === "SVG" ? svg : png(svg);
}

/** A complete, self-contained document. */
function svgDocument(data: ChartData): string {
  const svg = picture();
  draw(svg, [WIDTH, HEIGHT], shapes(data), (name) => PAPER[name]);
  svg.setAttribute("role", "img");
  const words = { desc: describe(data), title: data.title };
  for (const [name, content] of Object.entries(words)) svg.prepend(drawn(name, {}, content));
  return `${new XMLSerializer().serializeToString(svg).replaceAll("><", ">\n<")}\n`;
}

function shapes(data: ChartData): Shape[] {
  let left = 24;
  const legend = data.series.flatMap((one) => {
    const made = sample(one, [left, 68]);
    left += SAMPLE[0] + 8;
    made.push(text([left, 82], one.name, { size: 13, fill: "text" }));
    left += LETTER * one.name.length + 20;
    return made;
  });
  const key = kinds(data).map(([part]) => part!.key);
  return [
    path(box(0, 0, WIDTH, HEIGHT), { closed: true, fill: "surface" }),
    text([24, 34], data.title, { size: 19, weight: 600, fill: "text" }),
    text([24, 56], data.setting, { size: 13, fill: "muted" }),
    ...legend,
    ...plot(data, [WIDTH, HEIGHT - HEAD - FOOT], HEAD).shapes,
    text([24, HEIGHT - 18], key.join(" "), { size: 12, fill: "muted" }),
  ];
}

async function png(svg: Blob): Promise<Blob> {
  const url = URL.createObjectURL(svg);
  try {
    const image = new Image();
    await new Promise((resolve, reject) => {
      image.onload = resolve;
      image.onerror = () => reject(new Error("this browser cannot read the picture of the chart: save it as SVG"));
      image.src = url;
    });
    const canvas = make("canvas", { width: WIDTH * SCALE, height: HEIGHT * SCALE });
    canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise<Blob>((resolve, reject) => {
      canvas.toBlob(
        (blob) => (blob ? resolve(blob) : reject(new Error("this browser cannot make a PNG: save it as SVG"))),
        "image/png",
      );
    });
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** One line for each place of each series. What is predicted comes before what is measured. */
function csv(data: ChartData): string {
  const all = kinds(data).reverse();
  const columns = all.flatMap(([part]) => Object.entries(part!.columns));
  const heads = columns.flatMap(([head, names]) => names.map((name) => HEADS[name] ?? head));
  const lines = [["series", data.x.label, ...heads]];
  for (const [index, { name }] of data.series.entries()) {
    const own = all.map((kind) => kind[index]!);
    for (const x of places(own)) {
      const numbers = own.flatMap(({ columns, points }) => {
        const point = points.find((point) => point.x === x);
        return Object.values(columns).flat().map((name) => point?.[name]);
      });
      lines.push([name, ...[x, ...numbers].map((value) => String(value ?? ""))]);
    }
  }
  return lines.map((cells) => `${cells.map(quoted).join(",")}\r\n`).join("");
}

function quoted(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
