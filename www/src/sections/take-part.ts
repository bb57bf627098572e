// Take part: a visitor fills in a record, agrees, and sends its one report; the result of all reports comes back live,
// and the visitor's own place in it is computed here. On a host without an aggregator the report stays, and the
// patterns are those of the made-up survey.

import type { Outcome, Randomizer, Report, Task } from "ldp-pca/lab";
import type { Components } from "ldp-pca/components";

import {
  follow,
  type Listener,
  listTasks,
  NoAggregator,
  type Recovery,
  TIMEOUT_MS,
  Unreachable,
} from "../aggregator.js";
import { bar, componentLists } from "../components.js";
import { type Context, element } from "../context.js";
import type { Frame } from "../engine/protocol.js";
import { counted, number } from "../format.js";
import { describeGuarantee } from "../guarantee.js";
import { HeatMap } from "../heatmap.js";
import { RecordForm } from "../record-form.js";
import { showBytes } from "../report-bytes.js";
import { EPSILON, PEOPLE, type Survey, taskDocument } from "../survey.js";

type Lab = Awaited<ReturnType<Context["lab"]>>;

const RETRY_MS = 3000;
const MAX_RANK = 5;
const INITIAL_RANK = 3;

/** What is said of this device's report, by its state in the ledger or its outcome. */
const SAID: Readonly<Record<string, string>> = {
  accepted: "Counted. This device has one report here, and it cannot send another.",
  duplicate: "Counted already, from an earlier visit: this device has one report here.",
  sent: "This device has taken part: its one report counts.",
  relayed: "Left with the relay: it counts when its batch is full. This device has one report here.",
  withdrawn: "The report of this device was withdrawn.",
};

/** An element of this section. */
function part<E extends HTMLElement>(name: string): E {
  return element<E>(`take-part-${name}`);
}

/** The collection that is shown. */
interface Shown {
  readonly task: Task;
  readonly randomizer: Randomizer;
  readonly form: RecordForm;
  readonly names: readonly string[];
  /** The published components, once they are known. */
  components?: Components;
}

export async function start(_root: HTMLElement, { lab, survey }: Context): Promise<void> {
  await new TakePart(await lab(), survey).look();
}

class TakePart implements Listener {
  readonly #lab: Lab;
  readonly #survey: Survey;
  readonly #own = new HeatMap(part("own"), "Your record");
  readonly #read = new HeatMap(part("read"), "What an aggregator reads from your report");
  #shown: Shown | undefined;
  /** Whether there is no aggregator. */
  #alone = false;
  #relay: string | undefined;
  /** Whether this device's report was promised already, and did not arrive. */
  #waits = false;
  #unfollow: (() => void) | undefined;
  #lastSeen: Date | undefined;

  constructor(lab: Lab, survey: Survey) {
    this.#lab = lab;
    this.#survey = survey;
    HeatMap.link([this.#own, this.#read]);
    part("look").addEventListener("click", () => void this.look());
    part("form").addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#takePart();
    });
    part("form").addEventListener("input", () => this.#edited());
    part("example").addEventListener("click", () => {
      this.#shown?.form.fillWithExample();
      this.#edited();
    });
    part("task").addEventListener("change", () => void this.#open(part<HTMLSelectElement>("task").value));
    part("rank").addEventListener("change", () => this.#follow());
  }

  /** Finds the aggregator's collections, however long it takes, unless there is no aggregator. */
  async look(): Promise<void> {
    this.#say("status", "Looking for an aggregator…", "connection");
    try {
      const { ids, relay } = await listTasks();
      this.#relay = relay;
      part("way").hidden = !relay;
      if (ids.length === 0) throw new Unreachable("it has no collection yet");
      part("task").replaceChildren(...ids.map((id) => new Option(`${id.slice(0, 12)}…`, id)));
      part("choice").hidden = ids.length === 1;
      await this.#open(ids[0]!);
    } catch (error) {
      if (error instanceof NoAggregator) {
        this.#say("status", "No aggregator here.", "connection");
        if (!this.#alone) this.#openSurvey();
      } else {
        this.#showUnreachable((error as Error).message);
        setTimeout(() => void this.look(), RETRY_MS);
      }
    }
  }

  status({ records }: { readonly records: number }): void {
    this.#say("status", `The aggregator is here: ${counted(records, "report")} so far.`, "connection here");
    this.#lastSeen = new Date();
  }

  recovery(recovery: Recovery): void {
    this.#say(
      "summary",
      "The strongest patterns in all reports so far. Bars on the same side: features that are large together; on " +
        "opposite sides: one is large where the other is small. Which side is which has no meaning. The noise of all " +
        "reports together leaves each entry of their common matrix uncertain by about " +
        `±${number(recovery.noise_deviation)}.`,
    );
    part("components").replaceChildren(...componentLists(recovery));
  }

  problem({ detail }: { readonly detail: string }): void {
    part("components").replaceChildren();
    this.#say("summary", `Not yet: ${detail}.`);
  }

  unreachable(): void {
    this.#showUnreachable("the connection is lost");
  }

  /** Shows the collection `id`. Throws when it does not come. */
  async #open(id: string): Promise<void> {
    const task = await this.#lab.Task.fetch(`tasks/${id}`, {
      digest: id,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    this.#show(task, false);
    const ranks = Math.min(MAX_RANK, task.dimension);
    part("rank").replaceChildren(...Array.from({ length: ranks }, (_, index) => new Option(String(index + 1))));
    part<HTMLSelectElement>("rank").value = String(Math.min(INITIAL_RANK, ranks));
    this.#follow();
    const { stateOf } = await import("../participation.js");
    const state = await stateOf(task.digest);
    if (state && this.#shown?.task === task) this.#tell(state);
  }

  /** Shows the made-up survey, for which nothing is sent. */
  #openSurvey(): void {
    const { consent, recommendedMechanism, Task } = this.#lab;
    const task = Task.parse(taskDocument(recommendedMechanism({ type: "double-cap", epsilon: EPSILON })));
    this.#show(task, true);
    part("guarantee").replaceChildren(...describeGuarantee(consent(task)));
  }

  #show(task: Task, alone: boolean): void {
    this.#alone = alone;
    this.#shown?.randomizer.free();
    this.#shown?.task.free();
    const form = new RecordForm(task.toJSON().schema.columns);
    // This page shows what a task asks for before anything is sent, and sets no limit; your own page should.
    const randomizer = new this.#lab.Randomizer(task, { maxEpsilon: Infinity, maxDelta: 1 });
    this.#shown = { task, randomizer, form, names: task.featureNames };
    for (const name of ["none", "guarantee"]) part(name).hidden = !alone;
    for (const name of ["here", "recovery"]) part(name).hidden = alone;
    part("record").hidden = false;
    for (const name of ["report", "place"]) part(name).hidden = true;
    const button = part<HTMLButtonElement>("send");
    button.textContent = alone ? "Randomize" : "Take part …";
    button.disabled = false;
    this.#waits = false;
    this.#say("sent", "");
    this.#edited();
  }

  #follow(): void {
    this.#unfollow?.();
    if (!this.#shown) return;
    this.#unfollow = follow(this.#shown.task.digest, Number(part<HTMLSelectElement>("rank").value), this);
  }

  #edited(): void {
    const problem = this.#shown?.form.note() ?? "";
    part("problem").hidden = problem === "";
    part("problem").textContent = problem && `${problem}.`;
    this.#showScores();
  }

  async #takePart(): Promise<void> {
    const shown = this.#shown;
    if (!shown || part<HTMLButtonElement>("send").disabled) return;
    try {
      if (this.#alone) this.#showReport(shown, shown.randomizer.randomize(shown.form.read()));
      else if (!(await this.#send(shown))) return;
      await this.#findPlace(shown);
    } catch (error) {
      this.#say("sent", `${(error as Error).message}.`, "message");
    }
  }

  /** Asks, and sends. Says whether the report counts, or will. */
  async #send(shown: Shown): Promise<boolean> {
    const { form, randomizer, task } = shown;
    const { agrees, send } = await import("../participation.js");
    // Whose report waits has agreed to it.
    if (!this.#waits && !(await agrees(this.#lab.consent(task)))) return false;
    const button = part<HTMLButtonElement>("send");
    button.disabled = true;
    this.#say("sent", "Sending…");
    const { taskDigest, guarantee, period } = randomizer;
    let report: Report | undefined;
    const made = {
      taskDigest,
      guarantee,
      period,
      randomize: (...given: Parameters<Randomizer["randomize"]>) => (report = randomizer.randomize(...given)),
    };
    const relay = this.#relay;
    // Before a relay an aggregator issues no ids, by which it would recognize reports.
    const directly = relay ? { url: ".", id: undefined } : { url: "." };
    const to = relay && part<HTMLInputElement>("relay").checked ? { relay } : directly;
    const outcome = await send(made as Randomizer, form.read(), to).catch((error: unknown) => {
      button.disabled = false;
      throw error;
    });
    if (this.#shown !== shown) return false;
    if (report) this.#showReport(shown, report);
    this.#tell(outcome.status, outcome);
    return outcome.status in SAID;
  }

  /** Says what became of this device's report. One that waits can be sent again: the same bytes. */
  #tell(state: string, { error }: Partial<Outcome> = {}): void {
    const why = error ? `: ${error.message}` : "";
    const known = SAID[state];
    this.#say("sent", known ?? `Not sent${why}. Your report is kept; try again.`, known ? "" : "message");
    const button = part<HTMLButtonElement>("send");
    button.disabled = known !== undefined;
    this.#waits = known === undefined;
    if (this.#waits) button.textContent = "Send it again";
  }

  #showReport({ form, names, task }: Shown, report: Report): void {
    const { debiasedContribution, encode } = this.#lab;
    part("report").hidden = false;
    const { contribution } = encode(task, form.read());
    this.#own.show(contribution, names, "Everything about the record that the patterns depend on.");
    const caption = "One report is mostly noise: mind the scale, and look for your record in it.";
    this.#read.show(debiasedContribution(task, report), names, caption);
    showBytes(report.bytes, part("bytes"), part("key"));
    part("bytes-title").textContent = `The report, all ${report.bytes.length} bytes of it`;
  }

  /** Finds the published patterns, if there are any. */
  async #findPlace(shown: Shown): Promise<void> {
    const { task } = shown;
    const { Components } = await import("ldp-pca/components");
    if (this.#alone) {
      await this.#survey.grow(PEOPLE);
      shown.components = Components.parse(published(task, this.#survey.frames.at(-1)!));
    } else {
      const url = `tasks/${task.digest}/components`;
      const found = await Components.fetch(url, { digest: task.digest }).catch(() => undefined);
      if (found) shown.components = found;
    }
    this.#showScores();
  }

  #showScores(): void {
    const { components, form } = this.#shown ?? {};
    part("place").hidden = !components;
    if (!components) return;
    const scores = components.scores(form!.read());
    const bars = components.describe().map(({ text, features }, index) => {
      // To the right: more of what is named first.
      const score = scores[index]! * Math.sign(features[0]!.loading);
      return bar(text, score, score);
    });
    part("scores").replaceChildren(...bars);
  }

  #showUnreachable(reason: string): void {
    const kept = this.#lastSeen ? ` What you see is from ${this.#lastSeen.toLocaleTimeString("en")}.` : "";
    this.#say("status", `No valid answer from the aggregator: ${reason}.${kept} Trying again.`, "connection away");
  }

  /** Changes a text only when it differs, so that it is not announced again and again. */
  #say(name: string, text: string, style = ""): void {
    const target = part(name);
    if (target.textContent !== text) target.textContent = text;
    target.className = style;
  }
}

/** The patterns of the made-up survey as an aggregator publishes a collection's (docs/reference/wire-format.md). */
function published(task: Task, { people, noiseEdge, components, variances }: Frame): string {
  const { schema, bounding } = task.toJSON();
  return JSON.stringify({
    version: 1,
    task: task.digest,
    schema,
    bounding,
    feature_names: task.featureNames,
    records: people,
    noise_edge: noiseEdge,
    components: components.map((loadings, index) => ({ loadings, variance: variances[index] })),
  });
}
