// Sparse recovery: one simulated collection, its components by three methods, and the effect of the penalty.

import "./sparse.css";

import type { ComparedComponents, Comparison } from "ldp-pca/lab";

import { keepLatest } from "../concurrency.js";
import { type Context, element } from "../context.js";
import { bindControls } from "../controls.js";
import type { Pool, Remote } from "../engine/pool.js";
import type { Collection } from "../engine/protocol.js";
import { fillTable, make, stale } from "../dom.js";
import { choice, decimal, integer, optional, type Values } from "../fields.js";
import { counted, number, percent } from "../format.js";
import { ColorScale, HeatMap, largestSize } from "../heatmap.js";
import { shareFound } from "../measure.js";
import { about, inPlace, type OwnRecords } from "../own-records.js";
import { RunControls } from "../run-controls.js";
import { checkSparsity } from "./error/settings.js";

/** What a page solves for all penalties in some seconds. */
const MOST_FEATURES = 150;
const FIELDS = {
  dimension: integer(40, { min: 2, max: MOST_FEATURES }),
  rank: integer(2, { min: 1, max: 10 }),
  sparsity: integer(8, { min: 1, max: MOST_FEATURES }),
  signal: decimal(20, { min: 0.01, max: 10_000 }),
  records: integer(3000, { min: 100, max: 1_000_000 }),
  mechanism: choice("double-cap", ["double-cap", "gaussian"]),
  epsilon: decimal(2, { min: 0.05, max: 16 }),
  seed: integer(1, { min: 0, max: 2 ** 32 - 1 }),
  /** Nothing for the automatic one. */
  penalty: optional(decimal(0.01, { min: 0, max: 10 })),
};
type Settings = Values<typeof FIELDS>;

/** What is compared: made-up records, or those of the visitor. */
interface Asked extends Settings {
  readonly own?: OwnRecords | undefined;
}

const METHODS = ["truth", "pca", "softThreshold", "fantope"] as const;
const TITLES = {
  truth: "The truth",
  pca: "Plain components",
  softThreshold: "Soft-thresholding",
  fantope: "Fantope",
} as const;
const PATH_POINTS = 24;
const PATH_HEADS = ["Penalty", "Features", "✓ Found", "○ Missed", "✗ False alarms", "Certified gap"];
/** Lists with more features than this show only their number. */
const LISTED_FEATURES = 10;

export function start(_root: HTMLElement, { pool, records, state }: Context): void {
  const section = state.section("sparse", FIELDS, (settings) => checkSparsity(inPlace(settings, records.current)));
  const view = new View();
  const controls = new RunControls("sparse");
  const slider = element<HTMLInputElement>("sparse-step");
  let drawn: { readonly collection: Remote<Collection>; readonly choice: Asked } | undefined;
  let penalties: readonly number[] = [];
  let started = false;

  /** Draws the records and their reports, compares the methods, and then finds the penalties worth trying. */
  async function draw(): Promise<void> {
    if (!started) return;
    const choice = about(section.values, records.current);
    stale(element("sparse-results"), true);
    view.disabled = true;
    await controls.start({
      begins: `Drawing ${counted(choice.records, "record")} and their reports…`,
      async work(signal, progress) {
        const opened = await open(pool, choice, signal);
        const automatic = await opened.call("compare", {});
        const compared =
          choice.penalty === undefined ? automatic : await opened.call("compare", { penalty: choice.penalty });
        signal.throwIfAborted();
        drawn?.collection.close();
        // A run that fails or is cancelled from here on ends its worker: there is nothing to choose penalties of.
        drawn = undefined;
        view.show(compared, choice);
        progress(0.5);
        const path = await opened.call("path", { points: PATH_POINTS });
        signal.throwIfAborted();
        drawn = { collection: opened, choice };
        const { fantope, penalty, relativeGap } = automatic;
        const steps: Step[] = [...path, { ...fantope, penalty, relativeGap }];
        steps.sort((a, b) => a.penalty - b.penalty);
        penalties = steps.map(({ penalty }) => penalty);
        view.offer(steps, penalty, compared.penalty);
        return "";
      },
      kept: () => KEPT,
      failed,
    });
    // Unless another run took its place.
    if (controls.cancel.hidden) view.disabled = drawn === undefined;
  }

  const compare = keepLatest(async (penalty: number | undefined) => {
    const asked = drawn;
    if (!asked) return;
    try {
      const compared = await asked.collection.call("compare", { penalty });
      if (asked === drawn) view.show(compared, asked.choice);
    } catch (error) {
      if (asked !== drawn) return;
      controls.fail(failed((error as Error).message));
    }
  });
  const change = (penalty: number | undefined): void => {
    section.update({ penalty });
    compare(penalty);
  };

  slider.addEventListener("input", () => change(penalties[slider.valueAsNumber]));
  element("sparse-automatic").addEventListener("click", () => change(undefined));
  element("sparse-other").addEventListener("click", () => {
    const seed = element<HTMLInputElement>("sparse-seed");
    seed.value = String(section.values.seed + 1);
    seed.dispatchEvent(new Event("change", { bubbles: true }));
  });
  const form = element<HTMLFormElement>("sparse-form");
  // Nothing is simulated before a hand is on the button or a control.
  for (const touch of ["input", "change"]) form.addEventListener(touch, () => (started = true), { capture: true });
  controls.run.hidden = false;
  controls.run.addEventListener("click", () => {
    started = true;
    void draw();
  });
  bindControls(form, section, () => void draw());
  records.onChange(() => {
    // A penalty is in the units of other records.
    section.update({ penalty: undefined });
    void draw();
  });
}

/** What is said where there is no new answer. */
const KEPT = "What you see is from before.";
const failed = (message: string) => `This could not be computed: ${message}. ${KEPT}`;

/** The features that the Fantope keeps at a penalty. */
type Step = Pick<ComparedComponents, "hits" | "misses" | "falseAlarms"> & Pick<Comparison, "penalty" | "relativeGap">;

class View {
  readonly #maps = METHODS.map((method) => new HeatMap(element(`sparse-${method}`), TITLES[method]));
  readonly #scale = new ColorScale(element("sparse-scale"));
  readonly #slider = element<HTMLInputElement>("sparse-step");
  #steps: readonly Step[] = [];

  constructor() {
    HeatMap.link(this.#maps);
  }

  /** Whether no penalty can be chosen now. */
  set disabled(disabled: boolean) {
    this.#slider.disabled = disabled;
    element<HTMLButtonElement>("sparse-automatic").disabled = disabled;
  }

  show(compared: Comparison, asked: Asked): void {
    element("sparse-results").hidden = false;
    stale(element("sparse-results"), false);
    const { own } = asked;
    const { truth, fantope, penalty, relativeGap } = compared;
    // Features that carry components come first, or the picture would be scattered.
    const all = Array.from(truth.leverages, (_, feature) => feature);
    const order = own
      ? all.sort((left, right) => truth.leverages[right]! - truth.leverages[left]!)
      : [...truth.support, ...all.filter((feature) => !truth.support.includes(feature))];
    const names = order.map((feature) => own?.features[feature] ?? `feature ${feature + 1}`);
    const matrices = METHODS.map((method) => reordered(compared[method].matrix, order));
    const scale = { largest: largestSize(...matrices), root: true };
    METHODS.forEach((method, index) => {
      const share = percent(shareFound(compared[method], asked));
      const caption = method === "truth" ? captionOf(truth, own) : `Finds ${share} of the structure`;
      this.#maps[index]!.show(matrices[index], names, caption, scale);
    });
    this.#scale.show(scale);
    const found = METHODS.slice(1).map((method) => foundBy(TITLES[method], compared[method], truth, asked));
    fillTable(element("sparse-found"), ["Method", "Structure", "Error", "Found", "Missed", "False alarms"], found);
    const kept = counted(fantope.support.length, "feature");
    element("sparse-certificate").textContent =
      `At a penalty of ${number(penalty)} the Fantope keeps ${kept}. Its solution is certified: no other is better ` +
      `by more than ${number(relativeGap)} of the objective.`;
    this.#move(penalty);
  }

  /** Offers penalties, ascending, to the slider, and shows what each of them keeps. */
  offer(steps: readonly Step[], automatic: number, present: number): void {
    this.#steps = steps;
    this.#slider.max = String(steps.length - 1);
    const place = steps.findIndex(({ penalty }) => penalty === automatic);
    const [least, most] = [steps[0]!, steps.at(-1)!];
    element("sparse-ends").textContent =
      `From ${number(least.penalty)} to ${number(most.penalty)}, in equal ratios; the automatic one, ` +
      `${number(automatic)}, is step ${place + 1} of ${steps.length}.`;
    element("sparse-marks").replaceChildren(new Option("automatic", String(place)));
    const path = element("sparse-path");
    const highest = Math.max(...steps.map(({ hits, falseAlarms }) => hits + falseAlarms));
    path.replaceChildren(...steps.map((step) => column(step, highest)));
    path.setAttribute(
      "aria-label",
      `At the smallest penalty the Fantope keeps ${keptBy(least)}; at the automatic one ${keptBy(steps[place]!)}; at ` +
        `the largest ${keptBy(most)}.`,
    );
    const rows = steps.map(({ penalty, hits, misses, falseAlarms, relativeGap }) => {
      const name = `${number(penalty)}${penalty === automatic ? ", automatic" : ""}`;
      return [name, ...[hits + falseAlarms, hits, misses, falseAlarms].map(String), number(relativeGap)];
    });
    fillTable(element("sparse-path-table"), PATH_HEADS, rows);
    this.#move(present);
  }

  #move(penalty: number): void {
    const distance = ({ penalty: other }: Step) => Math.abs(other - penalty);
    const nearest = this.#steps.reduce(
      (best, step, at) => (distance(step) < distance(this.#steps[best]!) ? at : best),
      0,
    );
    this.#slider.value = String(nearest);
    this.#slider.setAttribute("aria-valuetext", number(penalty));
    element("sparse-results").querySelector("output")!.textContent = number(penalty);
    for (const [at, shown] of [...element("sparse-path").children].entries())
      shown.classList.toggle("present", at === nearest);
  }
}

/** The collection, in a worker of its own. */
async function open(pool: Pool, asked: Asked, signal: AbortSignal): Promise<Remote<Collection>> {
  const { own, dimension, rank, sparsity, signal: strength, records, epsilon, seed } = asked;
  const mechanism = { type: asked.mechanism, epsilon };
  if (own) {
    const { module, name, secondMoment } = own;
    if (dimension > MOST_FEATURES) {
      const problem = `${name} has ${counted(dimension, "feature")}, and this section takes at most ${MOST_FEATURES}`;
      throw new Error(`${problem}: leave columns out`);
    }
    const options = { module, secondMoment, dimension, rank, records, mechanisms: [mechanism], seed, trial: 0 };
    return pool.open("drawLike", options, { signal });
  }
  const options = { dimension, rank, sparsity, signal: strength, records, mechanism, seed };
  return pool.open("drawCollection", options, { signal });
}

function reordered(matrix: Float64Array, order: readonly number[]): Float64Array {
  const size = order.length;
  return Float64Array.from({ length: size * size }, (_, at) => {
    return matrix[order[Math.floor(at / size)]! * size + order[at % size]!]!;
  });
}

function captionOf({ leverages, support }: ComparedComponents, own: OwnRecords | undefined): string {
  const uses = `It uses ${support.length} of ${leverages.length} features`;
  return own ? `${uses}. Those with the largest shares come first here.` : `${uses}, which come first here.`;
}

/** A row of the table: the features that a method found, in words beside the marks. */
function foundBy(title: string, found: ComparedComponents, truth: ComparedComponents, asked: Asked): string[] {
  const misses = truth.support.filter((feature) => !found.support.includes(feature));
  const falseAlarms = found.support.filter((feature) => !truth.support.includes(feature));
  return [
    title,
    percent(shareFound(found, asked)),
    number(found.sinThetaSquared),
    `✓ ${found.hits} of ${truth.support.length}`,
    `○ ${listed(misses, asked.own)}`,
    `✗ ${listed(falseAlarms, asked.own)}`,
  ];
}

function keptBy({ hits, falseAlarms }: Step): string {
  return `${counted(hits + falseAlarms, "feature")}, ${hits} of them true`;
}

/** The features that a penalty keeps, as a column: true features below, false alarms above. */
function column({ hits, falseAlarms }: Step, highest: number): HTMLElement {
  const bars = Object.entries({ "false-alarm": falseAlarms, hit: hits }).map(([className, count]) => {
    const bar = make("i", { className });
    bar.style.height = `${(100 * count) / highest}%`;
    return bar;
  });
  return make("span", {}, ...bars);
}

function listed(features: readonly number[], own: OwnRecords | undefined): string {
  if (features.length === 0) return "none";
  if (features.length > LISTED_FEATURES) return String(features.length);
  return `${features.length}: ${features.map((feature) => own?.features[feature] ?? feature + 1).join(", ")}`;
}
