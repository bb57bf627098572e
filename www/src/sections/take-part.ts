// Take part: a record is filled in and randomized here, its report is sent, and what all reports show comes back.

import { consent, debiasedContribution, encode, LdpPcaError, Randomizer, type Report, submit, Task } from "ldp-pca/lab";

import { AggregatorError, listTasks, PATIENCE_MS, readRecovery, type Recovery } from "../aggregator.js";
import { componentLists } from "../components.js";
import { type Context, element } from "../context.js";
import { EmptyField, RecordForm } from "../form.js";
import { HeatMap, number } from "../heatmap.js";

const REFRESH_MS = 3000;
const LARGEST_RANK = 5;
const FIRST_RANK = 3;

const status = element("status");
const taskChoice = element<HTMLSelectElement>("task");
const formError = element("form-error");
const randomizeButton = element<HTMLButtonElement>("randomize");
const sendButton = element<HTMLButtonElement>("send");
const againButton = element<HTMLButtonElement>("again");
const sentMessage = element("sent");
const rankChoice = element<HTMLSelectElement>("rank");
const recoverySummary = element("recovery-summary");
const componentArea = element("components");

const ownMap = new HeatMap(element("own"), "Your record");
const readMap = new HeatMap(element("read"), "What the aggregator reads from your report");

/** The collection that is shown, and the report that was made for it. */
interface Shown {
  readonly task: Task;
  readonly randomizer: Randomizer;
  readonly form: RecordForm;
  readonly names: readonly string[];
  report?: Report;
}
let shown: Shown | undefined;

export async function start(_root: HTMLElement, { lab }: Context): Promise<void> {
  await lab();

  element<HTMLFormElement>("form").addEventListener("submit", (event) => {
    event.preventDefault();
    randomize();
    element("report").scrollIntoView({ block: "start" });
  });
  element("form").addEventListener("input", showOwnRecord);
  element("example").addEventListener("click", () => {
    shown?.form.fillWithExample();
    showOwnRecord();
  });
  againButton.addEventListener("click", randomize);
  sendButton.addEventListener("click", () => void send());
  taskChoice.addEventListener("change", () => void open(taskChoice.value));
  rankChoice.addEventListener("change", () => void refresh());
  await connect();
}

/** Finds the aggregator's collections, however long it takes, and then keeps what they show up to date. */
async function connect(): Promise<void> {
  try {
    const ids = await listTasks();
    if (ids.length === 0) throw new AggregatorError("the aggregator has no collection yet");
    taskChoice.replaceChildren(...ids.map((id) => new Option(`${id.slice(0, 12)}…`, id)));
    element("task-choice").hidden = ids.length === 1;
    await open(ids[0]!);
  } catch (error) {
    away(error);
  }
  setTimeout(() => void (shown ? poll() : connect()), shown ? 0 : REFRESH_MS);
}

async function poll(): Promise<void> {
  if (document.visibilityState === "visible") await refresh();
  setTimeout(() => void poll(), REFRESH_MS);
}

async function open(id: string): Promise<void> {
  let task: Task;
  try {
    task = await Task.fetch(`tasks/${id}`, { digest: id, signal: AbortSignal.timeout(PATIENCE_MS) });
  } catch (error) {
    away(error);
    return;
  }
  shown?.randomizer.free();
  shown?.task.free();
  const form = new RecordForm(
    task.toJSON().schema.columns,
    element("fields"),
    element<HTMLDetailsElement>("more"),
    element("more-fields"),
  );
  // Whatever a task asks for is shown here before anything is sent; a page of your own sets a limit.
  const randomizer = new Randomizer(task, { maxEpsilon: Infinity, maxDelta: 1 });
  shown = { task, randomizer, form, names: task.featureNames };
  const ranks = Math.min(LARGEST_RANK, task.dimension);
  rankChoice.replaceChildren(...Array.from({ length: ranks }, (_, index) => new Option(String(index + 1))));
  rankChoice.value = String(Math.min(FIRST_RANK, ranks));
  element("guarantee").textContent = guaranteeInWords(task);
  componentArea.replaceChildren();
  recoverySummary.textContent = "";
  for (const section of ["record", "report", "recovery"]) element(section).hidden = false;
  showOwnRecord();
  await refresh();
}

/** Shows the record's own map, and drops the report: it was made of another record. */
function showOwnRecord(): void {
  if (!shown) return;
  setReport(undefined);
  try {
    const { contribution } = encode(shown.task, shown.form.read());
    ownMap.show(contribution, shown.names, "Everything about the record that the patterns depend on.");
    showFormError(undefined);
  } catch (error) {
    ownMap.show(undefined, shown.names, "Appears when the record is complete.");
    showFormError(error);
  }
}

function randomize(): void {
  if (!shown) return;
  try {
    setReport(shown.randomizer.randomize(shown.form.read()));
    showFormError(undefined);
  } catch (error) {
    showFormError(error);
    if (error instanceof EmptyField) shown.form.focus(error.input);
  }
}

function setReport(report: Report | undefined): void {
  if (!shown) return;
  shown.report = report;
  const read = report && debiasedContribution(shown.task, report);
  const caption = read
    ? "One report is mostly noise: look for your record in it, then randomize again and compare."
    : "Appears when you randomize the record.";
  readMap.show(read, shown.names, caption);
  element("bytes").textContent = report
    ? hex(report.bytes)
    : `${shown.task.reportBytes} bytes, once you randomize the record`;
  element("bytes-title").textContent = report ? `The report, all ${report.bytes.length} bytes of it` : "The report";
  sendButton.disabled = report === undefined;
  againButton.disabled = report === undefined;
  say("");
}

async function send(): Promise<void> {
  const report = shown?.report;
  if (!shown || !report) return;
  sendButton.disabled = true;
  say("Sending…");
  try {
    await submit(report, { url: ".", retries: 2 });
    if (shown.report === report) {
      say("Counted. A further report from you would spend the privacy promise once more.");
    }
    await refresh();
  } catch (error) {
    if (shown.report === report) {
      // The same bytes are counted once, however often they arrive.
      sendButton.disabled = false;
      say(`Not sent: ${(error as Error).message}. Your report is kept; try again.`, true);
    }
  }
}

async function refresh(): Promise<void> {
  if (!shown) return;
  const { digest } = shown.task;
  const rank = Number(rankChoice.value);
  try {
    const recovery = await readRecovery(digest, rank);
    // Unless something else was chosen meanwhile.
    if (shown.task.digest === digest && Number(rankChoice.value) === rank) showRecovery(recovery);
    here(recovery.records);
  } catch (error) {
    if (error instanceof AggregatorError && error.status === 409) {
      componentArea.replaceChildren();
      setText(recoverySummary, `Not yet: ${error.message}.`);
      here(error.records);
    } else {
      away(error);
    }
  }
}

function showRecovery(recovery: Recovery): void {
  setText(
    recoverySummary,
    "The strongest patterns in all reports so far. Bars on the same side: features that are large together; on opposite " +
      "sides: one is large where the other is small. Which side is which has no meaning. The noise of all reports together " +
      `leaves each square of their common map uncertain by about ±${number(recovery.noise_deviation)}.`,
  );
  componentArea.replaceChildren(...componentLists(recovery));
}

function here(records: number | undefined): void {
  const count =
    records === undefined ? "" : `: ${records.toLocaleString("en")} ${records === 1 ? "report" : "reports"} so far`;
  setText(status, `The aggregator is here${count}.`);
  status.className = "here";
  lastSeen = new Date();
}

let lastSeen: Date | undefined;

function away(error: unknown): void {
  const reason = error instanceof AggregatorError || error instanceof LdpPcaError ? error.message : String(error);
  const kept = lastSeen ? ` What you see is from ${lastSeen.toLocaleTimeString("en")}.` : "";
  setText(status, `No good answer from the aggregator: ${reason}.${kept} Trying again.`);
  status.className = "away";
}

function guaranteeInWords(task: Task): string {
  const { guarantee, promise, scope, stays } = consent(task);
  const { epsilon, delta } = guarantee;
  const terms = `local differential privacy, ε\u00a0=\u00a0${epsilon}, δ\u00a0=\u00a0${delta}`;
  return `The promise: ${stays} ${promise} ${scope} (In technical terms: ${terms}.)`;
}

function showFormError(error: unknown): void {
  formError.hidden = error === undefined;
  formError.textContent = error === undefined ? "" : `${(error as Error).message}.`;
  randomizeButton.disabled = false;
}

function say(text: string, failed = false): void {
  sentMessage.textContent = text;
  sentMessage.className = failed ? "message" : "";
}

/** Changes a text only when it differs, so that it is not announced again and again. */
function setText(target: HTMLElement, text: string): void {
  if (target.textContent !== text) target.textContent = text;
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
}
