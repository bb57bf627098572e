// Take part: a visitor fills in a record, it is randomized here, its report is sent, and the result of all reports
// comes back live.

import type { Randomizer, Report, Task } from "ldp-pca/lab";

import {
  follow,
  type Listener,
  listTasks,
  NoAggregator,
  type Recovery,
  TIMEOUT_MS,
  Unreachable,
} from "../aggregator.js";
import { componentLists } from "../components.js";
import { type Context, element } from "../context.js";
import { counted, number } from "../format.js";
import { describeGuarantee } from "../guarantee.js";
import { HeatMap } from "../heatmap.js";
import { RecordForm } from "../record-form.js";
import { showBytes } from "../report-bytes.js";

type Lab = Awaited<ReturnType<Context["lab"]>>;

const RETRY_MS = 3000;
const MAX_RANK = 5;
const INITIAL_RANK = 3;

/** An element of this section. */
function part<E extends HTMLElement>(name: string): E {
  return element<E>(`take-part-${name}`);
}

/** The collection that is shown, and the report that was made for it. */
interface Shown {
  readonly task: Task;
  readonly randomizer: Randomizer;
  readonly form: RecordForm;
  readonly names: readonly string[];
  report?: Report;
  /** The id of the next report, if the aggregator accepts only ids that it issued. */
  id?: Promise<string | undefined>;
}

export async function start(_root: HTMLElement, { lab }: Context): Promise<void> {
  await new TakePart(await lab()).look();
}

class TakePart implements Listener {
  readonly #lab: Lab;
  readonly #own = new HeatMap(part("own"), "Your record");
  readonly #read = new HeatMap(part("read"), "What the aggregator reads from your report");
  #shown: Shown | undefined;
  #relay: string | undefined;
  /** The report that may have left through the relay. */
  #relayed: Report | undefined;
  #unfollow: (() => void) | undefined;
  #lastSeen: Date | undefined;

  constructor(lab: Lab) {
    this.#lab = lab;
    HeatMap.link([this.#own, this.#read]);
    part("look").addEventListener("click", () => void this.look());
    part("form").addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#randomize().then((made) => made && part("report").scrollIntoView({ block: "nearest" }));
    });
    part("form").addEventListener("input", () => this.#showOwnRecord());
    part("example").addEventListener("click", () => {
      this.#shown?.form.fillWithExample();
      this.#showOwnRecord();
    });
    part("again").addEventListener("click", () => void this.#randomize());
    part("send").addEventListener("click", () => void this.#send());
    part("task").addEventListener("change", () => void this.#open(part<HTMLSelectElement>("task").value));
    part("rank").addEventListener("change", () => this.#follow());
  }

  /** Finds the aggregator's collections, however long it takes, unless there is no aggregator. */
  async look(): Promise<void> {
    part("none").hidden = true;
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
        part("none").hidden = false;
        this.#say("status", "No aggregator here.", "connection");
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
    const { consent, Randomizer, Task } = this.#lab;
    const task = await Task.fetch(`tasks/${id}`, { digest: id, signal: AbortSignal.timeout(TIMEOUT_MS) });
    this.#shown?.randomizer.free();
    this.#shown?.task.free();
    const form = new RecordForm(
      task.toJSON().schema.columns,
      part("fields"),
      part<HTMLDetailsElement>("more"),
      part("more-fields"),
    );
    // This page shows what a task asks for before anything is sent, and sets no limit; your own page should.
    const randomizer = new Randomizer(task, { maxEpsilon: Infinity, maxDelta: 1 });
    this.#shown = { task, randomizer, form, names: task.featureNames };
    const ranks = Math.min(MAX_RANK, task.dimension);
    part("rank").replaceChildren(...Array.from({ length: ranks }, (_, index) => new Option(String(index + 1))));
    part<HTMLSelectElement>("rank").value = String(Math.min(INITIAL_RANK, ranks));
    part("guarantee").replaceChildren(...describeGuarantee(consent(task)));
    for (const name of ["record", "report", "recovery"]) part(name).hidden = false;
    this.#showOwnRecord();
    this.#follow();
    this.#askForId(this.#shown);
  }

  #follow(): void {
    this.#unfollow?.();
    if (!this.#shown) return;
    this.#unfollow = follow(this.#shown.task.digest, Number(part<HTMLSelectElement>("rank").value), this);
  }

  /** Shows the record's own map, and drops the report, which was made from another record. */
  #showOwnRecord(): void {
    if (!this.#shown) return;
    const { form, names, task } = this.#shown;
    this.#setReport(undefined);
    const { contribution } = this.#lab.encode(task, form.read());
    this.#own.show(contribution, names, "Everything about the record that the patterns depend on.");
    this.#showProblem(form.note());
  }

  /** Requests the next report's id before anybody waits for it. */
  #askForId(shown: Shown): void {
    delete shown.id;
    this.#id(shown).catch(() => {});
  }

  /** The next report's id; after a failure it is requested again. */
  #id(shown: Shown): Promise<string | undefined> {
    // Whoever issued an id would recognize the report behind a relay.
    if (this.#relay) return Promise.resolve(undefined);
    shown.id ??= this.#lab.issuedId(shown.task, { url: ".", retries: 2 }).catch((error: unknown) => {
      delete shown.id;
      throw error;
    });
    return shown.id;
  }

  /** Makes a new report; says whether it could be made. */
  async #randomize(): Promise<boolean> {
    const shown = this.#shown;
    if (!shown) return false;
    const { form, randomizer } = shown;
    try {
      const id = await this.#id(shown);
      if (this.#shown !== shown) return false;
      this.#setReport(randomizer.randomize(form.read(), { id }));
      this.#showProblem(form.note());
      return true;
    } catch (error) {
      this.#showProblem((error as Error).message);
      return false;
    }
  }

  #setReport(report: Report | undefined): void {
    if (!this.#shown) return;
    const { names, task } = this.#shown;
    if (report) this.#shown.report = report;
    else delete this.#shown.report;
    const read = report && this.#lab.debiasedContribution(task, report);
    const caption = read
      ? "One report is mostly noise: mind the scale, look for your record in it, then randomize again and compare."
      : "Appears when you randomize the record.";
    this.#read.show(read, names, caption);
    if (report) {
      showBytes(report.bytes, part("bytes"), part("key"));
    } else {
      part("bytes").textContent = `${task.reportBytes} bytes, once you randomize the record`;
      part("key").replaceChildren();
    }
    part("bytes-title").textContent = report ? `The report, all ${report.bytes.length} bytes of it` : "The report";
    part<HTMLButtonElement>("send").disabled = report === undefined;
    part<HTMLButtonElement>("again").disabled = report === undefined;
    this.#say("sent", "");
  }

  async #send(): Promise<void> {
    const report = this.#shown?.report;
    if (!report) return;
    const button = part<HTMLButtonElement>("send");
    button.disabled = true;
    this.#say("sent", "Sending…");
    try {
      // What may have left through the relay never goes plainly, which would link the two.
      if (part<HTMLInputElement>("relay").checked) this.#relayed = report;
      const relay = this.#relayed === report && this.#relay;
      const done = relay ? await (await import("../relay.js")).leave(report, relay) : await this.#submit(report);
      // An id is for one report only.
      if (this.#shown?.task.digest === report.taskDigest) this.#askForId(this.#shown);
      if (this.#shown?.report !== report) return;
      this.#say("sent", `${done}. Another report from you would spend the privacy promise once more.`);
    } catch (error) {
      if (this.#shown?.report !== report) return;
      // The same bytes are counted once, however often they arrive.
      button.disabled = false;
      this.#say("sent", `Not sent: ${(error as Error).message}. Your report is kept; try again.`, "message");
    }
  }

  async #submit(report: Report): Promise<string> {
    await this.#lab.submit(report, { url: ".", retries: 2 });
    return "Counted";
  }

  #showUnreachable(reason: string): void {
    const kept = this.#lastSeen ? ` What you see is from ${this.#lastSeen.toLocaleTimeString("en")}.` : "";
    this.#say("status", `No valid answer from the aggregator: ${reason}.${kept} Trying again.`, "connection away");
  }

  #showProblem(problem: string): void {
    part("problem").hidden = problem === "";
    part("problem").textContent = problem && `${problem}.`;
  }

  /** Changes a text only when it differs, so that it is not announced again and again. */
  #say(name: string, text: string, style = ""): void {
    const target = part(name);
    if (target.textContent !== text) target.textContent = text;
    target.className = style;
  }
}
