// Errors go to error trackers, so nothing of them may be an answer: no value of a record, and no name that the task
// does not have. Nor may warnings.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { inspect } from "node:util";

import * as lab from "../../pkg/lab-node.js";
import { init, PrivacyLedger, Randomizer, RecordError, Task } from "../../pkg/inline.js";
import { seededBy } from "../../pkg/seeded.js";
import { anyColumns, anyRecord, numbersFrom, ODD, taskOf } from "./any-record.js";
import { numericColumns, TASK } from "./task.js";

/** Of what records of any content have in them, beside what tasks have in them, too. */
const MARKS = /s3cret|spring|xxx|99999|18446744|92233720/;
const REASONS = ["missing", "type", "unknown", "length", "shape"];

const TEXT = "s3cret";

/** What is no record. */
const SHAPES = [
  undefined, null, TEXT, 9_999_999, 2n ** 64n, Symbol(TEXT), () => TEXT, new Map([[TEXT, TEXT]]), new Set([TEXT]),
  new String(TEXT), new Error(TEXT), new URL(`https://${TEXT}.example/`), Promise.resolve(TEXT), new FormData(),
  new Float32Array([9_999_999]), new DataView(new ArrayBuffer(8)), Object.assign(new Map(), { [TEXT]: TEXT }),
];

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

function silent(error) {
  for (const said of words(error)) assert.doesNotMatch(said, MARKS);
}

before(() => Promise.all([init(), lab.init()]));

test("nothing said about a record has a value, or a name that the task does not have", async (t) => {
  const { mock: warned } = t.mock.method(console, "warn", () => {});
  const ledger = await PrivacyLedger.open({ maxEpsilon: Infinity, onStorageDenied: () => true });
  const number = numbersFrom(7);
  const told = Object.fromEntries(["none", ...REASONS].map((reason) => [reason, 0]));
  for (let round = 0; round < 400; round += 1) {
    const columns = anyColumns(number);
    const document = taskOf(columns, 2);
    const [task, labTask] = [Task.parse(document), lab.Task.parse(document)];
    const names = columns.filter(({ type }) => type !== "ignored").map(({ name }) => name);
    const [lenient, strict] = [false, true].map((strict) => new Randomizer(task, { maxEpsilon: 2, strict }));
    const uses = [
      (record) => strict.randomize(record),
      (record) => seededBy(new Uint8Array(32))(() => strict.randomize(record)),
    ];
    const records = Array.from({ length: 9 }, () => anyRecord(columns, number).record);
    for (const record of [...records, SHAPES[round % SHAPES.length]]) {
      const problems = task.check(record);
      for (const problem of problems) {
        silent(problem);
        const { code, column, message, reason } = problem;
        assert.ok(problem instanceof RecordError && REASONS.includes(reason), inspect(problem));
        assert.equal(code, reason === "shape" ? "record" : "schema");
        assert.equal(names.includes(column), ["missing", "type"].includes(reason), inspect(problem));
        if (column !== undefined) assert.ok(message.includes(`'${column}'`));
      }
      const [first] = problems;
      told[first?.reason ?? "none"] += 1;
      // A shape is refused by everybody; what else is wrong, by those who are strict.
      const isShape = first?.reason === "shape";
      if (!isShape) {
        assert.equal(lenient.randomize(record).bytes.length, task.reportBytes);
        assert.equal(lab.encode(labTask, record).features.length, labTask.dimension);
      }
      if (!first) {
        for (const use of uses) assert.equal(use(record).bytes.length, task.reportBytes);
        continue;
      }
      const lenients = [() => lenient.randomize(record), () => lab.encode(labTask, record)];
      for (const use of isShape ? [...uses, ...lenients] : uses) {
        assert.throws(() => use(record), (error) => {
          silent(error);
          assert.deepEqual([error.reason, error.column], [first.reason, first.column]);
          return true;
        });
      }
      if (record !== records[0]) continue;
      await assert.rejects(ledger.report(strict, record, { url: "http://127.0.0.1:9" }), (error) => {
        silent(error);
        return error instanceof RecordError;
      });
    }
  }
  for (const { arguments: words } of warned.calls) silent(words);
  assert.ok(warned.callCount() >= 5);
  assert.ok(Object.values(told).every((count) => count > 50), `all there is came up: ${inspect(told)}`);
});

test("check reports everything at once, in the order of the columns", () => {
  const device = { name: "device", type: "categorical", values: ["phone", "other"], unseen: "other" };
  const task = Task.parse({ ...TASK, schema: { columns: [...TASK.schema.columns, device] } });
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
  for (const odd of ODD) {
    const columns = ["height", "plan", "device"];
    assert.deepEqual(found([odd, odd, odd, odd]), columns.map((column) => ["schema", "type", column]));
  }
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
