// Submitting to the real aggregator.

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { init, issuedId, Randomizer, Report, submit, SubmitError, Task } from "../../pkg/inline.js";
import { Aggregator, OWN_IDS } from "../browser/aggregator.js";
import { LIMITS, RECORD, TASK } from "./task.js";

const aggregator = Aggregator.forTests(TASK, undefined, OWN_IDS);
let task;
let randomizer;

before(async () => {
  await init();
  task = Task.parse(TASK);
  randomizer = new Randomizer(task, LIMITS);
});

/** That submitting rejects with this code, and the status and a part of the words of the aggregator. */
async function refuses(sent, code, status, part) {
  const error = await sent.then(() => assert.fail("it was accepted"), (error) => error);
  assert.ok(error instanceof SubmitError, String(error));
  assert.deepEqual([error.name, error.code, error.status], ["SubmitError", code, status], error.message);
  assert.match(error.message, part);
}

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
  await refuses(submit(stray, { url: aggregator.url }), "not-found", 404, /no task/);
  await refuses(issuedId(other, { url: aggregator.url }), "not-found", 404, /no task/);
  const nowhere = { url: `${aggregator.url}/nowhere` };
  await refuses(submit(randomizer.randomize(RECORD), nowhere), "not-found", 404, /nowhere/);
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
  await refuses(submit(randomizer.randomize(RECORD), to), "rejected", 422, /not issued/);
});
