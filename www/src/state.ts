// The state of the page, in its address after `#`: the section in view and what the controls hold, as in
// `#error&error.dimension=60`. A link shows what its sender saw. Values that have not changed are left out.

import { type Fields, InvalidValue, type Values } from "./fields.js";

/** A problem with a value, and the value's name. */
export interface Problem<N extends string | number | symbol = string> {
  readonly name: N & string;
  readonly message: string;
}

/** Checks values that are each possible alone, but may be impossible together. */
export type Check<F extends Fields> = (values: Values<F>) => Problem<keyof F>[];

/** Browsers refuse too many changes of the address in a short time. */
const WRITE_MS = 250;

export class State {
  readonly #sections = new Map<string, SectionState<Fields>>();
  #text: URLSearchParams;
  #place: string;
  #writing: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    [this.#place, this.#text] = readHash();
    addEventListener("hashchange", () => {
      [this.#place, this.#text] = readHash();
      for (const section of this.#sections.values()) section.load(this.#text);
    });
    addEventListener("pagehide", () => this.#write());
  }

  /** The section that the address names, or "". */
  get place(): string {
    return this.#place;
  }

  /** The values of a section's controls, from the address. A further call returns the same object. */
  section<F extends Fields>(name: string, fields: F, check: Check<F> = () => []): SectionState<F> {
    const known = this.#sections.get(name) as unknown as SectionState<F> | undefined;
    if (known) return known;
    const section = new SectionState(name, fields, check, () => {
      this.#writing ??= setTimeout(() => this.#write(), WRITE_MS);
    });
    section.load(this.#text);
    this.#sections.set(name, section as unknown as SectionState<Fields>);
    return section;
  }

  /** The address of a section with the present state, and with that of the other page's sections. */
  link(place = this.#place): string {
    const text = new URLSearchParams();
    for (const [name, value] of this.#text) if (!this.#sections.has(name.split(".")[0]!)) text.set(name, value);
    for (const section of this.#sections.values()) section.save(text);
    const parameters = text.toString().replaceAll("%2C", ",");
    return `#${[place, parameters].filter((part) => part !== "").join("&")}`;
  }

  /** Makes `place` the section in view: a step in the browser's history. */
  go(place: string): void {
    this.#write();
    this.#place = place;
    history.pushState(null, "", this.link());
  }

  #write(): void {
    clearTimeout(this.#writing);
    if (this.#writing !== undefined) history.replaceState(null, "", this.link());
    this.#writing = undefined;
  }
}

/** The values of one section. They are always possible together: the last good ones stay. */
export class SectionState<F extends Fields> {
  readonly fields: F;
  readonly #name: string;
  readonly #check: Check<F>;
  readonly #changed: () => void;
  readonly #onLoad: (() => void)[] = [];
  readonly #onChange: (() => void)[] = [];
  #values: Values<F>;
  #problems: Problem<keyof F>[] = [];

  constructor(name: string, fields: F, check: Check<F>, changed: () => void) {
    this.fields = fields;
    this.#name = name;
    this.#check = check;
    this.#changed = changed;
    this.#values = this.#initialValues();
  }

  get values(): Values<F> {
    return this.#values;
  }

  /** Impossible values in the address; these controls have their initial values instead. */
  get problems(): readonly Problem<keyof F>[] {
    return this.#problems;
  }

  /** Takes new values, unless they are impossible: then it says why, and keeps the previous ones. */
  update(changes: Partial<Values<F>>): Problem<keyof F>[] {
    const values = { ...this.#values, ...changes };
    const problems = this.#check(values);
    if (problems.length > 0) return problems;
    this.#values = values;
    this.#problems = [];
    this.#changed();
    for (const listener of this.#onChange) listener();
    return [];
  }

  /** Calls when the values come from a new address, as by the browser's back button. */
  onLoad(listener: () => void): void {
    this.#onLoad.push(listener);
  }

  /** Calls whenever there are new values, from the address or the controls: for sections that follow another. */
  onChange(listener: () => void): void {
    this.#onChange.push(listener);
  }

  load(text: URLSearchParams): void {
    const values: Record<string, unknown> = this.#initialValues();
    const problems: Problem<keyof F>[] = [];
    for (const name of Object.keys(this.fields)) {
      const given = text.get(`${this.#name}.${name}`);
      if (given === null) continue;
      try {
        values[name] = this.fields[name]!.read(given);
      } catch (error) {
        if (!(error instanceof InvalidValue)) throw error;
        problems.push({ name, message: `The link has “${given}” here. ${error.message}` });
      }
    }
    // Of values that are impossible together, the ones that the section names give way first, then all.
    for (const { name, message } of this.#check(values as Values<F>)) {
      problems.push({ name, message: `The link has “${this.fields[name]!.write(values[name])}” here. ${message}` });
      values[name] = this.fields[name]!.initial;
    }
    const possible = this.#check(values as Values<F>).length === 0;
    this.#values = possible ? (values as Values<F>) : this.#initialValues();
    this.#problems = problems;
    for (const listener of [...this.#onLoad, ...this.#onChange]) listener();
  }

  save(text: URLSearchParams): void {
    for (const [name, field] of Object.entries(this.fields)) {
      const written = field.write(this.#values[name]);
      if (written !== field.write(field.initial)) text.set(`${this.#name}.${name}`, written);
    }
  }

  #initialValues(): Values<F> {
    return Object.fromEntries(Object.entries(this.fields).map(([name, { initial }]) => [name, initial])) as Values<F>;
  }
}

function readHash(): [place: string, text: URLSearchParams] {
  const hash = location.hash.slice(1);
  const [place = "", ...rest] = hash.split("&");
  return place.includes("=") ? ["", new URLSearchParams(hash)] : [place, new URLSearchParams(rest.join("&"))];
}
