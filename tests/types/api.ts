// The types of everything else.

import {
  consent, init, issuedId, LdpPcaError, PrivacyLedger, Randomizer, RecordError, Report, submit, SubmitError, Task,
  TaskError, type LdpPcaErrorCode,
} from "ldp-pca";
import * as inWorker from "ldp-pca/worker";

await init();
await init("/elsewhere.wasm");
// @ts-expect-error null is nowhere
await init(null);

const task: Task = Task.parse("{}");
// @ts-expect-error tasks are made by parse and fetch
new Task();
// @ts-expect-error the old name
Task.fromJSON("{}");
// @ts-expect-error another version
Task.parse({ ...task.toJSON(), version: 2 });
// @ts-expect-error an unknown field
Task.parse({ ...task.toJSON(), note: 1 });
// @ts-expect-error what was read does not change
task.digest = "";
// @ts-expect-error the page must say what it allows
new Randomizer(task);
// @ts-expect-error a delta alone does not say it
new Randomizer(task, { maxDelta: 0 });
task.detection.power satisfies number;
// @ts-expect-error it is absent: for a delta above 0 the theorem does not hold
task.oddsFactor;
const randomizer = new Randomizer(task, { maxEpsilon: 1, maxDelta: 0 });

const report = randomizer.randomize([1]);
report satisfies Report;
report.guarantee.epsilon satisfies number;
// @ts-expect-error reports are made by randomizers, and from bytes
new Report();
Report.fromBytes(report.bytes, task) satisfies Report;
// @ts-expect-error bytes of a report, not the report
Report.fromBytes(report, task);

const { status } = await submit(report, { url: "/", signal: AbortSignal.timeout(1), retries: 2 });
status satisfies "accepted" | "duplicate";
// @ts-expect-error where to?
await submit(report, {});
(await issuedId(task, { url: "/" })) satisfies string | undefined;
// @ts-expect-error from where?
await issuedId(task, {});
// @ts-expect-error a report, not its bytes
await submit(report.bytes, { url: "/" });

// @ts-expect-error a budget is not to be guessed
await PrivacyLedger.open();
// @ts-expect-error a budget is not to be guessed
await PrivacyLedger.open({ name: "mine" });
const ledger = await PrivacyLedger.open({
  maxEpsilon: 4,
  maxEpsilonPerPeriod: 2,
  onStorageDenied: async (error) => error.code === "storage",
  flushOnline: true,
  onFlush: (outcomes) => outcomes.length satisfies number,
});
await ledger.report(randomizer, { x: 1 }, { url: "/" });
await ledger.report(randomizer, { x: 1 }, { url: "/", id: await issuedId(task, { url: "/" }) });
// @ts-expect-error where to?
await ledger.report(randomizer, { x: 1 });
await ledger.report(randomizer, { x: 1 }, { url: "/", id: issuedId(task, { url: "/" }) });
const outcome = await ledger.send(randomizer, { x: 1 }, { url: "/", id: issuedId(task, { url: "/" }), deadline: 1000 });
outcome.id satisfies string | undefined;
switch (outcome.status) {
  case "accepted":
  case "duplicate":
  case "relayed":
    outcome.error satisfies undefined;
    break;
  case "pending":
    outcome.error.type satisfies string | undefined;
    outcome.retryAfter satisfies number | undefined;
    outcome.retryOn satisfies "online" | "flush";
    break;
  case "refused":
    if (outcome.error instanceof SubmitError) outcome.error.status satisfies number | undefined;
    else outcome.error.code satisfies "spent";
    break;
  default:
    outcome satisfies never;
}
// @ts-expect-error where to?
await ledger.send(randomizer, { x: 1 }, {});
await ledger.send(randomizer, { x: 1 }, { relay: "/relay", keys: new Uint8Array(), retries: 2, deadline: 1000 });
// @ts-expect-error one place
await ledger.send(randomizer, { x: 1 }, { relay: "/relay", url: "/" });
// @ts-expect-error who issued it knows whose the report is
await ledger.send(randomizer, { x: 1 }, { relay: "/relay", id: issuedId(task, { url: "/" }) });
// @ts-expect-error whoever has the report could send it plainly
await ledger.report(randomizer, { x: 1 }, { relay: "/relay" });
// @ts-expect-error keys of which relay?
await ledger.send(randomizer, { x: 1 }, { url: "/", keys: new Uint8Array() });
(await ledger.flush({ retries: 0, deadline: 1000 })) satisfies (typeof outcome)[];
(await ledger.withdraw(task.digest)).sent satisfies boolean | "unknown";
const [kept] = (await ledger.status()).reports;
kept?.state satisfies "booked" | "pending" | "sent" | "relayed" | "refused" | "withdrawn" | undefined;
kept?.origin satisfies string | undefined;
await inWorker.init(undefined, { worker: () => new Worker("/worker-thread.js", { type: "module" }), timeout: 1000 });
// @ts-expect-error every report has its own
await ledger.flush({ url: "/" });

// The ledger takes randomizers of both kinds, and knows their columns.
const x = {
  version: 1,
  schema: { columns: [{ name: "x", type: "numeric", offset: 0, scale: 1 }] },
  bounding: { type: "unit-norm" },
  mechanism: { type: "double-cap", epsilon: 2, candidates: 64, cap: 8 },
  folds: 1,
} as const;
const typed = new Randomizer(Task.parse(x), { maxEpsilon: 2 });
const elsewhere = new inWorker.Randomizer(await inWorker.Task.parse(x), { maxEpsilon: 2 });
await ledger.report(typed, { x: 1 }, { url: "/" });
await ledger.report(elsewhere, { x: 1 }, { url: "/" });
await ledger.send(elsewhere, { x: 1 }, { url: "/" });
// @ts-expect-error an unknown column
await ledger.send(typed, { y: 1 }, { url: "/" });
// @ts-expect-error an unknown column
await ledger.report(typed, { y: 1 }, { url: "/" });
// @ts-expect-error an unknown column
await ledger.report(elsewhere, { y: 1 }, { url: "/" });

consent(task).text satisfies string;
consent(task, { limits: { maxEpsilon: 4, maxEpsilonPerPeriod: 2 } }).scope satisfies string;
task.period satisfies string | undefined;
randomizer.period satisfies string | undefined;
consent(await inWorker.Task.parse(x)).features satisfies string[];

const error: unknown = undefined;
if (error instanceof LdpPcaError) {
  error.code satisfies LdpPcaErrorCode;
  // @ts-expect-error no such code
  error.code === "nonsense";
}
if (error instanceof SubmitError) {
  error.status satisfies number | undefined;
  // @ts-expect-error the code of another family
  error.code === "digest";
}
if (error instanceof TaskError) error.code satisfies LdpPcaErrorCode;
if (error instanceof RecordError) {
  error.column satisfies string | undefined;
  error.reason satisfies "missing" | "type" | "unknown" | "length" | "shape";
}

// The check that marks a form's inputs accepts anything, since that is its purpose.
for (const { column, reason, message } of task.check(new Map())) [column, reason, message] satisfies unknown[];
(await (await inWorker.Task.parse(x)).check({ x: "1" })) satisfies RecordError[];

// Objects of the one entry are none of the other.
// @ts-expect-error a task of the worker
new Randomizer(await inWorker.Task.parse(x), { maxEpsilon: 2 });
// @ts-expect-error a task of the page
new inWorker.Randomizer(Task.parse(x), { maxEpsilon: 2 });
// @ts-expect-error a randomizer of the page
typed satisfies inWorker.Randomizer<typeof x.schema>;
