// One report: a made-up record, its randomization, and the bytes that would leave.

import type { Aggregate, Randomizer, Task } from "ldp-pca/lab";

import { type Context, element } from "../context.js";
import { bindControls } from "../controls.js";
import { make } from "../dom.js";
import { choice, decimal, type Values } from "../fields.js";
import { counted } from "../format.js";
import { describeGuarantee } from "../guarantee.js";
import { HeatMap } from "../heatmap.js";
import { showBytes } from "../report-bytes.js";
import { yieldToMain } from "../scheduling.js";
import { LIKING, taskDocument } from "../survey.js";

type Lab = Awaited<ReturnType<Context["lab"]>>;

const ACTIVITIES = ["running", "cycling", "gaming", "streaming", "reading"] as const;
const RANGE = { min: -LIKING, max: LIKING };
const FIELDS = {
  running: decimal(4, RANGE),
  cycling: decimal(5, RANGE),
  gaming: decimal(-3, RANGE),
  streaming: decimal(-1, RANGE),
  reading: decimal(1.5, RANGE),
  mechanism: choice("double-cap", ["double-cap", "gaussian"]),
  epsilon: decimal(2, { min: 0.25, max: 8 }),
};
type Settings = Values<typeof FIELDS>;

const NOTES = {
  "double-cap":
    "Random directions are drawn in public, and the report names one of them: more likely one that the record lies " +
    "along.",
  gaussian: "Noise of a normal law is added to every number. Its far tails are why the promise has a δ.",
};
const MANY = 2000;
/** Milliseconds at a time for many reports, so that the page stays smooth. */
const SLICE_MS = 12;

export async function start(_root: HTMLElement, { lab: loaded, state }: Context): Promise<void> {
  const section = state.section("one-report", FIELDS, (values) =>
    ACTIVITIES.every((name) => values[name] === 0)
      ? [{ name: "running", message: "Like or dislike something: a record of zeros has nothing to show." }]
      : [],
  );
  const form = element<HTMLFormElement>("one-report-form");
  element("one-report-record").append(...ACTIVITIES.map(slider));
  const show = (): void => showValues(form);
  form.addEventListener("input", show);
  const view = new View();

  const lab = await loaded();
  bindControls(form, section, (values) => {
    show();
    view.take(lab, values);
    view.randomize(false);
  });
  element("one-report-again").addEventListener("click", () => view.randomize(true));
  element("one-report-other").addEventListener("click", () => {
    for (const name of ACTIVITIES) form.querySelector<HTMLInputElement>(`[name=${name}]`)!.value = randomLiking();
    form.dispatchEvent(new Event("change"));
  });
  element("one-report-many").addEventListener("click", () => void view.repeat());
  element("one-report-stop").addEventListener("click", () => view.stop());
  show();
  // Functions of the lab are compiled at their first call: some now, the others in turns of their own.
  taskOf(lab, section.values);
  await yieldToMain();
  view.take(lab, section.values);
  await yieldToMain();
  view.randomize(false);
}

interface Shown {
  readonly lab: Lab;
  readonly task: Task;
  readonly randomizer: Randomizer;
  readonly record: number[];
}

/** The record, its report, and their pictures. */
class View {
  readonly #own = new HeatMap(element("one-report-own"), "The record");
  readonly #read = new HeatMap(element("one-report-read"), "What a collector reads from the report");
  readonly #mean = new HeatMap(element("one-report-mean"), "The mean of many reports");
  #shown: Shown | undefined;
  /** Changes with every record, so that a run of reports for an earlier one ends. */
  #run = 0;

  constructor() {
    HeatMap.link([this.#own, this.#read, this.#mean]);
  }

  /** Shows another record or mechanism, which has no report yet. */
  take(lab: Lab, values: Settings): void {
    this.stop();
    element("one-report-mean").hidden = true;
    element("one-report-mechanism-note").textContent = NOTES[values.mechanism];
    this.#shown?.randomizer.free();
    this.#shown?.task.free();
    const task = lab.Task.parse(taskOf(lab, values));
    const randomizer = new lab.Randomizer(task, { maxEpsilon: FIELDS.epsilon.read("8") });
    const record = ACTIVITIES.map((name) => values[name]);
    this.#shown = { lab, task, randomizer, record };
    const { contribution } = lab.encode(task, record);
    this.#own.show(
      contribution,
      ACTIVITIES,
      "Each square is the product of two answers, all answers scaled to length 1: everything about the record that " +
        "patterns depend on.",
    );
    element("one-report-guarantee").replaceChildren(...describeGuarantee(lab.consent(task)));
  }

  randomize(asked: boolean): void {
    if (!this.#shown) return;
    const { lab, task, randomizer, record } = this.#shown;
    const report = randomizer.randomize(record);
    this.#read.show(
      lab.debiasedContribution(task, report),
      ACTIVITIES,
      "Right on average and far off each time: mind the scale, and look for the record in it. Then randomize " +
        "again.",
    );
    const { bytes } = report;
    showBytes(bytes, element("one-report-bytes"), element("one-report-key"));
    element("one-report-bytes-title").textContent = `All that leaves: ${counted(bytes.length, "byte")}`;
    if (asked) element("one-report-said").textContent = "A new report, with new randomness.";
  }

  /** Makes many reports of the record and shows their mean while it settles. */
  async repeat(): Promise<void> {
    if (!this.#shown) return;
    this.stop();
    const run = this.#run;
    const { lab, task, randomizer, record } = this.#shown;
    const sum = new lab.Aggregate(task);
    element("one-report-mean").hidden = false;
    element("one-report-stop").hidden = false;
    while (this.#run === run && sum.records < MANY) {
      const until = performance.now() + SLICE_MS;
      while (sum.records < MANY && performance.now() < until) sum.add(randomizer.randomize(record));
      this.#showMean(sum, task);
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
    sum.free();
    if (this.#run === run) this.stop();
  }

  stop(): void {
    this.#run += 1;
    element("one-report-stop").hidden = true;
  }

  #showMean(sum: Aggregate, task: Task): void {
    const { epsilon } = task.guarantee;
    this.#mean.show(
      sum.secondMoment(),
      ACTIVITIES,
      `The mean of ${counted(sum.records, "report")} of the same record: compare it with the record above. Each of ` +
        `them promises ε = ${epsilon}; what they reveal adds up, and together they promise almost nothing.`,
    );
  }
}

/** The public parameters of a collection of these answers. */
function taskOf(lab: Lab, { mechanism: type, epsilon }: Settings): string {
  return taskDocument(lab.recommendedMechanism({ type, epsilon }), ACTIVITIES);
}

function slider(name: string): HTMLElement {
  const id = `one-report-${name}`;
  const [min, max] = [String(RANGE.min), String(RANGE.max)];
  const output = make("output");
  output.htmlFor.add(id);
  const input = make("input", { id, name, type: "range", min, max, step: "0.5" });
  return make("div", { className: "slider" }, make("label", { htmlFor: id }, name), input, output);
}

function showValues(form: HTMLFormElement): void {
  for (const input of form.querySelectorAll<HTMLInputElement>("input[type=range]")) {
    input.parentElement!.querySelector("output")!.textContent = input.value.replace("-", "−");
  }
}

function randomLiking(): string {
  return String(Math.round(20 * Math.random() - 10) / 2);
}
