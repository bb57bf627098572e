// Every record has a report, whatever it holds: the law is in docs/guides/records.md.

import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { before, beforeEach, test } from "node:test";

import * as api from "../../pkg/inline.js";
import * as testing from "../../pkg/testing.js";
import { anyRecord, numbersFrom, refusals } from "./any-record.js";
import { LIMITS, RECORD, TASK } from "./task.js";
import { throws } from "./throws.js";

const { init, PrivacyLedger, Randomizer, Task } = api;

let warned;

before(() => init());

beforeEach(({ mock }) => {
  warned = [];
  mock.method(console, "warn", (...words) => warned.push(words.join(" ")));
});

/** A task with columns that no other test has: the console has each problem once. */
function taskWith(name) {
  const [height, note, plan] = TASK.schema.columns;
  const columns = [{ ...height, name }, plan, ...["a", "b", "c"].map((name) => ({ ...note, name }))];
  return Task.parse({ ...TASK, schema: { columns } });
}

test("no example has a form whose browser holds answers back", () => {
  const examples = readdirSync("examples", { recursive: true }).filter((name) => !/node_modules|dist/.test(name));
  const files = ["pkg/README.md", ...examples.map((name) => join("examples", name))];
  const texts = files.filter((file) => statSync(file).isFile()).map((file) => readFileSync(file, "utf8"));
  const forms = texts.flatMap((text) => text.match(/<form\b[^>]*/g) ?? []);
  assert.equal(forms.length, 6);
  for (const form of forms) assert.match(form, /\bnovalidate\b/i);
});

test("a record of any content has the report of what its columns read", async () => {
  assert.deepEqual(await refusals(api, { seed: 20_261_128, tasks: 600, seeded: true }), []);
  assert.ok(warned.length > 10);
  for (const text of warned) assert.doesNotMatch(text, /s3cret|spring|xxx/);
  assert.equal(new Set(warned).size, warned.length);
});

/**
 * A task of an author who wants some records to fail, to read without noise who answered what: extreme numbers, odd
 * categories, no room for a direction.
 */
function hostileTask(number) {
  const one = (...values) => values[Math.floor(number() * values.length)];
  const extreme = () => one(0, 1, -1, 0.1, 52_001, 1e100, -1e100, 1e-100, 1e101, 1e308, 5e-324, 2 ** -1022, 1.1e-100);
  const columns = Array.from({ length: 1 + Math.floor(3 * number()) }, (_, index) => {
    const name = `c${index}`;
    if (number() < 0.5) return { name, type: "numeric", offset: extreme(), scale: extreme() };
    const values = one(["a"], ["a", ""], ["a", "other"]);
    return { name, type: "categorical", values, unseen: one("zero", "other") };
  });
  const [cap, delta] = [one(1, 8, 0), one(1e-12, 1e-9, 1e-6)];
  const mechanism = one(
    { type: "double-cap", epsilon: one(1e-6, 0.1, 4, 30), candidates: one(2, 16, 64), cap },
    { type: "gaussian", epsilon: one(1e-6, 1, 50), delta, calibration: one("analytic", "paper") },
  );
  const bounding = one({ type: "unit-norm" }, { type: "clip", radius: one(1e-150, 1, 1e150) });
  return { version: 1, schema: { columns }, bounding, mechanism, folds: one(1, 5) };
}

test("a thousand hostile tasks: each is refused, or any record has a report, and one is booked", async () => {
  const number = numbersFrom(20_261_122);
  const asked = { refused: 0, answered: 0 };
  const onStorageDenied = () => true;
  const ledger = await PrivacyLedger.open({ name: "hostile", maxEpsilon: Infinity, maxDelta: 1, onStorageDenied });
  const digests = new Set();
  while (asked.refused + asked.answered < 1000) {
    const hostile = hostileTask(number);
    let task;
    let one;
    try {
      task = Task.parse(hostile);
      one = new Randomizer(task, { maxEpsilon: Infinity, maxDelta: 1 });
    } catch (error) {
      assert.equal(error.code, "task", String(error));
      asked.refused += 1;
      continue;
    }
    asked.answered += 1;
    const { columns } = hostile.schema;
    for (let record = 0; record < 5; record++) {
      const { bytes } = one.randomize(anyRecord(columns, number).record);
      assert.equal(bytes.length, task.reportBytes);
    }
    digests.add(one.taskDigest);
    await ledger.report(one, anyRecord(columns, number).record, { url: "http://127.0.0.1:9" });
    assert.equal((await ledger.status()).reports.length, digests.size, "booked");
  }
  assert.ok(asked.refused > 100 && asked.answered > 100, JSON.stringify(asked));
});

test("the console has a warning once for each column, with its rule and without a value", () => {
  const randomizer = new Randomizer(taskWith("weight"), LIMITS);
  const records = [
    { weight: "s3cret", plan: {} },
    { weight: true, plan: () => "s3cret" },
    { plan: "paid" },
    [() => {}, Symbol("s3cret"), 0, 0, 0],
    { weight: 70, plan: "paid", "s3cret name": 1 },
    { weight: 70, plan: "paid", one: 1, two: 2 },
    [70, 0],
    [70, 0, 0, 0, 0, 0],
  ];
  for (const record of records) assert.equal(randomizer.randomize(record).bytes.length, 35);
  const why = "ldp-pca counts as missing:";
  assert.deepEqual(warned, [
    `${why} column 'weight' is numeric: give a number or null`,
    `${why} column 'plan' is categorical: give a string or null`,
    `${why} unknown columns: the task has weight, plan, a, b, c`,
    `${why} give a value for each of 5 columns, ignored ones included`,
  ]);
  for (const missing of [null, undefined, NaN, Infinity]) {
    randomizer.randomize({ weight: missing, plan: missing });
    new Randomizer(taskWith("silent"), LIMITS).randomize([missing, missing, 0, 0, 0]);
    new Randomizer(taskWith("silent"), LIMITS).randomize({ silent: 70, a: {}, plan: "gratis" });
  }
  assert.equal(warned.length, 4);
});

test("randomizers for tests are strict, unless they are not to be", async () => {
  const wrong = { height: "tall", plan: [] };
  await testing.init();
  const task = Task.parse(TASK);
  const strict = new testing.Randomizer(task, LIMITS);
  throws(() => strict.randomize(wrong), "schema", /^column 'height' is numeric: give a number or null$/);
  assert.equal(strict.randomize(RECORD).bytes.length, 35);
  assert.deepEqual(warned, []);
  const lenient = new testing.Randomizer(task, { ...LIMITS, strict: false });
  assert.equal(lenient.randomize(wrong).bytes.length, 35);
  // What is no record at all is the host's mistake, whatever anybody answered.
  throws(() => lenient.randomize(new Map()), "record", /the record is an object: give a plain object/);
});

test("a record of more names than a set holds has a report", ({ mock }) => {
  const { add } = Set.prototype;
  mock.method(Set.prototype, "add", function (value) {
    if (value === "one too many") throw new RangeError("Set maximum size exceeded");
    return add.call(this, value);
  });
  const record = { many: 70, "one too many": 0 };
  assert.equal(new Randomizer(taskWith("many"), LIMITS).randomize(record).bytes.length, 35);
});

test("a console that throws is called once, and every record has a report", ({ mock }) => {
  const warn = mock.method(console, "warn", () => assert.fail());
  const randomizer = new Randomizer(taskWith("thrown"), LIMITS);
  for (let one = 0; one < 3; one += 1) {
    assert.equal(randomizer.randomize({ thrown: "s3cret", a: 0, b: 0, c: 0, plan: null }).bytes.length, 35);
  }
  assert.equal(warn.mock.callCount(), 1);
});
