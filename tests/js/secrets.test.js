// Errors go to error trackers, so nothing of them may be an answer: no value of a record, and no name that the task
// does not have. Nor may warnings. Random records have a mark in every value and in every such name, and random faults.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { inspect } from "node:util";

import * as lab from "../../pkg/lab-node.js";
import { init, PrivacyLedger, Randomizer, RecordError, Task } from "../../pkg/inline.js";
import { seededBy } from "../../pkg/seeded.js";
import { LIMITS, numericColumns, TASK } from "./task.js";

const TEXT = "s3cret-7f3a";
const NUMBER = 73155245.5;
const MARKS = /s3cret|7f3a|7315524/;

const COLUMNS = [
  ...TASK.schema.columns,
  { name: "device", type: "categorical", values: ["phone", "other"], unseen: "other" },
];
const DOCUMENT = { ...TASK, schema: { columns: COLUMNS } };
const REASONS = new Set(["missing", "type", "unknown", "length", "shape"]);

/** Numbers from 0 to below 1 (mulberry32). */
function generator(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let bits = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

const throwing = () => { throw new Error(TEXT, { cause: new TypeError(TEXT) }); };

/** Values that no column takes. */
const ODD = [
  () => Symbol(TEXT), () => Object.assign(() => TEXT, { [TEXT]: TEXT }), () => [TEXT], () => ({ [TEXT]: NUMBER }),
  () => new Date(NUMBER), () => new Map([[TEXT, NUMBER]]), () => new Set([TEXT]), () => new String(TEXT),
  () => new Number(NUMBER), () => new Error(TEXT), () => new RegExp(TEXT), () => new URL(`https://${TEXT}.example/`),
  () => Promise.resolve(TEXT), () => Uint8Array.of(73, 15, 52, 45),
  () => ({ toString: () => TEXT, valueOf: () => NUMBER, toJSON: () => TEXT, [Symbol.toPrimitive]: () => TEXT }),
  () => ({
    toString: throwing,
    toJSON: throwing,
    [Symbol.toPrimitive]: throwing,
    get [Symbol.toStringTag]() {
      return TEXT;
    },
  }),
  () => class extends Array { static [TEXT] = TEXT; },
];

/** Values that only a category may be. */
const SPELLED = [() => true, () => BigInt(73155245)];

/** Values that a column accepts, including missing ones. */
const NONE = [() => null, () => undefined, () => NaN, () => Infinity];
const GOOD = {
  numeric: [() => NUMBER, () => -NUMBER, ...NONE],
  categorical: [() => TEXT, () => `${TEXT}\ud800`, () => `"\\\u0000\u2028${TEXT}`, () => NUMBER, ...SPELLED, ...NONE],
  ignored: [() => TEXT, () => NUMBER, ...SPELLED, ...ODD, ...NONE],
};
const WRONG = { numeric: [() => TEXT, ...SPELLED, ...ODD], categorical: ODD, ignored: ODD };

/** What has a problem as a record: most of it is none. */
const SHAPES = [
  () => undefined, () => null, () => TEXT, () => NUMBER, () => new Float32Array([NUMBER]),
  () => new DataView(new ArrayBuffer(8)), () => Object.assign(new FormData(), {}),
  () => {
    const form = new FormData();
    form.set(TEXT, TEXT);
    return form;
  },
  () => new Proxy({}, { ownKeys: throwing }), () => new Proxy({}, { getPrototypeOf: throwing }),
  () => new Proxy([], { get: throwing }), () => ({ get [Symbol.toStringTag]() { return throwing(); } }),
  () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  },
  ...SPELLED,
  ...ODD.filter((make) => !Array.isArray(make())),
];

/** A random record, and how many of its columns and names are wrong. */
function randomRecord(random) {
  const one = (makers) => makers[Math.floor(random() * makers.length)]();
  const faulty = random() < 0.7;
  const wrong = () => faulty && random() < 0.3;
  if (faulty && random() < 0.2) return [one(SHAPES), 1];
  let faults = 0;
  const note = (value) => ((faults += 1), value);
  if (random() < 0.3) {
    const values = COLUMNS.map(({ type }) => {
      if (type === "ignored") return one(GOOD.ignored);
      return wrong() ? note(one(WRONG[type])) : one(GOOD[type]);
    });
    if (!wrong())
      return [
        random() < 0.5 || faults > 0 ? values : Float64Array.from({ length: COLUMNS.length }, () => NUMBER),
        faults,
      ];
    const short = random() < 0.5;
    return [short ? values.slice(1) : [...values, ...values], 1];
  }
  const entries = [];
  for (const { name, type } of COLUMNS) {
    if (type === "ignored" ? random() < 0.5 : wrong() && random() < 0.5 && note(true)) continue;
    const bad = type !== "ignored" && wrong();
    if (bad && random() < 0.2) entries.push([name, { get: throwing, enumerable: true }, note(true)]);
    else entries.push([name, { value: bad ? note(one(WRONG[type])) : one(GOOD[type]), enumerable: true }]);
  }
  while (wrong())
    entries.push([`${TEXT} ${note(random())}`, { value: one([...GOOD.numeric, ...WRONG.numeric]), enumerable: true }]);
  entries.sort(() => random() - 0.5);
  const record = Object.create(random() < 0.3 ? null : random() < 0.3 ? { [TEXT]: TEXT } : Object.prototype);
  for (const [name, property] of entries) Object.defineProperty(record, name, property);
  // Properties that are not enumerable, or not names, are not part of a record.
  Object.defineProperty(record, `${TEXT} hidden`, { value: TEXT, enumerable: false });
  record[Symbol(TEXT)] = TEXT;
  // As frameworks give them.
  return [random() < 0.3 ? new Proxy(record, {}) : record, faults];
}

/** All that an error says, and what it came from. */
function* words(error, seen = new Set()) {
  if (seen.has(error) || error === undefined) return;
  seen.add(error);
  yield inspect(error, { depth: Infinity, showHidden: true });
  yield String(error);
  yield JSON.stringify(error) ?? "";
  if (Object(error) !== error) return;
  for (const name of [...Reflect.ownKeys(error), "message", "stack", "cause"]) {
    yield String(name);
    yield* words(error[name], seen);
  }
}

function silent(error, round) {
  for (const said of words(error)) assert.doesNotMatch(said, MARKS, `record ${round}`);
}

before(() => Promise.all([init(), lab.init()]));

test("nothing said about a record has a value, or a name that the task does not have", async (t) => {
  const { mock: warned } = t.mock.method(console, "warn", () => {});
  const task = Task.parse(DOCUMENT);
  const labTask = lab.Task.parse(DOCUMENT);
  const randomizer = new Randomizer(task, LIMITS);
  const strict = new Randomizer(task, { ...LIMITS, strict: true });
  const ledger = await PrivacyLedger.open({ maxEpsilon: 1e9, onStorageDenied: () => true });
  const names = COLUMNS.filter(({ type }) => type !== "ignored").map(({ name }) => name);
  const random = generator(7);
  const told = { reports: 0 };
  for (let round = 0; round < 4000; round += 1) {
    const [record, faults] = randomRecord(random);
    const problems = task.check(record);
    assert.equal(problems.length > 0, faults > 0, `record ${round}: ${inspect(problems)}`);
    for (const problem of problems) {
      silent(problem, round);
      assert.ok(problem instanceof RecordError && REASONS.has(problem.reason), inspect(problem));
      assert.equal(problem.code, problem.reason === "shape" ? "record" : "schema");
      const named = problem.reason === "missing" || problem.reason === "type";
      assert.equal(names.includes(problem.column), named, inspect(problem));
      if (named) assert.ok(problem.message.includes(`'${problem.column}'`));
      told[problem.reason] = (told[problem.reason] ?? 0) + 1;
    }
    const isRecord = problems[0]?.reason !== "shape";
    if (isRecord) {
      told.reports += 1;
      assert.equal(randomizer.randomize(record).bytes.length, task.reportBytes);
      assert.equal(lab.encode(labTask, record).features.length, labTask.dimension);
    }
    if (faults === 0) continue;
    const lenient = [() => randomizer.randomize(record), () => lab.encode(labTask, record)];
    for (const use of [
      () => strict.randomize(record),
      () => seededBy(new Uint8Array(32))(() => strict.randomize(record)),
      ...(isRecord ? [] : lenient),
    ]) {
      assert.throws(use, (error) => {
        silent(error, round);
        assert.deepEqual([error.reason, error.column], [problems[0].reason, problems[0].column]);
        return true;
      });
    }
    if (round % 40 === 0) {
      await assert.rejects(ledger.report(strict, record, { url: "http://127.0.0.1:9" }), (error) => {
        silent(error, round);
        return error instanceof RecordError;
      });
    }
  }
  for (const { arguments: words } of warned.calls) silent(words, "warned of");
  assert.ok(warned.callCount() >= 5);
  // All there is came up.
  assert.ok(
    Object.keys(told).length === 1 + REASONS.size && Object.values(told).every((count) => count > 50),
    inspect(told),
  );
});

test("check reports everything at once, in the order of the columns", () => {
  const task = Task.parse(DOCUMENT);
  const found = (record) => task.check(record).map(({ code, reason, column }) => [code, reason, column]);
  assert.deepEqual(found({ height: 181, plan: "gratis", device: null }), []);
  assert.deepEqual(found({ device: [], height: "tall", one: 1, two: 2, note: {} }), [
    ["schema", "type", "height"],
    ["schema", "missing", "plan"],
    ["schema", "type", "device"],
    ["schema", "unknown", undefined],
  ]);
  assert.deepEqual(found([181, "", "free", true]), []);
  assert.deepEqual(found(["tall", "", [], {}, 1]), [
    ["schema", "type", "height"],
    ["schema", "type", "plan"],
    ["schema", "type", "device"],
    ["schema", "length", undefined],
  ]);
  assert.deepEqual(found([]), [["schema", "length", undefined]]);
  assert.deepEqual(found(), [["record", "shape", undefined]]);
  const [{ message }] = task.check({ height: 1, plan: null, device: null, one: 1, two: 2 });
  assert.equal(message, "unknown columns: the task has height, note, plan, device");
  const problems = Task.parse({ ...TASK, schema: { columns: numericColumns(20) } }).check({ one: 1 });
  assert.equal(problems.length, 21);
  assert.match(problems[20].message, /has x0, .*x11, …$/);
  task.free();
  assert.throws(() => task.check({}), { code: "argument", message: /freed/ });
});
