// The cost of reports: each once, in full, to the last bit of the budget.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { PrivacyLedger } from "../../pkg/ledger.js";
import {
  accepted, digestOf, down, entryOf, expired, newDevice, openOn, OWN, randomizerOf, url,
} from "./ledger-tools.js";
import { rejects } from "./throws.js";

const onStorageDenied = () => true;

/** The table that Rust and Python read, too. */
const { version, cases } = JSON.parse(
  readFileSync(new URL("../vectors/accounting/composition.json", import.meta.url), "utf8"),
);

/** The double beside a positive one, so many further up. */
function beside(number, steps) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, number);
  view.setBigUint64(0, view.getBigUint64(0) + BigInt(steps));
  return view.getFloat64(0);
}

/** A ledger that forgets. */
let pages = 0;
const open = (limits) => PrivacyLedger.open({ name: `page ${(pages += 1)}`, onStorageDenied, ...limits });

/** That the report does not fit, and costs nothing. */
async function isRefused(ledger, randomizer, part = /./) {
  const before = await ledger.status();
  await rejects(ledger.report(randomizer, {}, { url }), "budget", part);
  assert.deepEqual(await ledger.status(), before);
  assert.equal(randomizer.made.length, 0, "the record was not looked at");
}

const fits = (ledger, randomizer) => ledger.report(randomizer, {}, { url });

test("all reports of the table cost what it says, in any order, and fit exactly", async () => {
  assert.ok(version === 1 && cases.length >= 16);
  for (const { name, parts, sums } of cases) {
    const each = parts.flatMap(({ reports, guarantee }) => Array(reports).fill(guarantee));
    const middle = each.length >> 1;
    for (const order of [each, [...each].reverse(), [...each.slice(middle), ...each.slice(0, middle)]]) {
      const randomizers = order.map(({ epsilon, delta }, index) => randomizerOf(index + 1, epsilon, delta));
      const ledger = await open({ maxEpsilon: Infinity, maxDelta: 1 });
      for (const randomizer of randomizers) await fits(ledger, randomizer);
      const { epsilon, delta, reports } = await ledger.status();
      assert.equal(reports.length, each.length, name);
      // Every addition may round up by two ulps.
      const most = 1 + 2 * each.length * Number.EPSILON;
      assert.ok(epsilon >= sums.epsilon && epsilon <= sums.epsilon * most, `${name}: ${epsilon} of ${sums.epsilon}`);
      assert.ok(delta >= sums.delta && delta <= sums.delta * most, `${name}: ${delta} of ${sums.delta}`);
      const exact = await open({ maxEpsilon: epsilon, maxDelta: delta });
      for (const randomizer of randomizers) await fits(exact, randomizer);
      for (const limits of [
        { maxEpsilon: beside(epsilon, -1), maxDelta: delta },
        delta && { maxEpsilon: epsilon, maxDelta: beside(delta, -1) },
      ]) {
        if (!limits) continue;
        const tight = await open(limits);
        const refused = [];
        for (const [index, randomizer] of randomizers.entries())
          await fits(tight, randomizer).catch(({ code }) => refused.push([index, code]));
        // The last that has any of what is short.
        const last = order.findLastIndex((guarantee) => guarantee.delta > 0 || limits.maxEpsilon < epsilon);
        assert.deepEqual(refused, [[last, "budget"]], name);
      }
    }
  }
});

test("without a limit of its own, delta is at most a hundred-thousandth, and no next double", async () => {
  const usual = await open({ maxEpsilon: Infinity });
  await isRefused(usual, randomizerOf(1, 1, beside(1e-5, 1)), /delta/);
  await fits(usual, randomizerOf(1, 1, 1e-5));
});

test("sums are the real ones where nothing is rounded, and the next double or the one after it where something is", async () => {
  let state = 7;
  const number = (bits) => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) >>> (32 - bits);
  for (let round = 0; round < 300; round += 1) {
    // Whole numbers of 2^-90.
    const [first, second] = [0, 1].map(() => BigInt(1 + number(26)) << BigInt(number(6)));
    const sum = first + second;
    const ledger = await open({ maxEpsilon: Infinity });
    for (const [index, whole] of [first, second].entries())
      await fits(ledger, randomizerOf(index + 1, Number(whole) * 2 ** -90));
    const found = (await ledger.status()).epsilon * 2 ** 90;
    if (BigInt(Number(sum)) === sum) assert.equal(found, Number(sum));
    else assert.ok(BigInt(found) > sum && BigInt(beside(found, -2)) < sum, `${first} ${second}: ${found}`);
  }
});

test("a task costs the same whether or not its report is sent, and only once", async () => {
  const becomes = {
    booked: [
      async (ledger, one) =>
        ledger.report({ ...one, randomize: () => Promise.reject(down()) }, {}, { url }).catch(() => {}),
    ],
    pending: [
      (ledger, one) => ledger.report(one, {}, { url }),
      (ledger, one) => ledger.send(one, {}, OWN),
      (ledger) => ledger.flush(),
    ],
    sent: [(ledger, one) => ledger.send(one, {}, OWN), (ledger) => ledger.flush()],
    refused: [(ledger, one) => ledger.send(one, {}, OWN), (ledger) => ledger.flush()],
    withdrawn: [
      (ledger, one) => ledger.report(one, {}, { url }),
      (ledger, one) => ledger.withdraw(one.taskDigest),
      (ledger) => ledger.flush(),
    ],
  };
  for (const [state, steps] of Object.entries(becomes)) {
    const deliver = async () => {
      if (state === "sent") return accepted();
      throw state === "refused" ? expired() : down();
    };
    const ledger = await openOn(newDevice(), { maxEpsilon: 4, maxDelta: 2 ** -19 }, { deliver });
    const one = randomizerOf(1, 2.5, 2 ** -20);
    for (const step of [...steps, ...steps]) {
      // A withdrawn report cannot be made again.
      await step(ledger, one).catch(({ code }) => assert.equal(code, "spent"));
      const { epsilon, delta, reports } = await ledger.status();
      assert.deepEqual([epsilon, delta, reports.length], [2.5, 2 ** -20, 1], state);
    }
    assert.equal((await ledger.status()).reports[0].state, state);
    await isRefused(ledger, randomizerOf(2, beside(1.5, 1), 2 ** -20), /epsilon 4\.00000000000000/);
    await isRefused(ledger, randomizerOf(2, 1.5, 3 * 2 ** -20), /delta/);
    await fits(ledger, randomizerOf(2, 1.5, 2 ** -20));
    assert.equal((await ledger.status()).epsilon, 4);
  }
});

/** Tasks of two weeks and of none, as the ledger is asked for them: `[number, epsilon, period]`. */
const MENU = [
  [1, 1, "W1"], [2, 1, "W1"], [3, 1.5, "W1"], [4, 1, "W2"], [5, 2.5, "W2"], [6, 1, undefined], [7, 2, undefined],
];
const PERIODS = ["W1", "W2", undefined];

/** All sequences of so many tasks of the menu, with repetitions. */
function* sequences(length) {
  if (length === 0) yield [];
  else for (const rest of sequences(length - 1)) for (const task of MENU) yield [...rest, task];
}

test("whatever is asked for in whatever order, neither a period nor all periods reveal more than the page allows", async () => {
  const limits = { maxEpsilon: 4, maxEpsilonPerPeriod: 2 };
  const sum = (tasks, periods) =>
    tasks.filter(([, , period]) => periods.includes(period)).reduce((all, [, epsilon]) => all + epsilon, 0);
  let most = 0;
  for (const sequence of sequences(4)) {
    const ledger = await openOn(newDevice(), limits);
    const granted = [];
    for (const task of sequence) {
      const [number, epsilon, period] = task;
      const known = granted.includes(task);
      const all = [...granted, task];
      const fitting = known || (sum(all, PERIODS) <= 4 && sum(all, [period]) <= 2);
      const outcome = await fits(ledger, randomizerOf(number, epsilon, 0, period)).then(() => true, ({ code }) => code);
      assert.equal(outcome, fitting || "budget", JSON.stringify(sequence));
      if (fitting && !known) granted.push(task);
    }
    // Two people whose values differ in these periods: the reports of the others follow the same law for both.
    for (let chosen = 0; chosen < 8; chosen += 1) {
      const differing = PERIODS.filter((_, index) => (chosen >> index) & 1);
      const loss = sum(granted, differing);
      assert.ok(loss <= Math.min(4, 2 * differing.length), JSON.stringify([sequence, differing]));
      most = Math.max(most, loss);
    }
    const { epsilon, reports } = await ledger.status();
    assert.equal(epsilon, sum(granted, PERIODS));
    assert.deepEqual(reports.map(({ period }) => period), granted.map(([, , period]) => period));
  }
  assert.equal(most, 4, "the limits are reached");
});

test("a period's limit is spent to its last bit, and what was kept before is of no period", async () => {
  const device = newDevice();
  // As a ledger wrote it that knew no periods.
  await device.put({ ...entryOf(randomizerOf(1, 2)), booked: true });
  const ledger = await openOn(device, { maxEpsilon: 4, maxEpsilonPerPeriod: 1 });
  await isRefused(ledger, randomizerOf(2, 5e-324), /^this period's reports would spend epsilon 2\.0.*page allows 1$/);
  await fits(ledger, randomizerOf(3, 0.75, 0, "W1"));
  await isRefused(ledger, randomizerOf(4, beside(0.25, 1), 0, "W1"), /this period's reports/);
  await fits(ledger, randomizerOf(4, 0.25, 0, "W1"));
  await fits(ledger, randomizerOf(5, 1, 0, "W2"));
  await isRefused(ledger, randomizerOf(6, 5e-324, 0, "W3"), /^all reports together would spend epsilon 4\.0/);
  const { epsilon, reports } = await ledger.status();
  assert.deepEqual([epsilon, reports.map(({ period }) => period)], [4, [undefined, "W1", "W1", "W2"]]);
});

test("two tabs have one budget, and a task in both costs once", async () => {
  const device = newDevice();
  const tabs = await Promise.all([1, 2].map(() => openOn(device, { maxEpsilon: 3 })));
  await Promise.all(tabs.map((tab) => fits(tab, randomizerOf(1, 1))));
  await fits(tabs[0], randomizerOf(2, 1));
  for (const tab of tabs) {
    await isRefused(tab, randomizerOf(3, 1.5));
    assert.equal((await tab.status()).epsilon, 2);
  }
  // Both at once: one of them.
  const both = await Promise.allSettled(tabs.map((tab, index) => fits(tab, randomizerOf(4 + index, 1))));
  assert.deepEqual(both.map(({ status }) => status), ["fulfilled", "rejected"]);
  assert.equal((await tabs[1].status()).epsilon, 3);
  // Each page has its own limits, but the spent budget is common.
  const wide = await openOn(device, { maxEpsilon: 5 });
  await isRefused(wide, randomizerOf(6, 2.5), /epsilon 5\.5, and this page allows 5$/);
  await fits(wide, randomizerOf(6, 2));
});

test("invalid limits open no ledger, and a value that is not a randomizer books nothing", async () => {
  for (const limits of [
    undefined,
    {},
    { maxEpsilon: NaN },
    { maxEpsilon: -1 },
    { maxEpsilon: "2" },
    { maxEpsilon: 2, maxDelta: -1 },
    { maxEpsilon: 2, maxEpsilonPerPeriod: "1" },
    { maxEpsilonPerPeriod: 1 },
  ]) {
    const device = newDevice();
    await assert.rejects(PrivacyLedger.open(limits && { onStorageDenied, ...limits }, device), { code: "argument" });
    assert.deepEqual(device.names, []);
  }
  const ledger = await open({ maxEpsilon: 0 });
  for (const other of [undefined, null, {}, { randomize: 1 }]) {
    await rejects(ledger.report(other, {}, { url }), "argument", "give a Randomizer");
    await rejects(ledger.send(other, {}, { url }), "argument");
  }
  await rejects(ledger.report(randomizerOf(1, 1), {}), "argument");
  await isRefused(ledger, randomizerOf(1, 5e-324));
  assert.deepEqual(await ledger.status(), { epsilon: 0, delta: 0, reports: [] });
  assert.equal(digestOf(1).length, 64);
});
