// One schema, week after week: twelve weeks on one device, with the client's own tasks and ledger.

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { campaigns } from "../../pkg/checks.js";
import { consent, init, Randomizer, Task } from "../../pkg/inline.js";
import { de } from "../../pkg/sentences.js";
import { accepted, newDevice, openOn, OWN, url } from "./ledger-tools.js";
import { RECORD, secondWave, TASK } from "./task.js";

before(() => init());

const WEEKS = Array.from({ length: 12 }, (_, index) => `2026-W${37 + index}`);

const weekly = (period, epsilon = TASK.mechanism.epsilon) =>
  Task.parse({ ...TASK, mechanism: { ...TASK.mechanism, epsilon }, period });

const randomizerOf = (task) => new Randomizer(task, { maxEpsilon: 2 });

test("a task's period is in its digest, its facts and its document", () => {
  const [plain, week] = [Task.parse(TASK), weekly("2026-W48")];
  assert.deepEqual([plain.period, week.period, week.toJSON().period], [undefined, "2026-W48", "2026-W48"]);
  assert.equal(Object.hasOwn(plain, "period"), false);
  assert.notEqual(plain.digest, week.digest);
  assert.deepEqual([randomizerOf(plain).period, randomizerOf(week).period], [undefined, "2026-W48"]);
  for (const period of ["", "week 48", null, 48]) assert.throws(() => weekly(period), { code: "task" });
});

test("twelve weeks: one report a week, and none beyond what the page allows in a week and in all", async () => {
  const [device, sent] = [newDevice(), []];
  const deliver = async ({ id, taskDigest }) => {
    sent.push([taskDigest, id]);
    return accepted();
  };
  // Ten weeks of epsilon 2, and half of another.
  const limits = { maxEpsilon: 21, maxEpsilonPerPeriod: 2 };
  for (const [index, period] of WEEKS.entries()) {
    const task = weekly(period);
    // Each week is another visit.
    const ledger = await openOn(device, limits, { deliver });
    const send = (asked) => ledger.send(randomizerOf(asked), RECORD, OWN);
    if (index >= 10) {
      await assert.rejects(send(task), { code: "budget", message: /together would spend epsilon 22, .*allows 21$/ });
      assert.equal((await ledger.status()).epsilon, 20);
      continue;
    }
    const { id, status, taskDigest } = await send(task);
    assert.deepEqual([status, taskDigest], ["accepted", task.digest]);
    const again = await send(task);
    assert.deepEqual([again.status, again.id], ["duplicate", id], "the week's report is made once");
    // Another question in the same week, however small.
    const refusal = { code: "budget", message: /^this period's .* 2\.25, .*allows 2$/ };
    await assert.rejects(send(weekly(period, 0.25)), refusal);
    const { epsilon, reports } = await ledger.status();
    assert.equal(epsilon, 2 * (index + 1));
    assert.deepEqual(reports.map((report) => report.period), WEEKS.slice(0, index + 1));
    ledger.close();
  }
  assert.equal(new Set(sent.map(String)).size, 10);
  const digests = WEEKS.slice(0, 10).map((period) => weekly(period).digest);
  assert.deepEqual(sent.map(([digest]) => digest), digests);
});

test("the second wave of a week is of that week, and one that claims another is a promise of its own", async (t) => {
  const first = weekly(WEEKS[0]);
  const wave = (period) => Task.parse({ ...secondWave(first.toJSON(), first.digest), period });
  const [second, foreign] = [wave(WEEKS[0]), wave(WEEKS[1])];
  t.after(() => [second, foreign].forEach(({ digest }) => delete campaigns[digest]));
  const ledger = await openOn(newDevice(), { maxEpsilon: 4, maxEpsilonPerPeriod: 2 });
  const { id } = await ledger.report(randomizerOf(first), RECORD, { url });
  assert.equal((await ledger.report(randomizerOf(second), RECORD, { url })).id, id);
  assert.equal((await ledger.status()).epsilon, 2);
  await ledger.report(randomizerOf(foreign), RECORD, { url });
  const { epsilon, reports } = await ledger.status();
  assert.deepEqual([epsilon, reports.map(({ period }) => period)], [4, WEEKS.slice(0, 2)]);
});

test("the consent says what a week reveals at most, and all weeks together", () => {
  const task = weekly(WEEKS[0], 0.25);
  const limits = { maxEpsilon: 3, maxEpsilonPerPeriod: 0.25, maxDelta: 0 };
  const { scope, text } = consent(task, { limits });
  // 0.01 e^0.25 and 0.01 e^3.
  assert.match(scope, /^This page asks again\. .* find at most 13; .* at most 201, which is the number/);
  assert.ok(text.endsWith(scope));
  assert.match(consent(task, { limits, sentences: de }).scope, /höchstens 13 erkannt, .* höchstens 201\./);
  // 1 - 0.99 e^-5, and no limit at all.
  const wide = { ...limits, maxEpsilonPerPeriod: 5, maxEpsilon: Infinity };
  assert.match(consent(task, { limits: wide }).scope, /994; .* 1,000/);
  // Without a limit for a period, that of all is the one.
  assert.match(consent(task, { limits: { maxEpsilon: 0.25, maxDelta: 0 } }).scope, /13; .* 13/);
  for (const wrong of [{ maxEpsilon: undefined }, { maxEpsilonPerPeriod: NaN }, { maxDelta: -1 }]) {
    const refusal = { code: "argument", message: /: give a number$/ };
    assert.throws(() => consent(task, { limits: { maxEpsilon: 1, ...wrong } }), refusal);
  }
  const { repeated, ...sentences } = de;
  assert.throws(() => consent(task, { limits, sentences }), { code: "argument", message: /'repeated'/ });
});
