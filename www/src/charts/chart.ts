// A chart in its figure: the plot with a cursor for pointer and keys, a legend, a description, a table, and downloads.

import "./chart.css";

import { describe, valuesAt } from "./describe.js";
import type { Format } from "./file.js";
import { type ChartData, kinds, places, xValues } from "./model.js";
import { plot } from "./plot.js";
import { cells, parts, sample, SAMPLE, type Style } from "./series.js";
import { draw, type Frame, picture } from "./shapes.js";
import { download, fillTable, make } from "../dom.js";
import { number } from "../format.js";
import { inOwnFrame, spaced } from "../scheduling.js";

const DRAW_MS = 100;
/** The interval of updates to texts that a series of changes would have read aloud. */
const DESCRIBE_MS = 1000;

export class Chart {
  readonly #svg = picture();
  readonly #plot = make("div", { className: "plot", role: "img" }, this.#svg);
  readonly #cursor = make("div", { className: "plot-cursor", hidden: true });
  readonly #stage = make("div", { className: "stage", tabIndex: 0, role: "slider" }, this.#plot, this.#cursor);
  readonly #readout = make("p", { className: "readout" });
  readonly #legend = make("ul", { className: "legend" });
  readonly #table = make("table", { className: "numbers series" });
  readonly #details = make("details", {}, make("summary", {}, "The numbers as a table"));
  readonly #name: string;
  readonly #heading: string;
  #data: ChartData | undefined;
  /** Where numbers lie in what is drawn. */
  #frame: Frame | undefined;
  /** The room that it was drawn for. */
  #width = 0;
  #at: number | undefined;
  readonly #marks: string[] = [];
  readonly #drawSoon = spaced(DRAW_MS, () => inOwnFrame(this.#draw));
  readonly #describeSoon = spaced(DESCRIBE_MS, () => {
    this.#plot.setAttribute("aria-label", `${this.#data!.title}. ${describe(this.#data!)}`);
  });

  /** @param figure - Gets the chart. @param name - Of its files: `name.svg`. */
  constructor(figure: HTMLElement, name: string) {
    this.#name = name;
    this.#heading = figure.querySelector("h3")!.textContent;
    this.#plot.ariaLabel = this.#heading;
    this.#makeSlider();
    const ariaLabel = `${this.#heading}, as a table`;
    this.#details.append(make("div", { className: "scroller", tabIndex: 0, role: "region", ariaLabel }, this.#table));
    this.#details.addEventListener("toggle", () => this.#tabulate());
    figure.append(this.#legend, this.#stage, this.#readout, this.#files(), this.#details);
    new ResizeObserver(() => this.#fit()).observe(this.#stage);
  }

  /**
   * Shows `data` with one of the next frames: changes too fast to be seen are not drawn. The browser's timeline gets
   * `mark` when it is there.
   */
  show(data: ChartData, mark?: string): void {
    this.#data = data;
    if (mark !== undefined) this.#marks.push(mark);
    this.#drawSoon();
  }

  readonly #draw = (): void => {
    this.#paint();
    legend(this.#legend, this.#data!);
    this.#tabulate();
    this.#point(this.#at);
    this.#describeSoon();
    for (const mark of this.#marks.splice(0)) performance.mark(mark);
  };

  /** Draws the plot as wide as there is room. */
  #paint(): void {
    this.#width = this.#plot.clientWidth;
    const width = Math.max(240, this.#width);
    const size = [width, Math.round(Math.min(440, Math.max(300, width * 0.58)))] as const;
    const { frame, shapes } = plot(this.#data!, size);
    draw(this.#svg, size, shapes);
    this.#frame = frame;
  }

  #fit(): void {
    if (this.#frame && this.#width !== this.#plot.clientWidth) this.#paint();
    this.#point(this.#at);
  }

  /** The stage is a slider over the places of the x-axis, which screen readers and keys know how to move. */
  #makeSlider(): void {
    const stage = this.#stage;
    stage.ariaValueMin = "0";
    const nearest = (event: PointerEvent) => {
      const frame = this.#frame;
      if (!frame) return;
      const left = event.clientX - stage.getBoundingClientRect().left;
      const distance = (x: number) => Math.abs(frame.x(x) - left);
      const all = this.#xValues();
      this.#point(all.reduce((best, x) => (distance(x) < distance(best) ? x : best), all[0]!));
    };
    stage.addEventListener("pointermove", nearest);
    stage.addEventListener("pointerdown", nearest);
    stage.addEventListener("pointerleave", (event) => {
      // A lifted finger leaves its values readable.
      if (event.pointerType === "mouse" && document.activeElement !== stage) this.#point(undefined);
    });
    stage.addEventListener("keydown", (event) => this.#key(event));
    stage.addEventListener("focus", () => this.#point(this.#at ?? this.#xValues()[0]));
    stage.addEventListener("blur", () => this.#point(undefined));
  }

  #key(event: KeyboardEvent): void {
    const all = this.#xValues();
    const here = all.indexOf(this.#at ?? NaN);
    const to = {
      ArrowRight: here + 1,
      ArrowUp: here + 1,
      ArrowLeft: here - 1,
      ArrowDown: here - 1,
      Home: 0,
      End: all.length - 1,
    }[event.key];
    if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.#point(all[Math.min(all.length - 1, Math.max(0, to))]);
  }

  /** Puts the cursor on a place of the x-axis, and says what is there. */
  #point(x: number | undefined): void {
    this.#at = x;
    const [data, frame] = [this.#data, this.#frame];
    this.#cursor.hidden = x === undefined || !frame;
    const all = this.#xValues();
    let items = [make("span", { className: "hint" }, HINT)];
    let [index, said] = [0, "no place chosen"];
    if (data && frame && x !== undefined) {
      this.#cursor.style.transform = `translate(${frame.x(x)}px, ${frame.top}px)`;
      this.#cursor.style.height = `${frame.bottom - frame.top}px`;
      const values = valuesAt(data, x);
      const where = `${data.x.symbol} = ${number(x)}`;
      items = [make("span", { className: "where" }, where), ...values.map(seriesItem)];
      index = Math.max(0, all.indexOf(x));
      said = `${where}: ${values.map(({ text }) => text).join("; ")}`;
    }
    this.#readout.replaceChildren(...items);
    this.#stage.setAttribute("aria-label", data ? `${data.title}: move along the ${data.x.label}` : this.#heading);
    this.#stage.setAttribute("aria-valuemax", String(Math.max(0, all.length - 1)));
    this.#stage.setAttribute("aria-valuenow", String(index));
    this.#stage.setAttribute("aria-valuetext", said);
  }

  /** The places of the cursor. */
  #xValues(): number[] {
    return this.#data ? xValues(this.#data) : [];
  }

  #tabulate(): void {
    if (this.#details.open && this.#data) tabulate(this.#table, this.#data);
  }

  #files(): HTMLElement {
    const buttons = (["PNG", "SVG", "CSV"] satisfies Format[]).map((format) =>
      make("button", { type: "button", className: "small", onclick: () => void this.#save(format) }, format),
    );
    return make("p", { className: "files" }, "Save as ", ...buttons);
  }

  async #save(format: Format): Promise<void> {
    const data = this.#data;
    if (!data) return;
    const { file } = await import("./file.js");
    download(`${this.#name}.${format.toLowerCase()}`, await file(data, format));
  }
}

/** Fills a list with a sample and a name for each series, unless it has them already. */
function legend(list: HTMLElement, { series }: ChartData): void {
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

/** The numbers, one row for each place and series. The last kind has its columns before there are any. */
function tabulate(table: HTMLElement, data: ChartData): void {
  const shown = kinds(data).filter((kind, index, all) => places(kind).length > 0 || !all[index + 1]);
  const rows = xValues(data).flatMap((x) =>
    data.series.map(({ name }, index) => [number(x), name, ...shown.flatMap((kind) => cells(kind[index]!, x))]),
  );
  fillTable(table, [data.x.label, "series", ...shown.flatMap(([part]) => Object.keys(part!.columns))], rows);
}

/** What a series has at the cursor, beside its colour. */
function seriesItem({ style, text }: { style: Style; text: string }): HTMLSpanElement {
  const item = make("span", { className: "series" }, text);
  item.style.setProperty("--series", `var(--${style})`);
  return item;
}

const HINT = "Point at the chart, or move along it with the arrow keys, to read its numbers.";
