// The results from the visitor's file: its schema, its spectrum, and a task for the command line.

import type { Task } from "ldp-pca/lab";
import moduleUrl from "ldp-pca/ldp_pca_records_bg.wasm?url";

import { type Context, element } from "../../context.js";
import { fillTable, make } from "../../dom.js";
import { compiledOnce } from "../../engine/lab.js";
import type { Pool } from "../../engine/pool.js";
import type { Inference, RecordsFacts } from "../../engine/protocol.js";
import { counted, number } from "../../format.js";
import type { OwnRecords } from "../../own-records.js";

/** The most components in the table, and the most columns that a sentence names. */
const MOST_COMPONENTS = 12;
const MOST_NAMES = 8;
const MOST_BYTES = 500e6;

export interface Found {
  readonly facts: RecordsFacts;
  readonly records: OwnRecords;
}

const load = compiledOnce(moduleUrl);

/** Reads a file in its own worker, which ends afterwards, and reports progress. */
export async function readRecords(
  pool: Pool,
  file: File,
  inference: Inference,
  signal: AbortSignal,
  onProgress: (share: number) => void,
): Promise<Found> {
  if (file.size > MOST_BYTES) {
    const problem = `it has ${counted(Math.round(file.size / 1e6), "megabyte")}, and this page reads at most 500`;
    throw new Error(`${problem}: take a part of it, or use \`ldp-pca schema infer\` on the whole`);
  }
  const module = await load();
  const reader = await pool.open("openRecords", { ...inference, module, file }, { signal });
  try {
    let share = 0;
    while (share < 1) onProgress((share = await reader.call("step", undefined)));
    const { secondMoment, ...facts } = await reader.call("facts", undefined);
    const { rows, features, eigenvalues } = facts;
    const dimension = features.length;
    if (dimension < 2) throw new Error("its columns make one feature, and components take at least two");
    return { facts, records: { name: file.name, rows, dimension, features, eigenvalues, secondMoment, module } };
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    reader.close();
  }
}

/** Shows the facts about the records, in words and in the table of the spectrum. */
export function showRecords({ facts }: Found): void {
  const { rows, columns, features, alwaysZero, missing, warnings, eigenvalues } = facts;
  const sentences = [
    `${counted(rows, "row")} of ${counted(columns, "column")} give ${counted(features.length, "feature")}.`,
    alwaysZero.length > 0 ? `Left out, zero or missing in every row: ${listed(alwaysZero)}.` : "",
    missing.length > 0
      ? `Values are missing in ${listed(missing.map(([column, count]) => `${column} (${counted(count, "row")})`))}.`
      : "",
  ];
  element("own-facts").textContent = sentences.filter((sentence) => sentence !== "").join(" ");
  element("own-warnings").replaceChildren(...warnings.map((warning) => make("li", {}, `${warning}.`)));
  const total = eigenvalues.reduce((sum, value) => sum + value, 0);
  let sum = 0;
  const table = eigenvalues.slice(0, MOST_COMPONENTS).map((value, index) => {
    sum += value;
    return [String(index + 1), percent(value / total), percent(sum / total)];
  });
  fillTable(element("own-spectrum"), ["component", "share", "sum"], table);
}

/** A task for records of this schema, as the command line writes it. */
export function taskOf(
  { recommendedMechanism, Task: Tasks }: Awaited<ReturnType<Context["lab"]>>,
  schema: string,
  { mechanism, epsilon, delta }: { mechanism: string; epsilon: number; delta: number },
): string {
  const type = mechanism as "double-cap" | "gaussian";
  const stated = recommendedMechanism(type === "gaussian" ? { type, epsilon, delta } : { type, epsilon });
  // The schema is inserted as text, so its numbers keep their digits.
  const withFolds = (folds: number): Task => {
    const rest = JSON.stringify({ bounding: { type: "unit-norm" }, mechanism: stated, folds }).slice(1);
    return Tasks.parse(`{"version":1,"schema":${schema},${rest}`);
  };
  let task = withFolds(10);
  if (task.dimension > 1000) {
    task.free();
    task = withFolds(2);
  }
  const text = `${task}\n`;
  task.free();
  return text;
}

function percent(share: number): string {
  return `${number(100 * share)} %`;
}

function listed(names: readonly string[]): string {
  const more = names.length - MOST_NAMES;
  return more > 0 ? `${names.slice(0, MOST_NAMES).join(", ")} and ${more} more` : names.join(", ");
}
