// What the benchmarks in Chromium have in common: their report, a task, and the figures.

import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Measures, and prints the report: as a table, or with --json as JSON. */
export async function run(measure, table) {
  const report = await measure();
  console.log(process.argv.includes("--json") ? JSON.stringify(report, null, 2) : table(report));
}

/** A task of so many numeric columns. */
export function taskOf(dimension, mechanism) {
  const column = (_, index) => ({ name: `x${index + 1}`, type: "numeric", offset: 0, scale: 1 });
  const columns = Array.from({ length: dimension }, column);
  return { version: 1, schema: { columns }, bounding: { type: "unit-norm" }, mechanism, folds: 1 };
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
