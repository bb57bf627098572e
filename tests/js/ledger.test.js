// The ledger where there is no IndexedDB: what does not depend on where it is kept.

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { init, issuedId, LedgerError, PrivacyLedger, Randomizer, Task } from "../../pkg/inline.js";
import { Aggregator, OWN_IDS } from "../browser/aggregator.js";
import { anyRecord, numbersFrom } from "./any-record.js";
import { LIMITS, RECORD, TASK } from "./task.js";

const url = "http://127.0.0.1:9";
const onStorageDenied = () => true;

before(() => init());

function refuses(promise, code, part) {
  return assert.rejects(promise, (error) => {
    assert.ok(error instanceof LedgerError, String(error));
    assert.deepEqual([error.name, error.code], ["LedgerError", code]);
    assert.match(error.message, part);
    return true;
  });
}

test("without storage there is no ledger, unless the page agrees to one that forgets", async (t) => {
  await refuses(PrivacyLedger.open({ maxEpsilon: 2 }), "storage", /indexedDB/);
  await refuses(PrivacyLedger.open({ maxEpsilon: 2, onStorageDenied: async () => undefined }), "storage", /indexedDB/);
  const aggregator = await Aggregator.during(t, TASK, undefined, OWN_IDS);
  const ledger = await PrivacyLedger.open({ name: "1", maxEpsilon: 2, onStorageDenied });
  const one = new Randomizer(Task.parse(TASK), LIMITS);
  const reports = await Promise.all([1, 2, 3].map(() => ledger.report(one, RECORD, { url: aggregator.url })));
  assert.equal(new Set(reports.map((report) => JSON.stringify(report))).size, 1);
  assert.equal(ledger.persistent, false);
  const outcomes = [await ledger.flush(), await ledger.flush()];
  assert.deepEqual(outcomes, [[{ taskDigest: one.taskDigest, id: reports[0].id, status: "accepted" }], []]);
  await refuses(ledger.report(one, RECORD, { url: aggregator.url }), "spent", new RegExp(one.taskDigest));
  await refuses(ledger.report(one, RECORD, { url }), "destination", new RegExp(`${one.taskDigest}.*${aggregator.url}`));
  ledger.close();
});

test("a report is made with the id that the aggregator issued, which takes no other by default", async (t) => {
  const aggregator = await Aggregator.during(t, TASK);
  const task = Task.parse(TASK);
  const one = new Randomizer(task, LIMITS);
  const ledger = await PrivacyLedger.open({ name: "2", maxEpsilon: Infinity, onStorageDenied });
  const id = await issuedId(task, { url: aggregator.url });
  const report = await ledger.report(one, RECORD, { url: aggregator.url, id });
  assert.equal(Buffer.from(report.bytes.subarray(13, 29)).toString("hex"), id);
  assert.equal(report.id, id);
  const other = await issuedId(task, { url: aggregator.url });
  const again = await ledger.report(one, RECORD, { url: aggregator.url, id: other });
  assert.deepEqual(again.bytes, report.bytes, "the report that waits is the one, whatever id comes later");
  assert.deepEqual(await ledger.flush(), [{ taskDigest: one.taskDigest, id, status: "accepted" }]);
  ledger.close();
  const own = await PrivacyLedger.open({ name: "3", maxEpsilon: Infinity, onStorageDenied });
  await own.report(one, RECORD, { url: aggregator.url });
  const [{ error, status }] = await own.flush();
  assert.deepEqual([status, error.code, error.status, error.type], ["refused", "rejected", 422, "report-not-issued"]);
  assert.match(error.message, /not issued/);
  own.close();
});

test("one call books, makes and sends, asks for the id itself, and returns the same again later", async (t) => {
  const aggregator = await Aggregator.during(t, TASK);
  const one = new Randomizer(Task.parse(TASK), LIMITS);
  const ledger = await PrivacyLedger.open({ name: "4", maxEpsilon: Infinity, onStorageDenied });
  const { taskDigest } = one;
  const stopped = ledger.send(one, RECORD, { url: aggregator.url, signal: AbortSignal.abort("no") });
  assert.equal(await stopped.catch((reason) => reason), "no");
  assert.deepEqual((await ledger.status()).reports, [], "nothing is booked");
  await assert.rejects(ledger.send(one, null, { url: aggregator.url }), { code: "record" });
  const outcome = await ledger.send(one, RECORD, { url: aggregator.url });
  assert.deepEqual(outcome, { taskDigest, id: outcome.id, status: "accepted" });
  assert.match(outcome.id, /^[0-9a-f]{32}$/);
  assert.deepEqual(await ledger.send(one, RECORD, { url: aggregator.url }), { ...outcome, status: "duplicate" });
  assert.deepEqual(await ledger.withdraw(taskDigest), { taskDigest, id: outcome.id, sent: true });
  const unknown = "0".repeat(64);
  assert.deepEqual(await ledger.withdraw(unknown), { taskDigest: unknown, id: undefined, sent: false });
  assert.equal((await aggregator.get(`/tasks/${taskDigest}/status`)).records, 1);
});

test("a server that is down leaves the report pending, one whose consent is withdrawn is never sent", async () => {
  const one = new Randomizer(Task.parse(TASK), LIMITS);
  const ledger = await PrivacyLedger.open({ name: "5", maxEpsilon: Infinity, onStorageDenied });
  const id = "0".repeat(32);
  const outcome = await ledger.send(one, RECORD, { url, id: Promise.resolve(id), retries: 0 });
  const { status, error, retryOn, retryAfter } = outcome;
  assert.deepEqual(
    [status, error.code, retryOn, retryAfter, outcome.id],
    ["pending", "network", "flush", undefined, id],
  );
  const spent = (await ledger.status()).epsilon;
  assert.equal((await ledger.withdraw(one.taskDigest)).sent, "unknown");
  assert.deepEqual(await ledger.flush(), []);
  const { epsilon, reports } = await ledger.status();
  assert.deepEqual([epsilon, reports[0].state], [spent, "withdrawn"]);
  const again = await ledger.send(one, RECORD, { url });
  assert.deepEqual([again.status, again.error.code], ["refused", "spent"]);
  await refuses(ledger.report(one, RECORD, { url }), "spent", /withdrawn/);
  // No id, no report: what is booked can be sent later.
  const two = new Randomizer(Task.parse({ ...TASK, folds: 2 }), LIMITS);
  await assert.rejects(ledger.send(two, RECORD, { url, retries: 0 }), { code: "network" });
  let timer;
  const slow = new Promise((resolve) => (timer = setTimeout(resolve, 60_000)));
  await assert.rejects(ledger.send(two, RECORD, { url, id: slow, deadline: 50 }), { code: "network" });
  clearTimeout(timer);
  assert.equal((await ledger.status()).reports[1].state, "booked");
});

/** Whether the browser would send a report is all that the author of these tasks sees. */
test("no series of tasks learns a value from refusals: all are answered, and all are booked", async () => {
  const salary = 52_001;
  const ledger = await PrivacyLedger.open({ name: "6", maxEpsilon: 0.01, onStorageDenied });
  let refused = 0;
  let answered = 0;
  for (let low = 0, high = 131_072; high - low > 1; ) {
    const guess = (low + high) / 2;
    const columns = [{ name: "salary", type: "numeric", offset: guess, scale: 5e-324 }];
    const mechanism = { ...TASK.mechanism, epsilon: 1e-6 };
    const attempt = (scale) =>
      ledger.report(
        new Randomizer(Task.parse({ ...TASK, schema: { columns: [{ ...columns[0], scale }] }, mechanism }), LIMITS),
        { salary },
        { url },
      );
    // Parameters that overflow for some values only are refused when they are parsed, whatever the record is.
    assert.throws(() => Task.parse({ ...TASK, schema: { columns }, mechanism }), { code: "task" });
    refused += 1;
    // The least scale there may be, and the record that is zero at the guess: a report each time.
    await attempt(1e-100);
    answered += 1;
    if (guess < salary) low = guess;
    else high = guess;
  }
  const { epsilon, reports } = await ledger.status();
  assert.deepEqual([refused, answered, reports.length], [17, 17, 17]);
  assert.ok(epsilon >= 17e-6 && epsilon < 17.001e-6);
});

/** A task of an author who wants some records to fail: extreme numbers, odd categories, no room for a direction. */
function hostileTask(number) {
  const one = (...values) => values[Math.floor(number() * values.length)];
  const extreme = () => one(0, 1, -1, 0.1, 52_001, 1e100, -1e100, 1e-100, 1e101, 1e308, 5e-324, 2 ** -1022, 1.1e-100);
  const columns = Array.from({ length: 1 + Math.floor(3 * number()) }, (_, index) =>
    one(
      { name: `c${index}`, type: "numeric", offset: extreme(), scale: extreme() },
      {
        name: `c${index}`,
        type: "categorical",
        values: one(["a"], ["a", ""], ["a", "other"]),
        unseen: one("zero", "other"),
      },
    ),
  );
  const mechanism = one(
    { type: "double-cap", epsilon: one(1e-6, 0.1, 4, 30), candidates: one(2, 16, 64), cap: one(1, 8, 0) },
    {
      type: "gaussian",
      epsilon: one(1e-6, 1, 50),
      delta: one(1e-12, 1e-9, 1e-6),
      calibration: one("analytic", "paper"),
    },
  );
  const bounding = one({ type: "unit-norm" }, { type: "clip", radius: one(1e-150, 1, 1e150) });
  return { version: 1, schema: { columns }, bounding, mechanism, folds: one(1, 5) };
}

test("a thousand hostile tasks: refused, or any record has a report, and each is booked", async (t) => {
  t.mock.method(console, "warn", () => {});
  const number = numbersFrom(20_261_122);
  const asked = { refused: 0, answered: 0 };
  const ledger = await PrivacyLedger.open({ name: "7", maxEpsilon: Infinity, maxDelta: 1, onStorageDenied });
  const digests = new Set();
  while (asked.refused + asked.answered < 1000) {
    const hostile = hostileTask(number);
    let one;
    try {
      one = new Randomizer(Task.parse(hostile), { maxEpsilon: Infinity, maxDelta: 1 });
    } catch (error) {
      assert.equal(error.code, "task", String(error));
      asked.refused += 1;
      continue;
    }
    asked.answered += 1;
    const { columns } = hostile.schema;
    for (let record = 0; record < 5; record++) {
      const { bytes } = one.randomize(anyRecord(columns, number).record);
      assert.equal(bytes.length, Task.parse(hostile).reportBytes);
    }
    digests.add(one.taskDigest);
    await ledger.report(one, anyRecord(columns, number).record, { url });
    assert.equal((await ledger.status()).reports.length, digests.size, "booked");
  }
  assert.ok(asked.refused > 100 && asked.answered > 100, JSON.stringify(asked));
});
