// An app with a task of its own: as the module that `ldp-pca task types` prints (survey.ts, which a test of the command
// compares), and as an imported JSON file.

import { Randomizer, Task, type ImportedTask } from "ldp-pca";
import * as inWorker from "ldp-pca/worker";

import { digest, labels, task, type TaskRecord } from "./survey.js";
import imported from "./survey.json";

const limits = { maxEpsilon: 2 };

const typed = new Randomizer(Task.parse(task), limits);
const record: TaskRecord = { height: 181, 'plan "of" today': "free", device: "watch" };
typed.randomize(record);
typed.randomize([181, 0, 1, 0]);
new Randomizer(await Task.fetch<typeof task.schema>("/task.json", { digest }), limits).randomize(record);
labels['plan "of" today'] satisfies readonly ["free", "paid"];
labels.device.map((label) => label satisfies "phone" | "other");
// @ts-expect-error a value that the column does not have
({ ...record, 'plan "of" today': "gratis" }) satisfies TaskRecord;
// @ts-expect-error a missing column
typed.randomize({ height: 181, device: "phone" });

// Of an imported file the constants are lost: any record may be one of it.
const untyped = new Randomizer(Task.parse(imported), limits);
untyped.randomize(record as {});
untyped.randomize({ anything: 1 });
await inWorker.Task.parse(imported);
imported satisfies ImportedTask;
// @ts-expect-error no task at all
Task.parse({ ...imported, schema: undefined });
// @ts-expect-error another version
Task.parse({ ...imported, version: 2 } as const);
