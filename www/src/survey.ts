// The made-up survey of the first screen: what it asks, the two patterns in its answers, and what is seen of them in
// the reports of so many people.

import type { Pool, Remote } from "./engine/pool.js";
import type { Frame, OpenedSurvey } from "./engine/protocol.js";

export const PEOPLE = 20_000;
export const EPSILON = 2;
/** Answers are whole numbers from -5 to 5. */
export const LIKING = 5;

/** Each activity, and how its answers go with the two patterns. */
export const ACTIVITIES: readonly (readonly [name: string, outdoors: number, culture: number])[] = [
  ["hiking", 1, 0.1],
  ["cycling", 0.9, -0.1],
  ["camping", 0.8, 0],
  ["swimming", 0.7, 0.15],
  ["gaming", -0.75, -0.05],
  ["streaming", -0.6, 0.1],
  ["museums", 0.1, 1],
  ["theatre", -0.1, 0.9],
  ["reading", 0, 0.75],
  ["concerts", 0.15, 0.6],
  ["football", 0.2, -0.7],
  ["cooking", 0, 0],
];
export const NAMES = ACTIVITIES.map(([name]) => name);

const STEPS = [1, 1.25, 1.6, 2, 2.5, 3.2, 4, 5, 6.3, 8];
/** The numbers of people that are looked at: ten in every decade, but for the smallest. */
export const STOPS: readonly number[] = [
  ...new Set([1, 10, 100, 1000, 10_000].flatMap((decade) => STEPS.map((step) => Math.round(decade * step)))),
].filter((people) => people <= PEOPLE);

/** The parameters of a collection of such answers, with `mechanism` as the lab recommends it. */
export function taskDocument(mechanism: object, names: readonly string[] = NAMES): string {
  return JSON.stringify({
    version: 1,
    schema: { columns: names.map((name) => ({ name, type: "numeric", offset: 0, scale: LIKING })) },
    bounding: { type: "unit-norm" },
    mechanism,
    folds: 1,
  });
}

/** The collection, which is simulated in a worker of its own as far as somebody asks. */
export class Survey {
  /** What is known, by the number of people, ascending. */
  readonly frames: Frame[] = [];
  readonly #pool: Pool;
  readonly #onChange: (() => void)[] = [];
  #opened: Promise<Remote<OpenedSurvey>> | undefined;
  #wanted = 0;
  #growing: Promise<void> | undefined;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Simulates at least so many people. Resolves when they are counted. */
  async grow(people: number): Promise<void> {
    this.#wanted = Math.max(this.#wanted, people);
    await (this.#growing ??= this.#run());
  }

  /** Calls whenever there are more frames. */
  onChange(listener: () => void): void {
    this.#onChange.push(listener);
  }

  async #run(): Promise<void> {
    try {
      const survey = await (this.#opened ??= this.#pool.open("openSurvey", undefined));
      while ((this.frames.at(-1)?.people ?? 0) < this.#wanted) {
        this.frames.push(...(await survey.call("grow", this.#wanted)));
        for (const listener of this.#onChange) listener();
      }
    } finally {
      this.#growing = undefined;
    }
  }
}
