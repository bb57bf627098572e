// The first screen: a map of what a made-up survey asks, which is noise for few people and becomes patterns for many.

import "./map.css";

import { drawn } from "../charts/shapes.js";
import { patternName } from "../components.js";
import { type Context, element } from "../context.js";
import { make } from "../dom.js";
import type { Frame } from "../engine/protocol.js";
import { integer } from "../fields.js";
import { counted } from "../format.js";
import { NAMES, PEOPLE, STOPS } from "../survey.js";

const FIELDS = { people: integer(1, { min: 1, max: PEOPLE }) };

/** The loading at the edge of the map, and the pixels of its letters: of a wide one, and of one on a phone. */
const WIDE = { most: 0.72, letters: 16 };
const NARROW = { most: 0.95, letters: 12 };
const WIDE_SIDE = 400;
/** Pixels from a dot to its name. */
const BESIDE = 12;
/** From one name to the next, in heights of letters. */
const LINE = 1.2;

export async function start(_root: HTMLElement, { state, survey }: Context): Promise<void> {
  const section = state.section("map", FIELDS);
  const slider = element<HTMLInputElement>("map-people");
  const picture = new Picture(element("map-plot"));
  slider.max = String(STOPS.length - 1);
  slider.disabled = false;

  function show(): void {
    const { people } = section.values;
    const frame = survey.frames.findLast((frame) => frame.people <= people);
    if (!frame) return;
    const words = `With ${counted(frame.people, "person", "people")}:`;
    const share = `${Math.round(100 * Math.max(0, frame.share))} % of the structure`;
    element("map-share").replaceChildren(`${words} `, make("strong", {}, share));
    const more = survey.frames.at(-1)!.people < wanted(people);
    slider.setAttribute("aria-valuetext", `${words} ${share}`);
    element("map").ariaBusy = String(more);
    element("map-patterns").replaceChildren(...frame.components.map((_, index) => pattern(frame, index)));
    picture.show(frame);
    // For measuring how long it takes, as benches/page.js does.
    if (frame === survey.frames[0]) performance.mark("map: first picture");
  }

  /** Everything from the first hand on the slider on: where it goes next is known then. */
  function grow(people: number): void {
    survey.grow(people).catch((error: Error) => {
      element("map-failure").textContent = `No further: ${error.message}.`;
      element("map-failure").hidden = false;
    });
    show();
  }

  function load(): void {
    slider.value = String(STOPS.findLastIndex((stop) => stop <= section.values.people));
    grow(wanted(section.values.people));
  }

  survey.onChange(show);
  slider.addEventListener("input", () => {
    section.update({ people: STOPS[slider.valueAsNumber]! });
    grow(PEOPLE);
  });
  for (const touch of ["pointerdown", "keydown"]) slider.addEventListener(touch, () => grow(PEOPLE), { once: true });
  section.onLoad(load);
  load();
}

/** The last stop up to a number of people. */
function wanted(people: number): number {
  return STOPS.findLast((stop) => stop <= people)!;
}

/** What is named of a component. */
function named({ components, noise }: Frame, index: number): string {
  const weights = components[index]!;
  const clear = NAMES.flatMap((name, feature) => (Math.abs(weights[feature]!) > noise[index]! ? name : []));
  const kept = clear.map((name) => weights[NAMES.indexOf(name)]!);
  return clear.length > 0 ? patternName(kept, clear) : "";
}

function pattern(frame: Frame, index: number): HTMLElement {
  return make("li", { className: `side-${index}` }, named(frame, index) || "only noise");
}

class Picture {
  readonly #root: HTMLElement;
  readonly #svg = drawn("svg");
  readonly #noise = drawn("ellipse", { class: "noise" });
  readonly #word = drawn("text", { class: "word", y: 5 });
  /** The dots of the map, with their names. */
  readonly #dots: readonly { readonly group: SVGElement; readonly label: SVGTextElement }[];
  #frame: Frame | undefined;

  constructor(root: HTMLElement) {
    this.#root = root;
    this.#dots = NAMES.map((name) => {
      const label = drawn("text") as SVGTextElement;
      label.textContent = name;
      const group = drawn("g", {}, drawn("circle", { r: 6 }), label);
      return { group, label };
    });
    this.#word.textContent = "noise";
    this.#svg.append(this.#noise, this.#word, ...this.#dots.map(({ group }) => group));
    root.append(this.#svg);
    new ResizeObserver(() => this.#draw()).observe(root);
  }

  show(frame: Frame): void {
    this.#frame = frame;
    this.#draw();
  }

  #draw(): void {
    if (!this.#frame) return;
    const { people, noise, components } = this.#frame;
    const side = this.#root.clientWidth;
    const { most, letters } = side < WIDE_SIDE ? NARROW : WIDE;
    const scale = (side / 2 - letters) / most;
    // It has no room while it is not shown.
    if (scale <= 0) return;
    this.#svg.setAttribute("viewBox", `${-side / 2} ${-side / 2} ${side} ${side}`);
    this.#svg.style.fontSize = `${letters}px`;
    const pixels = (loading: number) => Math.max(-most, Math.min(most, loading)) * scale;
    const [across, up] = components as [number[], number[]];
    const places = NAMES.map((_, feature) => ({
      feature,
      x: pixels(across[feature]!),
      y: -pixels(up[feature]!),
      left: isLeft(pixels(across[feature]!), BESIDE + this.#dots[feature]!.label.getComputedTextLength(), side / 2),
      clear: Math.hypot(across[feature]! / noise[0]!, up[feature]! / noise[1]!) > 1,
      first: Math.abs(across[feature]!) >= Math.abs(up[feature]!),
    }));
    const [rx, ry] = noise.map((radius) => Math.min(side, radius * scale)) as [number, number];
    for (const [name, value] of Object.entries({ rx, ry })) this.#noise.setAttribute(name, String(value));
    // At its lower end, where few features are.
    this.#word.setAttribute("y", String(Math.max(0, Math.min(ry, side / 2) - letters)));
    const heights = apart(places.filter(({ clear }) => clear), LINE * letters);
    for (const { feature, x, y, left, clear, first } of places) {
      const { group, label } = this.#dots[feature]!;
      group.style.transform = `translate(${x}px, ${y}px)`;
      group.setAttribute("class", clear ? `clear side-${first ? 0 : 1}` : "");
      label.setAttribute("x", String(left ? -BESIDE : BESIDE));
      label.setAttribute("y", String((heights.get(feature) ?? y) - y + 5));
      label.setAttribute("text-anchor", left ? "end" : "start");
    }
    const clear = places.flatMap(({ feature, clear }) => (clear ? NAMES[feature]! : []));
    const found = clear.length > 0 ? `Out of the noise: ${clear.join(", ")}` : "Only noise";
    const by = `by the reports of ${counted(people, "person", "people")}`;
    this.#root.ariaLabel = `Map of ${NAMES.length} activities ${by}. ${found}.`;
  }
}

/** Whether a name of this width is to the left of its dot: away from the middle, where the edge is not too close. */
function isLeft(x: number, width: number, edge: number): boolean {
  return x < 0 ? x - width > -edge : x + width > edge;
}

/** The heights of names that stay a `line` apart from those on their side, by feature. */
function apart(places: readonly { feature: number; y: number; left: boolean }[], line: number): Map<number, number> {
  const heights = new Map<number, number>();
  for (const isLeft of [false, true]) {
    const side = places.filter(({ left }) => left === isLeft).sort((a, b) => a.y - b.y);
    // Those that would be too close share the room around their middle.
    const groups: { features: number[]; middle: number }[] = [];
    for (const { feature, y } of side) {
      groups.push({ features: [feature], middle: y });
      for (let last = groups.at(-1)!, before = groups.at(-2); before; last = groups.at(-1)!, before = groups.at(-2)) {
        const room = (line * (last.features.length + before.features.length)) / 2;
        if (last.middle - before.middle >= room) break;
        const features = [...before.features, ...last.features];
        const sum = before.middle * before.features.length + last.middle * last.features.length;
        groups.splice(-2, 2, { features, middle: sum / features.length });
      }
    }
    for (const { features, middle } of groups) {
      features.forEach((feature, at) => heights.set(feature, middle + line * (at - (features.length - 1) / 2)));
    }
  }
  return heights;
}
