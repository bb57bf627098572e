// The substitutes of `ldp-pca/testing` for a network, a storage and a source of randomness.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, beforeEach, test } from "node:test";

import * as client from "../../pkg/inline.js";
import * as testing from "../../pkg/testing.js";
import { LIMITS, RECORD, TASK } from "./task.js";
import { throws } from "./throws.js";

const url = "https://aggregator.example/";
const { answers, issuedId, PrivacyLedger, Randomizer, reset, sent, submit, Task } = testing;

before(() => testing.init());

beforeEach(() => reset({ tasks: [TASK] }));

/** A visit of an app's page that says yes. */
async function visit(record = RECORD) {
  const task = await Task.fetch(`${url}tasks/3f0c`);
  const ledger = await PrivacyLedger.open({ maxEpsilon: 2 });
  const outcome = await ledger.send(new Randomizer(task, LIMITS), record, { url, id: issuedId(task, { url }) });
  return { ledger, outcome };
}

test("a visit runs from the task to its outcome, and shows what would have been sent", async () => {
  const { outcome, ledger } = await visit();
  assert.equal(outcome.status, "accepted");
  const [{ bytes, ...one }, ...others] = sent;
  assert.deepEqual(one, { taskDigest: outcome.taskDigest, id: outcome.id, url, record: RECORD });
  assert.equal(bytes.length, 35);
  assert.deepEqual(others, []);
  assert.equal(ledger.persistent, true);
  assert.equal((await ledger.status()).reports[0].state, "sent");
  // The device comes back, whatever opens its ledger.
  assert.equal((await visit()).outcome.status, "duplicate");
  assert.equal(sent.length, 1);
  reset({ tasks: [TASK] });
  assert.equal((await visit()).outcome.status, "accepted");
});

test("a relay takes reports as the real one would, but none of a task that was fetched elsewhere", async () => {
  const relay = "https://relay.example/";
  const leave = async () => {
    const ledger = await PrivacyLedger.open({ maxEpsilon: 2 });
    return { ledger, outcome: await ledger.send(new Randomizer(Task.parse(TASK), LIMITS), RECORD, { relay }) };
  };
  answers("pending");
  assert.equal((await leave()).outcome.status, "pending");
  answers("accepted");
  const { ledger, outcome } = await leave();
  assert.deepEqual([outcome.status, sent.map(({ id, url }) => [id, url])], ["relayed", [[outcome.id, relay]]]);
  assert.equal((await ledger.withdraw(outcome.taskDigest)).sent, "unknown");
  assert.equal((await leave()).outcome.id, outcome.id);
  reset({ tasks: [TASK] });
  await Task.fetch(`${url}tasks/3f0c`);
  await assert.rejects(leave(), { code: "argument", message: /Task\.parse/ });
});

test("the README's example sends one report", async () => {
  const read = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
  const task = read("examples/app-task.json");
  reset({ tasks: [JSON.parse(task)] });
  const [, code] = read("README.md").match(/^```js\n(.*?)^```/ms);
  const example = code.replace(/^import (.*) from "ldp-pca";$/m, "const $1 = testing;");
  const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;
  await new AsyncFunction("testing", example)(testing);
  assert.equal(sent.length, 1);
  assert.deepEqual(sent[0].record, { running: 4, cycling: 5, reading: null, plan: "free" });
});

test("reports follow from the seed", async () => {
  const made = async (seed) => {
    reset({ seed, tasks: [TASK] });
    await visit();
    return String(sent[0].bytes);
  };
  assert.equal(await made(7), await made(7));
  assert.equal(await made(undefined), await made(0));
  assert.notEqual(await made(7), await made(8));
  assert.equal(Object.hasOwn(crypto, "getRandomValues"), false);
});

test("the aggregator that is not there answers as the test wants", async () => {
  answers("pending");
  const { ledger, outcome } = await visit();
  assert.deepEqual([outcome.status, outcome.error.code, sent.length], ["pending", "network", 0]);
  answers("accepted");
  assert.deepEqual((await ledger.flush()).map(({ status }) => status), ["accepted"]);
  assert.deepEqual(sent[0].record, RECORD);

  reset({ tasks: [TASK] });
  answers("refused");
  const refused = (await visit()).outcome;
  assert.deepEqual([refused.status, refused.error.type, sent.length], ["refused", "task-expired", 0]);

  reset({ tasks: [TASK] });
  answers("duplicate");
  assert.equal((await visit()).outcome.status, "duplicate");
  throws(() => answers("lost"), "argument", /accepted, duplicate, pending, refused/);
  throws(() => reset({ seed: -1 }), "argument", /whole number/);
});

test("without a ledger it is the same: a report counts once", async () => {
  const task = await Task.fetch(url);
  const report = new Randomizer(task, LIMITS).randomize([181, null, 0]);
  assert.deepEqual(await submit(report, { url }), { status: "accepted", attempts: 1 });
  assert.deepEqual(await submit(report, { url }), { status: "duplicate", attempts: 1 });
  assert.deepEqual(sent.map(({ record }) => record), [[181, null, 0]]);
  await assert.rejects(submit({ ...report }, { url }), { code: "argument" });
  await assert.rejects(submit(report, { url: "aggregator" }), { code: "argument" });
});

test("a task is one that the test gave", async () => {
  const other = { ...TASK, folds: 2 };
  reset({ tasks: [TASK, other] });
  const { digest } = Task.parse(other);
  const task = await Task.fetch(url, { digest });
  await assert.rejects(Task.fetch(url, { digest: undefined }), { code: "argument", message: /digest is undefined/ });
  assert.equal(task.digest, digest);
  assert.ok(task instanceof Task);
  await assert.rejects(Task.fetch(url, { digest: "0".repeat(64) }), { code: "digest" });
  reset();
  await assert.rejects(Task.fetch(url), { code: "fetch", message: /reset\(\{ tasks/ });
});

test("its reports promise nothing, and the client neither sends nor keeps them", async () => {
  const randomizer = new Randomizer(await Task.fetch(url), LIMITS);
  const ledger = await PrivacyLedger.open({ maxEpsilon: 2 });
  const kept = await ledger.report(randomizer, RECORD, { url });
  for (const report of [randomizer.randomize(RECORD), kept]) {
    assert.equal(report.guarantee, null);
    assert.equal(report.toJSON().guarantee, null);
    await assert.rejects(client.submit(report, { url }), { code: "argument", message: /not from a seed/ });
  }
  const real = await client.PrivacyLedger.open({ maxEpsilon: 2, onStorageDenied: () => true });
  await assert.rejects(real.send(randomizer, RECORD, { url, id: undefined }), { code: "argument" });
});
