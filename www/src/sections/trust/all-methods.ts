// Every method of the literature at one epsilon, on the records of the charts: simulated in the pool with the module
// that has them all, and shown as a table grouped by trust.

import type { Method, MethodComparison, Progress } from "ldp-pca/lab";
import moduleUrl from "ldp-pca/ldp_pca_methods_bg.wasm?url";

import { element } from "../../context.js";
import { make, withRoles } from "../../dom.js";
import { compiledOnce } from "../../engine/lab.js";
import type { Pool } from "../../engine/pool.js";
import { counted, number } from "../../format.js";
import { quantile } from "../error/trials.js";
import type { ChartRecords } from "./central-methods.js";

const TRIALS = 3;
/** A method whose first estimate took longer, in seconds, gets no further one. */
const MAX_SECONDS = 2;
/** The most numbers in drawn records; beyond that, only second moments are drawn. */
const MAX_NUMBERS = 4_000_000;
/** For more users, drawing second moments for every estimate takes longer than anybody waits. */
const MAX_USERS = 2_000_000;

/** All methods in the lab's order, by who is trusted. */
const GROUPS = {
  "To compare with: no promise": ["pca", "oja", "random-subspace"],
  "Local: nobody is trusted": [
    "double-cap-pca", "double-cap-fantope", "privunit-pca", "gaussian-analytic-pca", "wang-xu-algorithm-1",
    "wang-xu-algorithm-2",
  ],
  "Providers: each is trusted with its own people’s records": ["dps-pca"],
  "Central: one curator is trusted with every record": [
    "sulq", "sulq-laplace", "mod-sulq", "mod-sulq-laplace", "ppca", "amin-et-al", "wishart-difference",
    "analyze-gauss", "cai-xia-zha", "spectral-projector-tested-gap", "noisy-power-method", "private-oja",
    "private-oja-not-shuffled", "dp-pca", "dp-pca-in-balls",
  ],
} as const;
type Grouped = (typeof GROUPS)[keyof typeof GROUPS][number];
/** The compiler says when a method is in no group. */
const METHODS: Method extends Grouped ? readonly Method[] : never = Object.values<readonly Method[]>(GROUPS).flat();

/** A method, and the errors of its estimates so far. */
interface Row extends Omit<MethodComparison, "trials"> {
  readonly errors: readonly number[];
}

/** The results so far. */
interface Findings extends Progress {
  readonly rows: ReadonlyMap<Method, Row>;
  /** The median error of the records' own components, without privacy. */
  readonly nonPrivate: number;
  readonly randomSubspace: number;
  /** Whether methods got second moments instead of records. */
  readonly moments: boolean;
}

/** The module with every method. */
const load = compiledOnce(moduleUrl);

/**
 * Compares all methods, shows the results in the table after each estimate, and reports progress. Rejects with the
 * reason of `signal`, or with a message for the visitor, which also mentions the table if one stays.
 */
export async function compareAllMethods(
  pool: Pool,
  asked: ChartRecords & { readonly epsilon: number },
  setting: string,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void,
): Promise<void> {
  const place = element("trust-every");
  try {
    await estimateAll(pool, asked, signal, (findings) => {
      place.replaceChildren(tableOf(findings, setting));
      place.hidden = false;
      onProgress(findings);
    });
  } catch (error) {
    if (signal.aborted || place.hidden) throw error;
    throw new Error(`${(error as Error).message}. The table shows what was known before`);
  }
}

/** Reports after each estimate. When one fails, the others are ended, and no more reports follow. */
async function estimateAll(
  pool: Pool,
  asked: ChartRecords & { readonly epsilon: number },
  cancelled: AbortSignal,
  onProgress: (findings: Findings) => void,
): Promise<void> {
  cancelled.throwIfAborted();
  if (asked.count > MAX_USERS) {
    throw new Error(`every method at once is simulated for ${counted(MAX_USERS, "user")} at most`);
  }
  const module = await load();
  cancelled.throwIfAborted();
  const end = new AbortController();
  const signal = AbortSignal.any([cancelled, end.signal]);
  const moments = "secondMoment" in asked || asked.count * asked.dimension > MAX_NUMBERS;
  const rows = new Map<Method, Row>();
  const nonPrivate = new Map<number, number>();
  let done = 0;
  let total = TRIALS * METHODS.length;

  async function estimate(method: Method, trial: number): Promise<boolean> {
    const drawn = moments ? "moments" : "records";
    const options = { ...asked, module, methods: [method], firstTrial: trial, drawn } as const;
    const found = await pool.run("compareAllMethods", options, { signal, urgent: true });
    signal.throwIfAborted();
    const [{ trials, ...facts }] = found.methods as [MethodComparison];
    const errors = [...(rows.get(method)?.errors ?? []), ...trials.map(({ sinThetaSquared }) => sinThetaSquared)];
    rows.set(method, { ...facts, errors });
    nonPrivate.set(trial, found.nonPrivate);
    const again = trial + 1 < TRIALS && trials.length === 1 && trials[0]!.seconds < MAX_SECONDS;
    done += 1;
    if (!again) total -= TRIALS - 1 - trial;
    const { randomSubspace } = found;
    onProgress({ done, total, rows, nonPrivate: median([...nonPrivate.values()]), randomSubspace, moments });
    return again;
  }

  // One after the other for each method, so that a slow one is known before its next estimate.
  try {
    await Promise.all(
      METHODS.map(async (method) => {
        for (let trial = 0; await estimate(method, trial); ) trial += 1;
      }),
    );
  } finally {
    end.abort();
  }
}

function median(values: readonly number[]): number {
  return quantile(values.toSorted((a, b) => a - b), 0.5);
}

/** The table of what is known. */
function tableOf(findings: Findings, setting: string): HTMLElement {
  const heads = ["Method", "Error ‖sin Θ‖²", "Promise"].map((text) => make("th", { scope: "col" }, text));
  const head = make("thead", {}, make("tr", {}, ...heads));
  const table = make("table", { className: "models every" }, make("caption", {}, caption(findings, setting)), head);
  const scale = scaleOf(findings);
  for (const [name, methods] of Object.entries<readonly Method[]>(GROUPS)) {
    const own = methods.flatMap((method) => findings.rows.get(method) ?? []);
    if (own.length === 0) continue;
    const group = make("th", { scope: "rowgroup", colSpan: 3, className: "group" }, name);
    const rows = own.map((method) => make("tr", {}, ...cells(method, scale)));
    table.append(make("tbody", {}, make("tr", {}, group), ...rows));
  }
  withRoles(table);
  return table;
}

/** From an error to the length of its bar, 0 to 1. */
type Scale = (error: number) => number;

/** Errors below this are those of rounding. A method without privacy has one where the records are the population. */
const ROUNDING = 1e-12;

function lowerEnd({ rows, randomSubspace }: Findings): number {
  const errors = [...rows.values()].flatMap(({ errors }) => (errors.length > 0 ? median(errors) : []));
  const smallest = Math.min(randomSubspace / 10, ...errors.filter((error) => error > ROUNDING));
  return 10 ** Math.floor(Math.log10(smallest));
}

function scaleOf(findings: Findings): Scale {
  const [low, high] = [lowerEnd(findings), findings.randomSubspace];
  return (error) => Math.min(1, Math.max(0, Math.log(error / low) / Math.log(high / low)));
}

function caption(findings: Findings, setting: string): string {
  const { moments, nonPrivate, randomSubspace } = findings;
  const [low, high] = [lowerEnd(findings), randomSubspace].map(number);
  const ends = `Bars are logarithmic, from ${low} to ${high}, the error of knowing nothing.`;
  const best =
    nonPrivate > ROUNDING
      ? `The records’ own components have ${number(nonPrivate)}.`
      : "The records’ own components are the true ones.";
  const second = moments
    ? " No records are drawn here, only their second moments: methods that read records one by one refuse."
    : "";
  return `${setting} Medians of ${counted(TRIALS, "trial")}. ${ends} ${best}${second}`;
}

function cells({ name, guarantee, errors, refusal }: Row, scale: Scale): HTMLElement[] {
  const title = make("th", { scope: "row" }, name);
  if (errors.length === 0) {
    const refused = make("td", { colSpan: 2 }, sentence(`Refuses: ${reason(name, refusal)}`));
    refused.dataset["head"] = "No estimate";
    return [title, refused];
  }
  const error = median(errors);
  const bar = make("span", { className: "level", ariaHidden: "true" });
  bar.style.setProperty("--length", String(scale(error)));
  const notes = [promise(guarantee)];
  if (errors.length < TRIALS) notes.push(`${counted(errors.length, "estimate")}.`);
  if (refusal !== undefined) notes.push(sentence(`Then it refused: ${reason(name, refusal)}`));
  return [title, make("td", {}, number(error), bar), make("td", {}, notes.join(" "))];
}

/** The text of a refusal without the method's name. */
function reason(name: string, refusal = ""): string {
  return refusal.startsWith(`${name}: `) ? refusal.slice(name.length + 2) : refusal;
}

/** Adds a full stop where the library's text has none. */
function sentence(text: string): string {
  return text.endsWith(".") ? text : `${text}.`;
}

/** The proved part of a promise, and what is only claimed. */
function promise(guarantee: MethodComparison["guarantee"]): string {
  if (!guarantee) return "None.";
  const { claimed, proved, about, argument } = guarantee;
  const words = ({ epsilon, delta }: typeof claimed) => {
    // A power of ten alone.
    const small = number(delta).replace(/^1\.00 × /, "");
    return delta > 0 ? `ε = ${number(epsilon)}, δ = ${small}` : `ε = ${number(epsilon)}`;
  };
  if (!proved) return sentence(`${words(claimed)} about ${about}, claimed and not proved: ${argument}`);
  const less = words(proved) === words(claimed) ? "" : ` Its paper claims ${words(claimed)}.`;
  return `${words(proved)} about ${about}.${less}`;
}
