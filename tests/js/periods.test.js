// One schema, week after week, with the client's own tasks and ledger. What all weeks of a device may spend is in
// ledger-budget.test.js.

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { campaigns } from "../../pkg/checks.js";
import { consent, init, Randomizer, Task } from "../../pkg/inline.js";
import { de } from "../../pkg/sentences.js";
import { newDevice, openOn, url } from "./ledger-tools.js";
import { RECORD, secondWave, TASK } from "./task.js";

before(() => init());

const WEEKS = ["2026-W37", "2026-W38"];

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
  assert.deepEqual([epsilon, reports.map(({ period }) => period)], [4, WEEKS]);
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
