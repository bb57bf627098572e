// The ledger where there is no IndexedDB: what does not depend on where it is kept.

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { init, LedgerError, PrivacyLedger, Randomizer, Task } from "../../pkg/node.js";
import { Aggregator } from "../browser/aggregator.js";
import { LIMITS, RECORD, TASK } from "./task.js";

const url = "http://127.0.0.1:9";
const onStorageDenied = () => true;

before(() => init());

/** A randomizer of the task with so many folds (each another task) that states this guarantee. */
function randomizer(folds, epsilon, delta = 0) {
  const real = new Randomizer(Task.parse({ ...TASK, folds }), LIMITS);
  const guarantee = { ...real.guarantee, epsilon, delta };
  return { taskDigest: real.taskDigest, guarantee, randomize: (record) => real.randomize(record) };
}

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
  const aggregator = new Aggregator(TASK);
  t.after(() => aggregator.remove());
  await aggregator.start();
  const ledger = await PrivacyLedger.open({ maxEpsilon: 2, onStorageDenied });
  const one = new Randomizer(Task.parse(TASK), LIMITS);
  const reports = await Promise.all([1, 2, 3].map(() => ledger.report(one, RECORD, { url: aggregator.url })));
  assert.equal(new Set(reports.map((report) => JSON.stringify(report))).size, 1);
  assert.equal(ledger.persistent, false);
  const outcomes = [await ledger.flush(), await ledger.flush()];
  assert.deepEqual(outcomes, [[{ taskDigest: one.taskDigest, status: "accepted" }], []]);
  await refuses(ledger.report(one, RECORD, { url }), "spent", new RegExp(one.taskDigest));
  ledger.close();
});

test("sums are never below the real ones", async () => {
  // In floating point 1 + 2^-53 is 1.
  const tiny = 2 ** -53;
  const ledger = await PrivacyLedger.open({ maxEpsilon: 1, onStorageDenied });
  await ledger.report(randomizer(1, 1), RECORD, { url });
  await refuses(ledger.report(randomizer(2, tiny), RECORD, { url }), "budget", /1\.0000000000000002.*allows 1$/);
  assert.equal((await ledger.status()).epsilon, 1);
  const wider = await PrivacyLedger.open({ maxEpsilon: 1.5, onStorageDenied });
  for (const [folds, epsilon] of [1, tiny, 0.25, 0.25].entries()) {
    await wider.report(randomizer(folds + 1, epsilon), RECORD, { url }).catch(() => {});
  }
  const { epsilon, reports } = await wider.status();
  assert.equal(reports.length, 3, "what would be 1.5 and a little more does not fit");
  assert.ok(epsilon > 1.25 && epsilon < 1.25 + 1e-15);
  // Where nothing is rounded, nothing is added.
  const exact = await PrivacyLedger.open({ maxEpsilon: 4, onStorageDenied });
  for (const folds of [1, 2]) await exact.report(randomizer(folds, 2), RECORD, { url });
  assert.equal((await exact.status()).epsilon, 4);
});

test("deltas have a budget of their own", async () => {
  const ledger = await PrivacyLedger.open({ maxEpsilon: Infinity, maxDelta: 3e-6, onStorageDenied });
  await ledger.report(randomizer(1, 1, 2e-6), RECORD, { url });
  await refuses(ledger.report(randomizer(2, 1, 2e-6), RECORD, { url }), "budget", /delta 0\.000004.*allows 0\.000003/);
  await ledger.report(randomizer(3, 1, 1e-6), RECORD, { url });
  assert.equal((await ledger.status()).reports.length, 2);
});
