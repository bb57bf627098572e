// The types of records in a program. Every expected error is one: tsc fails where there is none.

import { Randomizer, Task, type RecordInput, type Schema, type TaskDocument } from "ldp-pca";
import * as inWorker from "ldp-pca/worker";

const limits = { maxEpsilon: 2 };

const task = Task.parse({
  version: 1,
  schema: {
    columns: [
      { name: "height", type: "numeric", offset: 0, scale: 200 },
      { name: "note", type: "ignored" },
      { name: "plan", type: "categorical", values: ["free", "paid"], unseen: "zero" },
      { name: "device", type: "categorical", values: ["phone", "other"], unseen: "other" },
    ],
  },
  bounding: { type: "unit-norm" },
  mechanism: { type: "double-cap", epsilon: 2, candidates: 64, cap: 8 },
  folds: 1,
});
const randomizer = new Randomizer(task, limits);

// A literal in the program: the columns are known, and so is what a record must have.
randomizer.randomize({ height: 181, plan: "free", device: "watch" });
randomizer.randomize([181, 0, 1, 0]);
randomizer.randomize(Float64Array.of(181, 0, 1, 0));
// @ts-expect-error an unknown column
randomizer.randomize({ height: 181, plan: "free", device: "phone", wieght: 70 });
// @ts-expect-error a missing column
randomizer.randomize({ height: 181, device: "phone" });
// @ts-expect-error an ignored column
randomizer.randomize({ height: 181, plan: "free", device: "phone", note: "x" });
// As forms have it.
randomizer.randomize({ height: "181", plan: "free", device: "phone" });
// @ts-expect-error a number for a category
randomizer.randomize({ height: 181, plan: 1, device: "phone" });
// @ts-expect-error a value that the column does not have, and that would count for nothing
randomizer.randomize({ height: 181, plan: "gratis", device: "phone" });
// Questions that were skipped.
randomizer.randomize({ height: null, plan: undefined, device: null });
randomizer.randomize([181, null, undefined, 0]);
// @ts-expect-error no number
randomizer.randomize({ height: true, plan: "free", device: "phone" });
// @ts-expect-error no record at all
randomizer.randomize();
// @ts-expect-error an array of another type
randomizer.randomize(Float32Array.of(181, 0, 1, 0));
// @ts-expect-error texts by position
randomizer.randomize([181, "", "free", "phone"]);

// A constant document of the program is as good as a literal.
const document = {
  version: 1,
  schema: { columns: [{ name: "x", type: "numeric", offset: 0, scale: 1 }] },
  bounding: { type: "clip", radius: 2 },
  mechanism: { type: "gaussian", epsilon: 1, delta: 1e-6, calibration: "analytic" },
  folds: 1,
} as const satisfies TaskDocument;
const constant = new Randomizer(Task.parse(document), limits);
constant.randomize({ x: 1 });
// @ts-expect-error an unknown column
constant.randomize({ y: 1 });

// A task that came over the network: nothing is known, and the check is made when it runs.
const fetched = new Randomizer(await Task.fetch("https://aggregator.example/tasks/3f0c"), limits);
fetched.randomize({ anything: 1, else: "x" });
// @ts-expect-error but no values of other types
fetched.randomize({ anything: [] });
new Randomizer(Task.parse("{}"), limits).randomize({} as RecordInput);

// Unless the program says what it has pinned by its digest.
const pinned = new Randomizer(
  await Task.fetch<typeof document.schema>("https://aggregator.example/tasks/3f0c", { digest: "3f0c" }),
  limits,
);
pinned.randomize({ x: 1 });
// @ts-expect-error an unknown column
pinned.randomize({ y: 1 });

// The same in a worker.
const elsewhere = new inWorker.Randomizer(await inWorker.Task.parse(document), limits);
const report = await elsewhere.randomize({ x: 1 });
report.bytes satisfies Uint8Array;
// @ts-expect-error an unknown column
await elsewhere.randomize({ y: 1 });

// A task of known columns is a task.
task satisfies Task;
task.toJSON() satisfies TaskDocument;
task.toJSON().schema.columns[0].name satisfies "height";
function anyTask<S extends Schema>(any: Task<S>): Randomizer<S> {
  return new Randomizer(any, limits);
}
anyTask(task).randomize({ height: 1, plan: "paid", device: "" });
// @ts-expect-error a missing column
anyTask(task).randomize({ height: 1 });
