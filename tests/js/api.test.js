import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { before, describe, test } from "node:test";

import { init, LdpPcaError, Randomizer, Report, Task, version } from "../../pkg/inline.js";
import { seededBy } from "../../pkg/seeded.js";
import { LIMITS, numericColumns, RECORD, TASK } from "./task.js";
import { throws } from "./throws.js";

const NODE_ENTRY = new URL("../../pkg/inline.js", import.meta.url).href;

/** What is printed by a module in a Node of its own, where nothing is loaded yet. */
function inNewNode(code) {
  const script = `
    import { init, LdpPcaError, Randomizer, Task, version } from "${NODE_ENTRY}";
    const tell = (error) => console.log(error instanceof LdpPcaError, error.code);
    ${code}`;
  return execFileSync(process.execPath, ["--input-type=module", "--eval", script], { encoding: "utf8" }).trim();
}

/** The reports, as one text, that a randomizer makes of a record from several seeds: two records may share one. */
function reportsOf(randomizer, record) {
  const seeds = Array.from({ length: 32 }, (_, seed) => new Uint8Array(32).fill(seed));
  return seeds.map((seed) => String(seededBy(seed)(() => randomizer.randomize(record)).bytes)).join(" ");
}

describe("before and during init", () => {
  test("everything says to call init first", () => {
    const code = `
      for (const use of [version, () => Task.parse("{}"), () => new Randomizer({})]) {
        try { use(); } catch (error) { tell(error); }
      }`;
    assert.equal(inNewNode(code), "true init\ntrue init\ntrue init");
  });

  test("a module that is none, and a host without WebAssembly, are errors, and the next call tries again", () => {
    const code = `
      await init(new Uint8Array([1, 2, 3])).catch(tell);
      const { WebAssembly } = globalThis;
      delete globalThis.WebAssembly;
      await init().catch(tell);
      Object.assign(globalThis, { WebAssembly });
      await init();
      console.log(version() !== "");`;
    assert.equal(inNewNode(code), "true init\ntrue init\ntrue");
  });

  test("without crypto there is an error and no report", () => {
    const code = `
      Object.defineProperty(globalThis, "crypto", { value: undefined });
      await init();
      const randomizer = new Randomizer(Task.parse(${JSON.stringify(TASK)}), { maxEpsilon: 2 });
      try { console.log(randomizer.randomize(${JSON.stringify(RECORD)})); } catch (error) { tell(error); }`;
    assert.equal(inNewNode(code), "true entropy");
  });
});

describe("the package", () => {
  before(async () => {
    const first = init();
    assert.equal(init(), first, "init is idempotent");
    await first;
  });

  test("is of this version of the crate", () => {
    const [, expected] = readFileSync(new URL("../../Cargo.toml", import.meta.url), "utf8").match(/^version = "(.*)"/m);
    assert.equal(version(), expected);
  });

  test("says what a task asks for", () => {
    const task = Task.parse(JSON.stringify(TASK));
    assert.match(task.digest, /^[0-9a-f]{64}$/);
    assert.equal(task.dimension, 3);
    assert.deepEqual(task.featureNames, ["height", "plan=free", "plan=paid"]);
    assert.deepEqual(task.guarantee, { epsilon: 2, delta: 0, neighbouring: "any-two-records", unit: "one-report" });
    assert.equal(task.detection.falseAlarms, 0.01);
    assert.ok(Math.abs(task.detection.power - 0.01 * Math.E ** 2) < 1e-12);
    assert.equal(task.reportBytes, 35);
    assert.deepEqual(JSON.parse(JSON.stringify(task)), TASK);
    assert.equal(Task.parse(String(task)).digest, task.digest);
    assert.equal(Task.parse(TASK).digest, task.digest);
  });

  test("reads what JSON.parse made of a task as the text itself, prototypes and all", () => {
    throws(() => Task.parse(Object.create(TASK)), "task", /version/);
    throws(() => Task.parse(JSON.parse('{"__proto__": {"version": 1}}')), "task", /version/);
    const polluted = JSON.stringify(TASK).replace("{", '{"__proto__": {"folds": 9}, ');
    throws(() => Task.parse(polluted), "task", /__proto__/);
    throws(() => Task.parse(JSON.parse(polluted)), "task", /__proto__/);
    assert.equal({}.folds, undefined);
  });

  test("refuses tasks it does not understand", () => {
    throws(() => Task.parse({ ...TASK, note: 1 }), "task", /note/);
    throws(() => Task.parse({ ...TASK, folds: Number.NaN }), "task", /null/);
    throws(() => Task.parse({ ...TASK, folds: 1n }), "task", /the task is an object: give its JSON text/);
    for (const none of [undefined, null, 5, [], "", "{", "[]"]) throws(() => Task.parse(none), "task", /./);
  });

  test("makes a new report on every call, from crypto alone", (t) => {
    const randomizer = new Randomizer(Task.parse(TASK), LIMITS);
    const reports = new Set(Array.from({ length: 50 }, () => randomizer.randomize(RECORD).bytes.join()));
    assert.equal(reports.size, 50);
    t.mock.method(crypto, "getRandomValues", () => { throw new Error("no entropy today"); });
    throws(() => randomizer.randomize(RECORD), "entropy", /source of randomness/);
  });

  test("refuses a task that asks for more than the page allows, and a page that does not say what it allows", () => {
    const task = Task.parse(TASK);
    for (const maxEpsilon of [2, 3, Infinity]) new Randomizer(task, { maxEpsilon });
    for (const maxEpsilon of [0, 1.999]) {
      throws(() => new Randomizer(task, { maxEpsilon }), "max-epsilon", /epsilon 2.*allows/);
    }
    for (const maxEpsilon of [undefined, null, Number.NaN, -1, "4"]) {
      throws(() => new Randomizer(task, { maxEpsilon }), "argument", /maxEpsilon is .*a number/);
    }
    throws(() => new Randomizer(task), "argument", /maxEpsilon is undefined/);
    const mechanism = { type: "gaussian", epsilon: 1, delta: 1e-4, calibration: "analytic" };
    const loose = Task.parse({ ...TASK, mechanism });
    throws(() => new Randomizer(loose, { maxEpsilon: 1 }), "max-delta", /delta 0\.0001.*allows 0\.00001/);
    throws(() => new Randomizer(loose, { maxEpsilon: 1, maxDelta: Number.NaN }), "argument", /maxDelta is NaN/);
    assert.equal(new Randomizer(loose, { maxEpsilon: 1, maxDelta: 1e-4 }).guarantee.delta, 1e-4);
  });

  test("gives reports that say what they are, and that come back from their bytes", () => {
    const task = Task.parse(TASK);
    const report = new Randomizer(task, LIMITS).randomize(RECORD);
    assert.ok(report instanceof Report && report.bytes instanceof Uint8Array && Object.isFrozen(report));
    assert.equal(report.taskDigest, task.digest);
    assert.deepEqual(report.guarantee, task.guarantee);
    const bytes = Buffer.from(report.bytes).toString("hex");
    const shown = { taskDigest: task.digest, guarantee: task.guarantee, bytes };
    assert.deepEqual(JSON.parse(JSON.stringify(report)), shown);
    const again = Report.fromBytes(report.bytes, task);
    assert.deepEqual(again.bytes, report.bytes);
    assert.equal(again.taskDigest, task.digest);
    report.bytes.fill(0);
    assert.deepEqual(again.bytes, report.bytes, "what is given out is a copy");
    assert.throws(() => (report.guarantee.epsilon = 9), TypeError);
  });

  test("makes no report of bytes that are none", () => {
    const task = Task.parse(TASK);
    const { bytes } = new Randomizer(task, LIMITS).randomize(RECORD);
    for (const [index, part] of [
      [0, /are not of task/],
      [4, /are not of task/],
      [5, /are not of task/],
      ...[13, 28, 29, 30, 31, 34].map((index) => [index, /checksum/]),
    ]) {
      const altered = bytes.slice();
      altered[index] ^= 1;
      throws(() => Report.fromBytes(altered, task), "report", part);
    }
    throws(() => Report.fromBytes(bytes.subarray(1), task), "report", /Uint8Array of 35/);
    throws(() => Report.fromBytes([...bytes], task), "report", /Uint8Array/);
    const other = Task.parse({ ...TASK, folds: 2 });
    throws(() => Report.fromBytes(bytes, other), "report", new RegExp(`not of task ${other.digest}`));
    throws(() => new Report(), "argument", /by a Randomizer/);
  });

  test("says of records that do not fit why, and with strict refuses them", () => {
    const task = Task.parse(TASK);
    const strict = new Randomizer(task, { ...LIMITS, strict: true });
    const number = /^column 'height' is numeric: give a number or null$/;
    const length = /^give a value for each of 3 columns, ignored ones included$/;
    const cases = [
      [{ ...RECORD, wieght: 70 }, "unknown", /^unknown columns: the task has height, note, plan$/],
      [{ plan: "free" }, "missing", number],
      [{ height: "181 cm", plan: "free" }, "type", number],
      [{ height: 181, plan: [] }, "type", /^column 'plan' is categorical: give a string or null$/],
      [Object.create(RECORD), "missing", number],
      [JSON.parse('{"__proto__": {"height": 181}, "plan": "free"}'), "missing", number],
      [JSON.parse('{"__proto__": 1, "height": 181, "plan": "free"}'), "unknown", /^unknown columns/],
      [[181, 0], "length", length],
      [["tall", 0, "free"], "type", number],
      [new Float64Array(4), "length", length],
    ];
    for (const [record, reason, part] of cases) {
      assert.equal(task.check(record)[0].reason, reason);
      throws(() => strict.randomize(record), "schema", part);
    }
  });

  test("refuses what is no record at all", () => {
    const task = Task.parse(TASK);
    const cases = [
      ...[new Map(Object.entries(RECORD)), new FormData(), Promise.resolve(RECORD), new Set()].map((given) => [
        given,
        /^the record is an object: give a plain object, Array or Float64Array/,
      ]),
      // Whatever it holds besides.
      [Object.assign(new Map(), RECORD), /an object/],
      [new Float32Array(3), /an object: .*Float64Array/],
      [null, /null/],
      [181, /a number/],
    ];
    for (const how of [{}, { strict: true }]) {
      const randomizer = new Randomizer(task, { ...LIMITS, ...how });
      for (const [given, part] of cases) throws(() => randomizer.randomize(given), "record", part);
      throws(() => randomizer.randomize(), "record", /undefined/);
    }
    for (const [given] of cases) assert.deepEqual(task.check(given).map(({ reason }) => reason), ["shape"]);
  });

  test("finds a listed text of any length, and takes a longer one as another", () => {
    const long = "x".repeat(300);
    const columns = [{ name: "plan", type: "categorical", values: ["free", long], unseen: "zero" }];
    const randomizer = new Randomizer(Task.parse({ ...TASK, schema: { columns } }), LIMITS);
    const made = (plan) => reportsOf(randomizer, { plan });
    assert.equal(made(`${long}${" ".repeat(90)}`), made(long));
    for (const other of [`${long}x`, "x".repeat(2 ** 22), `${long}\ud800`]) assert.equal(made(other), made("gratis"));
    assert.notEqual(made(long), made("gratis"));
  });

  test("asks before a task takes more memory or time than the page allows", () => {
    const columns = numericColumns(1500);
    const gaussian = { type: "gaussian", epsilon: 2, delta: 1e-6, calibration: "analytic" };
    const long = Task.parse({ ...TASK, schema: { columns }, mechanism: gaussian });
    assert.equal(long.draws, (1500 * 1501) / 2);
    throws(() => new Randomizer(long, LIMITS), "max-report-bytes", /1125783/);
    const wide = { ...LIMITS, maxReportBytes: 2 ** 21 };
    new Randomizer(long, wide).free();
    throws(() => new Randomizer(long, { ...wide, maxDraws: 1e6 }), "max-draws", /1125750/);
    throws(() => new Randomizer(long, { ...wide, maxDraws: "many" }), "argument", /maxDraws is many/);
  });

  test("refuses other arguments than it documents", () => {
    const randomizer = new Randomizer(Task.parse(TASK), LIMITS);
    for (const id of [
      "", "0".repeat(31), "0".repeat(33), "G".repeat(32), "0".repeat(31) + "A", null, 5, new Uint8Array(16),
    ]) {
      throws(() => randomizer.randomize(RECORD, { id }), "argument", /32 hexadecimal digits/);
    }
    assert.match(String(randomizer.randomize(RECORD, { id: "0f".repeat(16) }).toJSON().bytes), /^.{26}(0f){16}/);
    for (const none of [undefined, null, {}, TASK, JSON.stringify(TASK)]) {
      throws(() => new Randomizer(none, LIMITS), "argument", /Task\.parse/);
    }
    throws(() => new Task(), "argument", /Task\.parse/);
  });

  test("releases memory once, and says so afterwards", () => {
    const task = Task.parse(TASK);
    const randomizer = new Randomizer(task, LIMITS);
    task.free();
    task.free();
    throws(() => String(task), "argument", /freed/);
    throws(() => new Randomizer(task, LIMITS), "argument", /freed/);
    assert.equal(randomizer.randomize(RECORD).bytes.length, 35, "a randomizer outlives its task");
    randomizer.free();
    if (Symbol.dispose) randomizer[Symbol.dispose]();
    throws(() => randomizer.randomize(RECORD), "argument", /freed/);
  });
});
