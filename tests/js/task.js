// A small task, as its JSON.
export const TASK = {
  version: 1,
  schema: {
    columns: [
      { name: "height", type: "numeric", offset: 0, scale: 200 },
      { name: "note", type: "ignored" },
      { name: "plan", type: "categorical", values: ["free", "paid"], unseen: "zero" },
    ],
  },
  bounding: { type: "unit-norm" },
  mechanism: { type: "double-cap", epsilon: 2, candidates: 64, cap: 8 },
  folds: 1,
};

export const RECORD = { height: 181, plan: "paid" };

// Limits that a page might set; the task above asks for less.
export const LIMITS = { maxEpsilon: 4 };

/** So many numeric columns, whose values are taken as they are. */
export function numericColumns(count) {
  return Array.from({ length: count }, (_, index) => ({ name: `x${index}`, type: "numeric", offset: 0, scale: 1 }));
}

/** So many records of numbers, most of whose variance is along the first two. */
export function rowsOfTwo(count, dimension) {
  const value = (row, column) => (((row * (37 + 8 * column)) % 101) / 101 - 0.5) * (column < 2 ? 0.9 : 0.1);
  const rowOf = (row) => Array.from({ length: dimension }, (_, column) => value(row, column));
  return Array.from({ length: count }, (_, row) => rowOf(row));
}

/** The mechanism of a second wave. */
export const SIGNED_CAP = { type: "signed-cap", epsilon: 2, candidates: 32, cap: 6 };

/** The task of a second wave after the task `first`, whose digest is `parent`. */
export function secondWave(first, parent) {
  const refinement = { parent, directions: [[2 ** 20, 0, 0]], weights: [2 ** 16], clip: 2 ** 40 };
  return { ...first, mechanism: SIGNED_CAP, refinement };
}
