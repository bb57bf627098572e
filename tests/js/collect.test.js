// Everything in one call, with the substitutes of `ldp-pca/testing` for a network and a storage.

import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";

import * as client from "../../pkg/collect-inline.js";
import * as testing from "../../pkg/testing.js";
import { LIMITS, RECORD, secondWave, TASK } from "./task.js";

const { answers, collect, en, explain, formRecord, PrivacyLedger, Randomizer, reset, resume, sent, Task } = testing;

const said = [];
let options;

before(() => testing.init());

beforeEach(() => {
  reset({ tasks: [TASK] });
  said.length = 0;
  options = {
    url: "https://aggregator.example/survey/",
    digest: Task.parse(TASK).digest,
    maxEpsilon: 2,
    collector: "Example Club",
    purpose: "a study",
    consent: (statement) => said.push(statement.text) > 0,
  };
});

/** What the device's ledger has booked. */
async function booked() {
  return (await (await PrivacyLedger.open({ maxEpsilon: 2 })).status()).reports;
}

test("a visitor who agrees is counted, is told so on coming back, and is asked once", async () => {
  const outcome = await collect(options, RECORD);
  assert.deepEqual([outcome.status, explain(outcome)], ["accepted", en.outcomes.accepted]);
  assert.deepEqual(sent.map(({ record, url, id }) => [record, url, id]), [[RECORD, options.url, outcome.id]]);
  assert.equal(said.length, 1);
  assert.match(said[0], /^Who asks: Example Club\. What for: a study\. One report of 35 bytes leaves this device\./);
  const again = await collect(options, { height: 150, plan: "free" });
  assert.deepEqual([again.status, again.id, sent.length, said.length], ["duplicate", outcome.id, 1, 1]);
});

test("without a clear yes nothing is booked, made or sent", async () => {
  for (const answer of [false, undefined, "yes", 1, null]) {
    const outcome = await collect({ ...options, consent: async () => answer }, RECORD);
    assert.deepEqual(outcome, { status: "declined" });
    assert.equal(explain(outcome), en.outcomes.declined);
  }
  await assert.rejects(collect({ ...options, consent: () => Promise.reject(new Error("gone")) }, RECORD), /gone/);
  assert.deepEqual([sent.length, await booked()], [0, []]);
});

test("a page asks, or says that it has asked, and says who asks and what for", async () => {
  for (const [wrong, words] of [
    [{ collector: undefined }, /give collector and purpose/],
    [{ purpose: "" }, /give collector and purpose/],
    [{ consent: true }, /'given' where your page has asked/],
    [{ consent: undefined }, /no page to ask in: give consent/],
    [{ url: "aggregator" }, /give the aggregator's URL/],
    [{ maxEpsilon: undefined }, /maxEpsilon is undefined/],
    [{ sentences: { ...en, errors: {} } }, /'offline'/],
  ]) {
    await assert.rejects(collect({ ...options, ...wrong }, RECORD), { message: words });
  }
  await assert.rejects(collect({ ...options, digest: undefined }, RECORD), { message: /digest is undefined/ });
  assert.deepEqual([sent.length, await booked()], [0, []]);
  assert.equal((await collect({ ...options, consent: "given" }, RECORD)).status, "accepted");
});

test("a report that is a promise of its own has a consent of its own", async () => {
  const second = Task.parse(secondWave(TASK, options.digest));
  reset({ tasks: [second.toJSON()] });
  const ledger = await PrivacyLedger.open({ maxEpsilon: 4 });
  const relay = options.url;
  await ledger.send(new Randomizer(Task.parse(TASK), LIMITS), RECORD, { relay });
  const declining = { ...options, digest: second.digest, ledger: { maxEpsilon: 4 }, consent: () => false };
  assert.equal((await collect(declining, RECORD)).status, "declined");
  assert.equal(await ledger.needsConsent(new Randomizer(Task.parse(TASK), LIMITS), { relay }), false);
  assert.equal(sent.length, 1);
});

test("the signal stops it while the visitor is asked", async () => {
  const stop = new AbortController();
  let told;
  const consent = (statement, { signal }) => {
    told = signal;
    stop.abort(new Error("gone"));
    return new Promise(() => {});
  };
  await assert.rejects(collect({ ...options, consent, signal: stop.signal }, RECORD), /gone/);
  assert.deepEqual([told, sent.length, await booked()], [stop.signal, 0, []]);
});

test("what cannot be sent is sent by the next call, or on coming back, with the consent that was given", async () => {
  answers("pending");
  const outcome = await collect({ ...options, ledger: { flushOnline: true } }, RECORD);
  assert.deepEqual([outcome.status, explain(outcome)], ["pending", en.outcomes.pending]);
  assert.equal(outcome.retryOn, "flush");
  answers("accepted");
  assert.deepEqual((await resume(options)).map(({ status, id }) => [status, id]), [["accepted", outcome.id]]);
  assert.deepEqual(await resume(), []);
  assert.deepEqual([sent.length, said.length], [1, 1]);
});

test("coming back asks nobody about the storage", async () => {
  assert.deepEqual(await client.resume({ ledger: { onStorageDenied: () => assert.fail("asked") } }), []);
});

test("a withdrawn report is not made again, and its budget stays spent", async () => {
  const other = { ...TASK, folds: 2 };
  reset({ tasks: [TASK, other] });
  answers("pending");
  await collect(options, RECORD);
  await (await PrivacyLedger.open({ maxEpsilon: 2 })).withdraw(options.digest);
  answers("accepted");
  const outcome = await collect(options, RECORD);
  assert.deepEqual([outcome.status, explain(outcome), said.length], ["refused", en.errors.withdrawn, 1]);
  const second = { ...options, digest: Task.parse(other).digest };
  await assert.rejects(collect(second, RECORD), ({ code }) => code === "budget");
  assert.equal((await collect({ ...second, ledger: { maxEpsilon: 4 } }, RECORD)).status, "accepted");
  assert.equal(sent.length, 1);
});

test("a form's fields are read by the columns: texts of numbers, empty ones, choices", async () => {
  const form = new FormData();
  form.append("height", " 181.5 ");
  form.append("plan", "paid");
  form.append("newsletter", "on");
  assert.equal((await collect(options, form)).status, "accepted");
  assert.deepEqual(sent[0].record, { height: " 181.5 ", plan: "paid" });

  const task = Task.parse(TASK);
  assert.deepEqual(formRecord(task, new FormData()), { height: undefined, plan: undefined });
  const several = new FormData();
  for (const plan of ["free", "paid"]) several.append("plan", plan);
  const record = formRecord(task, several);
  assert.deepEqual(record.plan, ["free", "paid"]);
  assert.deepEqual(task.check({ ...record, height: "" }).map(({ column }) => column), ["plan"]);
});
