// A symmetric matrix as coloured squares, with its numbers beside it for those who do not see the colours.

const NAMED_ROWS = 16;
const LISTED_ENTRIES = 12;

interface Colors {
  readonly negative: Rgb;
  readonly zero: Rgb;
  readonly positive: Rgb;
}
type Rgb = readonly [number, number, number];

export class HeatMap {
  readonly #canvas = document.createElement("canvas");
  readonly #rows = document.createElement("ol");
  readonly #readout = document.createElement("p");
  readonly #table = document.createElement("table");
  readonly #title: string;
  readonly #caption: HTMLElement;
  #names: readonly string[] = [];
  #matrix: Float64Array | undefined;

  constructor(figure: HTMLElement, title: string) {
    this.#title = title;
    this.#caption = figure.querySelector("figcaption")!;
    this.#canvas.setAttribute("role", "img");
    this.#rows.setAttribute("aria-hidden", "true");
    this.#readout.className = "readout";
    this.#readout.setAttribute("aria-hidden", "true");
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    summary.textContent = "The largest numbers as a table";
    details.append(summary, this.#table);
    figure.querySelector(".map")!.append(this.#rows, this.#canvas);
    figure.append(this.#readout, details);
    this.#canvas.addEventListener("pointermove", (event) => this.#read(event));
    this.#canvas.addEventListener("pointerleave", () => (this.#readout.textContent = ""));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#paint());
  }

  /** Shows the matrix, d × d numbers; `undefined` clears the map and gives `caption` as the reason. */
  show(matrix: Float64Array | undefined, names: readonly string[], caption: string): void {
    this.#matrix = matrix;
    this.#names = names;
    this.#readout.textContent = "";
    this.#rows.hidden = names.length > NAMED_ROWS;
    this.#rows.replaceChildren(...names.slice(0, NAMED_ROWS).map((name) => item("li", name)));
    const largest = matrix ? largestEntries(matrix, names) : [];
    const scale = largest[0] ? Math.abs(largest[0].value) : 0;
    this.#caption.textContent = matrix ? `${caption} Colours run from ${number(-scale)} to ${number(scale)}.` : caption;
    this.#canvas.setAttribute(
      "aria-label",
      matrix ? describe(this.#title, names.length, largest) : `${this.#title}: ${caption}`,
    );
    this.#table.replaceChildren(head(), ...largest.map(({ pair, value }) => row(pair, number(value))));
    this.#paint();
  }

  #paint(): void {
    const size = Math.max(1, this.#names.length);
    this.#canvas.width = this.#canvas.height = size;
    const context = this.#canvas.getContext("2d")!;
    const colors = readColors(this.#canvas);
    const image = context.createImageData(size, size);
    const scale = this.#matrix?.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0) || 1;
    for (let index = 0; index < size * size; index += 1) {
      const share = (this.#matrix?.[index] ?? 0) / scale;
      const end = share < 0 ? colors.negative : colors.positive;
      for (let channel = 0; channel < 3; channel += 1) {
        const zero = colors.zero[channel]!;
        image.data[4 * index + channel] = zero + (end[channel]! - zero) * Math.abs(share);
      }
      image.data[4 * index + 3] = 255;
    }
    context.putImageData(image, 0, 0);
  }

  #read(event: PointerEvent): void {
    const size = this.#names.length;
    const cell = (position: number, length: number) =>
      Math.min(size - 1, Math.max(0, Math.floor((position / length) * size)));
    const row = cell(event.offsetY, this.#canvas.clientHeight);
    const column = cell(event.offsetX, this.#canvas.clientWidth);
    const value = this.#matrix?.[row * size + column];
    this.#readout.textContent = value === undefined ? "" : `${pairName(this.#names, row, column)}: ${number(value)}`;
  }
}

interface Entry {
  readonly pair: string;
  readonly value: number;
}

function largestEntries(matrix: Float64Array, names: readonly string[]): Entry[] {
  const size = names.length;
  const upper: { row: number; column: number; value: number }[] = [];
  for (let row = 0; row < size; row += 1) {
    for (let column = row; column < size; column += 1) upper.push({ row, column, value: matrix[row * size + column]! });
  }
  return upper
    .sort((a, b) => Math.abs(b.value) - Math.abs(a.value))
    .slice(0, LISTED_ENTRIES)
    .map(({ row, column, value }) => ({ pair: pairName(names, row, column), value }));
}

function pairName(names: readonly string[], row: number, column: number): string {
  return row === column ? `${names[row]} with itself` : `${names[row]} and ${names[column]}`;
}

function describe(title: string, size: number, largest: readonly Entry[]): string {
  const entries = largest.slice(0, 3).map(({ pair, value }) => `${pair} ${number(value)}`);
  return `${title}: heat map of ${size} by ${size} numbers. The largest: ${entries.join("; ")}.`;
}

function readColors(element: Element): Colors {
  const style = getComputedStyle(element);
  const read = (name: string): Rgb => {
    const hex = style.getPropertyValue(name).trim();
    return [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)) as unknown as Rgb;
  };
  return { negative: read("--negative"), zero: read("--zero"), positive: read("--positive") };
}

/** Three digits, with a real minus sign. */
export function number(value: number): string {
  return value.toLocaleString("en", { maximumSignificantDigits: 3 }).replace("-", "−");
}

function head(): HTMLElement {
  const head = document.createElement("thead");
  const names = document.createElement("tr");
  names.append(item("th", "Features"), item("th", "Number"));
  head.append(names);
  return head;
}

function row(...cells: string[]): HTMLElement {
  const row = document.createElement("tr");
  row.append(...cells.map((text) => item("td", text)));
  return row;
}

function item(tag: string, text: string): HTMLElement {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}
