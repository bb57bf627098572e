import assert from "node:assert/strict";
import { before, test } from "node:test";

import { consent, init, LdpPcaError, Task } from "../../pkg/inline.js";
import { de, en } from "../../pkg/sentences.js";
import { numericColumns, TASK } from "./task.js";

before(() => init());

test("the statement says what leaves, what stays, and what is promised, in words and in numbers", () => {
  const task = Task.parse(TASK);
  const statement = consent(task);
  assert.deepEqual(statement, {
    text: [statement.leaves, statement.stays, statement.promise, statement.scope].join(" "),
    leaves:
      "One report of 35 bytes leaves this device. It is randomized here from: height, plan. The page may have asked " +
      "for the report's number already, without any values.",
    stays: "The values themselves stay on this device.",
    promise:
      "Anyone who sees the report, its receiver included, can test it for certain values. A test that falsely " +
      "accuses 1 % of those who have others finds at most 7.39 % of those who have them; without the report, 1 %.",
    scope: "This holds for one report. What several reports reveal adds up.",
    title: "May this device take part?",
    agree: "Agree",
    decline: "Decline",
    locale: "en",
    columns: ["height", "plan"],
    features: ["height", "plan=free", "plan=paid"],
    reportBytes: 35,
    guarantee: task.guarantee,
    detection: task.detection,
    taskDigest: task.digest,
  });
  assert.deepEqual(JSON.parse(JSON.stringify(statement)), { ...statement, guarantee: { ...task.guarantee } });
});

// The largest power of a test with 1 % false alarms, for normal noise calibrated to (epsilon, 1e-6): with 50 digits, by
// Python's mpmath.
const GAUSSIAN = { 0.5: 0.013824119075, 1: 0.018324918232, 2: 0.030189684212, 4: 0.068310975064, 8: 0.213364123656 };

/** The largest power of a test with 1 % false alarms, for disjoint caps of which each is `cap` of the candidates. */
function capPower(epsilon, { candidates, cap }) {
  const up = Math.exp(epsilon);
  return Math.min(0.01 * up, 0.01 + (cap * (up - 1)) / (cap * up + candidates - cap), 1 - 0.99 / up);
}

test("what a test finds at most is never below what the best one does, for either mechanism", () => {
  for (const [epsilon, gaussian] of Object.entries(GAUSSIAN).map(([epsilon, power]) => [Number(epsilon), power])) {
    for (const [mechanism, power] of [
      [{ ...TASK.mechanism, epsilon }, capPower(epsilon, TASK.mechanism)],
      [{ type: "gaussian", epsilon, delta: 1e-6, calibration: "analytic" }, gaussian],
    ]) {
      const { promise, detection } = consent(Task.parse({ ...TASK, mechanism }));
      const [, found] = promise.match(/finds at most ([\d.]+) % of those who have them; without the report, 1 %\.$/);
      const stated = Number(found);
      assert.ok(
        stated >= 100 * (power - 1e-11) && stated < 101 * power,
        `${stated} % for ${power}, epsilon ${epsilon}`,
      );
      assert.ok(Math.abs(detection.power - power) < 1e-9, `${detection.power} for ${power}`);
    }
  }
});

test("it speaks German, with its numbers, and knows columns by the labels that visitors know", () => {
  const mechanism = { type: "gaussian", epsilon: 2, delta: 1e-6, calibration: "analytic" };
  const large = Task.parse({ ...TASK, schema: { columns: numericColumns(60) }, mechanism });
  assert.match(consent(large, { sentences: de }).leaves, /^Dieses Gerät sendet .* von 1\.8\d\d Byte\./);
  assert.match(consent(large).leaves, /of 1,8\d\d bytes/);
  assert.match(consent(large, { sentences: de, locale: "de-CH" }).leaves, /von 1['’]8\d\d Byte/);

  const german = consent(Task.parse(TASK), { sentences: de, labels: { height: "Größe", plan: "{found}" } });
  assert.match(german.leaves, /zufällig verändert: Größe, \{found\}\. .* schon angefordert, ohne .* Angaben\.$/);
  assert.match(german.promise, /die 1\u00a0% der Menschen .* höchstens 7,39\u00a0% derer/);
  assert.deepEqual([german.locale, german.agree, german.decline], ["de", "Zustimmen", "Ablehnen"]);
  assert.deepEqual(german.columns, ["height", "plan"]);

  // Those of the task itself, where the page has no others.
  const known = TASK.schema.columns.map((column) => ({ ...column, label: `your ${column.name}` }));
  const labelled = Task.parse({ ...TASK, schema: { columns: known } });
  assert.match(consent(labelled, { labels: { plan: "plan" } }).leaves, /randomized here from: your height, plan\. /);
  assert.notEqual(labelled.digest, Task.parse(TASK).digest);
});

test("every language says all, and an app's own may not say less", () => {
  const holes = (sentences) => Object.entries(sentences).map(([name, text]) => [name, text.match(/\{\w+\}/g)?.sort()]);
  const named = (sentences) => holes(sentences).map(([name, found]) => [name, [...new Set(found)]]);
  assert.deepEqual(named(de), named(en));
  const { promise, ...less } = en;
  assert.throws(() => consent(Task.parse(TASK), { sentences: less }), { code: "argument", message: /'promise'/ });
});

test("a freed task gives no statement", () => {
  const task = Task.parse(TASK);
  task.free();
  assert.throws(() => consent(task), LdpPcaError);
});
