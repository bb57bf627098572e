// A symmetric matrix as coloured squares, readable without colours too: entries below zero are struck through, the
// arrow keys read single numbers, and a table has them.

import { fillTable, make } from "./dom.js";
import { number } from "./format.js";
import { inOwnFrame } from "./scheduling.js";

/** Red, green and blue, 0 to 255. */
type Rgb = readonly [number, number, number];

const dark = matchMedia("(prefers-color-scheme: dark)");

const NAMED_ROWS = 16;
/** Up to this many rows the table has the whole matrix; above, only the largest entries. */
const WHOLE_TABLE_ROWS = 12;
const LISTED_ENTRIES = 12;
/** Strength of colour under which an entry looks like zero, and has no stroke. */
const STRUCK_FROM = 0.06;
/** Pixels that a square needs for a stroke to be seen in it. */
const STRUCK_CELL = 3;
/** The side in pixels from which squares keep to whole pixels. */
const WHOLE_CELL = 8;
/** Pixels from one stroke to the next in a large square. */
const STROKE_PERIOD = 14;

/** The scale from numbers to colours, the same for maps to be compared. */
export interface Scale {
  /** The number that has the strongest colour. */
  readonly largest: number;
  /** Colours grow with the square root, so that weak entries are seen beside strong ones. */
  readonly root?: boolean;
}

export class HeatMap {
  readonly #canvas = make("canvas", { role: "img" });
  readonly #cursor = make("span", { className: "cursor", hidden: true });
  // The arrow keys belong to the page here, not to a screen reader's own navigation.
  readonly #reader = make("div", { className: "reader", tabIndex: 0, role: "application" }, this.#canvas, this.#cursor);
  readonly #rows = make("ol", { ariaHidden: "true" });
  readonly #readout = make("p", { className: "readout" });
  readonly #key = new ColorScale(make("div"));
  readonly #caption = make("figcaption");
  readonly #table = make("div", { className: "scroll", tabIndex: 0, role: "region" });
  readonly #details = make("details", {}, make("summary", {}, "As a table"), this.#table);
  readonly #title: string;
  #peers: readonly HeatMap[] = [this];
  #names: readonly string[] = [];
  #matrix: Float64Array | undefined;
  #scale: Scale = { largest: 1 };
  #cell: { readonly row: number; readonly column: number } | undefined;

  /** @param figure - Gets the map, below its heading. */
  constructor(figure: HTMLElement, title: string) {
    this.#title = title;
    this.#canvas.ariaLabel = title;
    this.#reader.ariaLabel = `${title}: arrow keys read single numbers`;
    this.#table.ariaLabel = `${title}, as a table`;
    const map = make("div", { className: "map" }, this.#rows, this.#reader);
    figure.append(map, this.#readout, this.#key.root, this.#caption, this.#details);

    this.#details.addEventListener("toggle", () => this.#tabulate());
    this.#reader.addEventListener("keydown", (event) => this.#step(event));
    this.#reader.addEventListener("blur", () => this.#read(undefined));
    this.#canvas.addEventListener("pointermove", (event) => this.#point(event));
    this.#canvas.addEventListener("pointerdown", (event) => this.#point(event));
    this.#canvas.addEventListener("pointerleave", () => this.#read(undefined));
    new ResizeObserver(() => this.#repaint()).observe(this.#reader);
    dark.addEventListener("change", () => this.#repaint());
  }

  /** Maps of matrices of one size: an entry read in one of them is read in all. */
  static link(maps: readonly HeatMap[]): void {
    for (const map of maps) map.#peers = maps;
  }

  /**
   * Shows the matrix, d × d numbers, with a scale of its own unless maps have a common one; `undefined` clears the map
   * and gives `caption` as the reason.
   */
  show(matrix: Float64Array | undefined, names: readonly string[], caption: string, common?: Scale): void {
    this.#matrix = matrix;
    this.#names = names;
    this.#scale = common ?? { largest: largestSize(matrix) };
    this.#key.show(matrix && !common ? this.#scale : undefined);
    this.#rows.hidden = names.length > NAMED_ROWS;
    this.#rows.replaceChildren(...names.slice(0, NAMED_ROWS).map((name) => make("li", {}, name)));
    this.#caption.textContent = caption;
    const words = matrix ? described(matrix, names) : caption;
    this.#canvas.setAttribute("aria-label", `${this.#title}: ${words}`);
    this.#details.hidden = !matrix;
    this.#tabulate();
    this.#repaint();
    this.#mark();
  }

  /** Paints in a frame of its own, so that several maps that change at once do not block the page together. */
  #repaint(): void {
    inOwnFrame(this.#paint);
  }

  readonly #paint = (): void => {
    const size = Math.max(1, this.#names.length);
    const ratio = window.devicePixelRatio || 1;
    const room = (this.#reader.clientWidth * ratio) / size;
    // Whole pixels for every square, so that all look alike; where that would waste room, the picture is scaled.
    const whole = room >= WHOLE_CELL;
    const cell = Math.max(1, whole ? Math.floor(room) : Math.ceil(room));
    const side = cell * size;
    this.#canvas.width = this.#canvas.height = side;
    this.#canvas.style.width = whole ? `${side / ratio}px` : "100%";
    const context = pixelContext(this.#canvas);
    const image = context.createImageData(side, side);
    paintSquares(new Uint32Array(image.data.buffer), this.#matrix, size, cell, this.#scale);
    context.putImageData(image, 0, 0);
  };

  #point(event: PointerEvent): void {
    const size = this.#names.length;
    const place = (position: number, length: number) => clamp(Math.floor((position / length) * size), size);
    const row = place(event.offsetY, this.#canvas.clientHeight);
    const column = place(event.offsetX, this.#canvas.clientWidth);
    this.#read({ row, column });
  }

  #step(event: KeyboardEvent): void {
    const size = this.#names.length;
    const { row, column } = this.#cell ?? { row: 0, column: 0 };
    const steps: Record<string, readonly [number, number]> = {
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      Home: [row, 0],
      End: [row, size - 1],
      PageUp: [0, column],
      PageDown: [size - 1, column],
    };
    const to = steps[event.key];
    if (event.key === "Escape") this.#read(undefined);
    if (!to || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    // The first key shows the present position.
    this.#read(this.#cell ? { row: clamp(to[0], size), column: clamp(to[1], size) } : { row, column }, true);
  }

  /** Reads an entry aloud only on request by keyboard: a moving pointer would never stop. */
  #read(cell: { row: number; column: number } | undefined, aloud = false): void {
    for (const map of this.#peers) {
      map.#readout.setAttribute("aria-live", aloud && map === this ? "polite" : "off");
      map.#cell = cell;
      map.#mark();
    }
  }

  #mark(): void {
    const size = this.#names.length;
    const { row, column } = this.#cell ?? { row: size, column: size };
    const value = row < size && column < size ? this.#matrix?.[row * size + column] : undefined;
    this.#cursor.hidden = value === undefined;
    this.#readout.textContent = value === undefined ? "" : `${pairName(this.#names, row, column)}: ${number(value)}`;
    if (value === undefined) return;
    const side = this.#canvas.clientWidth / size;
    for (const [name, cells] of Object.entries({ left: column, top: row, width: 1, height: 1 })) {
      this.#cursor.style.setProperty(name, `${cells * side}px`);
    }
  }

  /** Fills the table, if it is open: it is slower than the map. */
  #tabulate(): void {
    const matrix = this.#matrix;
    if (!matrix || !this.#details.open) return;
    const names = this.#names;
    const table = make("table", { className: "numbers" });
    let caption = "All numbers";
    if (names.length <= WHOLE_TABLE_ROWS) {
      const values = (row: number) => names.map((_, column) => number(matrix[row * names.length + column]!));
      fillTable(table, ["", ...names], names.map((name, row) => [name, ...values(row)]));
    } else {
      caption = `The largest ${LISTED_ENTRIES} of ${names.length} by ${names.length} numbers`;
      const largest = largestEntries(matrix, names, LISTED_ENTRIES);
      fillTable(table, ["Features", "Number"], largest.map(({ pair, value }) => [pair, number(value)]));
    }
    table.prepend(make("caption", {}, caption));
    this.#table.replaceChildren(table);
  }
}

/** The key to the colours of one or several maps: from the scale's negative end to its positive one. */
export class ColorScale {
  readonly root: HTMLElement;
  readonly #canvas = make("canvas", { width: 121, height: 12, ariaHidden: "true" });
  readonly #low = make("span");
  readonly #high = make("span");
  #scale: Scale | undefined;

  /** @param root - Gets the key, and is hidden until there is a scale. */
  constructor(root: HTMLElement) {
    this.root = root;
    root.hidden = true;
    root.classList.add("color-scale");
    root.append(this.#low, this.#canvas, this.#high);
    dark.addEventListener("change", () => this.#paint());
  }

  /** Without a scale there is nothing to explain. */
  show(scale: Scale | undefined): void {
    this.#scale = scale;
    this.root.hidden = scale === undefined;
    if (!scale) return;
    this.#low.textContent = `${number(-scale.largest)}, struck through`;
    this.#high.textContent = number(scale.largest);
    this.#paint();
  }

  #paint(): void {
    const { width, height } = this.#canvas;
    const context = pixelContext(this.#canvas);
    const image = context.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    const palette = colors();
    const middle = (width - 1) / 2;
    for (let x = 0; x < width; x += 1) {
      const [plain, struck] = shades((x - middle) / middle, this.#scale?.root, palette);
      for (let y = 0; y < height; y += 1) pixels[y * width + x] = (x - y) % height === 0 ? struck : plain;
    }
    context.putImageData(image, 0, 0);
  }
}

/** For pixels that are computed here: nothing is drawn that would need the graphics processor. */
function pixelContext(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
  return canvas.getContext("2d", { willReadFrequently: true })!;
}

type Palette = Readonly<Record<"negative" | "zero" | "positive" | "text", Rgb>>;

/** The present colours of the style sheet, which are hexadecimal, for painting by pixels. */
function colors(): Palette {
  const style = getComputedStyle(document.documentElement);
  const read = (name: keyof Palette) => {
    const hex = style.getPropertyValue(`--${name}`).trim();
    return [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)) as unknown as Rgb;
  };
  return { negative: read("negative"), zero: read("zero"), positive: read("positive"), text: read("text") };
}

/** Paints `size` squares to a side, with `cell` pixels to a side of each. */
function paintSquares(pixels: Uint32Array, matrix: Float64Array | undefined, size: number, cell: number, scale: Scale) {
  const palette = colors();
  const side = size * cell;
  // One stroke goes from corner to corner, with as many beside it as fit.
  const period = Math.max(1, Math.ceil(cell / Math.max(1, Math.round(cell / STROKE_PERIOD))));
  const y0 = cell - 1;
  for (let row = 0; row < size; row += 1) {
    for (let column = 0; column < size; column += 1) {
      const [plain, struck] = shades((matrix?.[row * size + column] ?? 0) / scale.largest, scale.root, palette);
      const corner = row * cell * side + column * cell;
      for (let y = 0; y < cell; y += 1) {
        const start = corner + y * side;
        pixels.fill(plain, start, start + cell);
        if (cell < STRUCK_CELL || struck === plain) continue;
        for (let x = (y0 - y + cell * period) % period; x < cell; x += period) pixels[start + x] = struck;
      }
    }
  }
}

/** The colours of an entry and of the stroke through it, for its share (-1 to 1) of the largest. */
function shades(share: number, root: boolean | undefined, palette: Palette): [number, number] {
  const { negative, zero, positive, text } = palette;
  const size = Math.min(1, Math.abs(share));
  const strength = root ? Math.sqrt(size) : size;
  const plain = mix(zero, share < 0 ? negative : positive, strength);
  return [packed(plain), packed(share < 0 && strength > STRUCK_FROM ? mix(plain, text, 0.65) : plain)];
}

function mix(from: Rgb, to: Rgb, share: number): Rgb {
  const at = (channel: 0 | 1 | 2) => from[channel] + (to[channel] - from[channel]) * share;
  return [at(0), at(1), at(2)];
}

/** As a canvas has it in a number; every machine with a browser is little-endian. */
function packed([red, green, blue]: Rgb): number {
  return ((255 << 24) | (Math.round(blue) << 16) | (Math.round(green) << 8) | Math.round(red)) >>> 0;
}

/** The largest size of an entry of some matrices; 1 where there is none. */
export function largestSize(...matrices: readonly (Float64Array | undefined)[]): number {
  let largest = 0;
  for (const matrix of matrices) for (const value of matrix ?? []) largest = Math.max(largest, Math.abs(value));
  return largest || 1;
}

/** The largest `count` entries of the upper triangle, the largest first. */
function largestEntries(matrix: Float64Array, names: readonly string[], count: number) {
  const size = names.length;
  const rowOf = (place: number) => Math.floor(place / size);
  const sizeAt = (place: number) => Math.abs(matrix[place]!);
  const places: number[] = [];
  for (let place = 0; place < matrix.length; place += 1) {
    if (place % size < rowOf(place)) continue;
    // Most are smaller than those that are known: the whole triangle is not sorted.
    if (places.length === count && sizeAt(place) <= sizeAt(places[count - 1]!)) continue;
    places.push(place);
    places.sort((one, other) => sizeAt(other) - sizeAt(one));
    places.splice(count);
  }
  return places.map((place) => {
    return { pair: pairName(names, rowOf(place), place % size), value: matrix[place]! };
  });
}

function pairName(names: readonly string[], row: number, column: number): string {
  return row === column ? `${names[row]} with itself` : `${names[row]} and ${names[column]}`;
}

function described(matrix: Float64Array, names: readonly string[]): string {
  const entries = largestEntries(matrix, names, 3).map(({ pair, value }) => `${pair} ${number(value)}`);
  return `heat map of ${names.length} by ${names.length} numbers. The largest: ${entries.join("; ")}.`;
}

function clamp(index: number, size: number): number {
  return Math.min(size - 1, Math.max(0, index));
}
