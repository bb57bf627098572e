// What the benchmarks in Chromium have in common: the command line, a task, and the figures.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Measures, prints the report as a table or as JSON, and sets the exit code. */
export async function run(name, measure, table) {
  process.exitCode = await main(name, process.argv.slice(2), measure, table);
}

async function main(name, args, measure, table) {
  const usage = `usage: node benches/${name} [--json]\n  --json   one JSON document in place of the table`;
  if (args.includes("--help")) {
    console.log(usage);
    return 0;
  }
  if (args.some((arg) => arg !== "--json")) {
    console.error(usage);
    return 2;
  }
  if (!existsSync(join(ROOT, "pkg/wasm/client/ldp_pca_bg.wasm"))) {
    console.error("pkg/wasm is not there: run scripts/build-wasm.sh");
    return 1;
  }
  const report = await measure();
  console.log(args.includes("--json") ? JSON.stringify(report, null, 2) : table(report));
  return 0;
}

/** A task of so many numeric columns. */
export function taskOf(dimension, mechanism) {
  const column = (_, index) => ({ name: `x${index + 1}`, type: "numeric", offset: 0, scale: 1 });
  const columns = Array.from({ length: dimension }, column);
  return { version: 1, schema: { columns }, bounding: { type: "unit-norm" }, mechanism, folds: 1 };
}

/** In a browser's trace the tasks of the thread that has made this mark. */
export function traceTasks(trace, mark) {
  const { traceEvents } = JSON.parse(trace);
  const { pid, tid } = traceEvents.find(({ name }) => name === mark);
  return traceEvents.filter((event) => event.pid === pid && event.tid === tid && event.tdur !== undefined);
}

export function median(times) {
  const sorted = times.toSorted((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
}

/** Rows of cells as lines: the first column to the left, the others to the right. */
export function align(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows.map((row) =>
    row.map((cell, column) => (column ? cell.padStart(widths[column]) : cell.padEnd(widths[column]))).join("  "),
  );
}
