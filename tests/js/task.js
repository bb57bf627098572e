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
