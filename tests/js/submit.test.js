// Submitting to the real aggregator.

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { init, issuedId, Randomizer, Report, submit, Task } from "../../pkg/inline.js";
import { Aggregator, OWN_IDS } from "../browser/aggregator.js";
import { newDevice, openOn } from "./ledger-tools.js";
import { LIMITS, RECORD, TASK } from "./task.js";
import { rejects } from "./throws.js";

const aggregator = Aggregator.forTests(TASK, undefined, OWN_IDS);
let task;
let randomizer;

before(async () => {
  await init();
  task = Task.parse(TASK);
  randomizer = new Randomizer(task, LIMITS);
});

test("a report is accepted once, and a duplicate from then on", async () => {
  const before = await aggregator.records();
  const own = randomizer.randomize(RECORD);
  assert.deepEqual(await submit(own, { url: aggregator.url }), { status: "accepted", attempts: 1 });
  const restored = Report.fromBytes(own.bytes, task);
  assert.deepEqual(await submit(restored, { url: `${aggregator.url}/` }), { status: "duplicate", attempts: 1 });
  assert.deepEqual(await submit(own, { url: new URL(aggregator.url) }), { status: "duplicate", attempts: 1 });
  assert.equal(await aggregator.records(), before + 1);
});

test("the aggregator's refusals keep their meaning", async () => {
  // Another task's report, where this one's go.
  const other = Task.parse({ ...TASK, folds: 2 });
  const stray = new Randomizer(other, LIMITS).randomize(RECORD);
  await rejects(submit(stray, { url: aggregator.url }), "not-found", /no task/, { status: 404 });
  await rejects(issuedId(other, { url: aggregator.url }), "not-found", /no task/, { status: 404 });
  const nowhere = { url: `${aggregator.url}/nowhere` };
  await rejects(submit(randomizer.randomize(RECORD), nowhere), "not-found", /nowhere/, { status: 404 });
});

test("reports with issued ids count where a task takes no others, and elsewhere no id is to be had", async () => {
  const to = { url: aggregator.url };
  assert.equal(await issuedId(task, to), undefined);
  assert.equal((await submit(randomizer.randomize(RECORD, { id: undefined }), to)).status, "accepted");
  await aggregator.configure(task.digest, { issued_ids: true });
  const id = await issuedId(task, to);
  assert.match(id, /^[0-9a-f]{32}$/);
  assert.notEqual(id, await issuedId(task, to));
  const issued = randomizer.randomize(RECORD, { id });
  assert.equal(Buffer.from(issued.bytes.subarray(13, 29)).toString("hex"), id);
  assert.deepEqual(await submit(issued, to), { status: "accepted", attempts: 1 });
  await rejects(submit(randomizer.randomize(RECORD), to), "rejected", /not issued/, { status: 422 });
});

test("what the state of a task refuses has its name, and only what has not begun waits", async () => {
  const starts = Math.floor(Date.now() / 1000) + 86_400;
  for (const [index, [settings, status, type]] of [
    [{ starts }, "pending", "task-not-started"],
    [{ max_records: 1 }, "refused", "quota"],
    [{}, "refused", "unknown-task"],
  ].entries()) {
    const json = { ...TASK, folds: 3 + index };
    const one = new Randomizer(Task.parse(json), LIMITS);
    const send = async () => (await openOn(newDevice())).send(one, RECORD, { url: aggregator.url, id: undefined });
    await aggregator.put(one.taskDigest, json, settings);
    if (type === "quota") assert.equal((await send()).status, "accepted");
    if (type === "unknown-task") await aggregator.delete(one.taskDigest);
    const { error, ...outcome } = await send();
    assert.deepEqual([outcome.status, error.type], [status, type]);
    if (status === "pending") assert.ok(error.retryAfter > 80_000 && error.retryAfter <= 86_400, `${error.retryAfter}`);
  }
});
