import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, test } from "node:test";

import { failure } from "../../pkg/errors.js";
import { consent, init, LdpPcaError, Task } from "../../pkg/inline.js";
import { de, en, explain } from "../../pkg/sentences.js";
import { instead } from "./globals.js";
import { numericColumns, TASK } from "./task.js";

before(() => init());

test("the statement says what leaves, what stays, and what is promised, in words and in numbers", () => {
  const task = Task.parse(TASK);
  const statement = consent(task, { collector: "Example Club", purpose: "a study of bodies" });
  assert.deepEqual(statement, {
    text: ["who", "leaves", "stays", "promise", "scope"].map((name) => statement[name]).join(" "),
    who: "Who asks: Example Club. What for: a study of bodies.",
    leaves:
      "One report of 35 bytes leaves this device. It is made here, with random changes, from: height, plan. The page " +
      "may have asked for the report's number already, without any of these details.",
    stays: "The details themselves stay on this device.",
    promise:
      "From the report, anyone who sees it, its receiver included, can guess whether something is true of you. " +
      "Suppose that they are wrong about 10 of 1000 people of whom it is not true. Then, on average, they find " +
      "at most 74 of 1000 people of whom it is true; without the report, 10.",
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
  // What a page does not say is not half said.
  for (const less of [undefined, { collector: "Example Club" }, { purpose: "a study" }]) {
    const { who, text } = consent(task, less);
    assert.deepEqual([who, text.slice(0, 10)], ["", "One report"]);
  }
});

test("what a test finds at most is rounded up to a whole number of people, for either mechanism", () => {
  for (const epsilon of [0.5, 1, 2, 4, 8]) {
    for (const mechanism of [
      { ...TASK.mechanism, epsilon },
      { type: "gaussian", epsilon, delta: 1e-6, calibration: "analytic" },
    ]) {
      const { promise, detection } = consent(Task.parse({ ...TASK, mechanism }));
      const [, found] = promise.match(/about 10 of 1000 .* at most ([\d,]+) of 1000 .*; without the report, 10\.$/);
      const above = Number(found.replace(",", "")) - 1000 * detection.power;
      assert.ok(above >= -1e-8 && above < 1, `${found} of 1000 for ${detection.power}, epsilon ${epsilon}`);
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
  assert.match(german.leaves, /aus diesen Angaben: Größe, \{found\}\. .* schon angefordert, ohne .* Angaben\.$/);
  assert.match(german.promise, /werden 10 von 1000 Menschen, .* höchstens 74 von 1000 .* ohne den Bericht 10\.$/);
  assert.deepEqual([german.locale, german.agree, german.decline], ["de", "Zustimmen", "Ablehnen"]);
  assert.deepEqual(german.columns, ["height", "plan"]);

  // Those of the task itself, where the page has no others.
  const known = TASK.schema.columns.map((column) => ({ ...column, label: `your ${column.name}` }));
  const labelled = Task.parse({ ...TASK, schema: { columns: known } });
  assert.match(consent(labelled, { labels: { plan: "plan" } }).leaves, /random changes, from: your height, plan\. /);
  assert.notEqual(labelled.digest, Task.parse(TASK).digest);
});

test("every language says all, and an app's own may not say less", () => {
  const texts = ({ outcomes, errors, ...texts }) => Object.entries({ ...texts, ...outcomes, ...errors });
  const named = (sentences) => texts(sentences).map(([name, text]) => [name, text.match(/\{\w+\}/g)?.sort()]);
  assert.deepEqual(named(de), named(en));
  const { promise, ...less } = en;
  const task = Task.parse(TASK);
  for (const [sentences, name] of [
    [less, "promise"],
    [{ ...en, agree: "" }, "agree"],
    [{ ...en, promise: promise.replace("{found}", "{fuond}") }, "promise"],
    [{ ...en, who: "{collector}" }, "who"],
  ]) {
    const expected = { code: "argument", message: `the sentences lack '${name}', or a {place} in it` };
    assert.throws(() => consent(task, { sentences }), expected);
    assert.throws(() => explain({ status: "accepted" }, sentences), expected);
  }
  const { offline, ...errors } = en.errors;
  for (const sentences of [{ ...en, errors }, { ...en, errors: undefined }]) {
    assert.throws(() => explain({ status: "accepted" }, sentences), { code: "argument", message: /'offline'/ });
  }
});

test("what became of a report, and every error, is told in a sentence without technical words", (t) => {
  const logged = t.mock.method(console, "error", () => {});
  const read = (file) => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
  for (const status of ["accepted", "duplicate", "relayed", "pending", "declined"]) {
    assert.equal(explain({ status }), en.outcomes[status]);
  }
  const found = (file, pattern) => [...read(file).matchAll(pattern)].map(([, part]) => part);
  const codes = found("pkg/errors.js", /family\(\s*"\w+",\s*"([a-z -]+)"/g).flatMap((list) => list.split(" "));
  const types = found("crates/server/src/routes/openapi.json", /problem:([a-z-]+)/g);
  assert.ok(codes.length > 25 && types.length > 30);
  const told = [
    ...codes.map((code) => failure(code, "CORS or connect-src")),
    ...types.map((type) => failure("refused", "CORS", { status: 403, type })),
  ];
  assert.equal(explain(failure("spent", "")), en.outcomes.duplicate);
  assert.equal(explain(failure("rejected", "", { status: 404, type: "unknown-path" })), en.errors.page);
  told.splice(told.findIndex(({ code }) => code === "spent"), 1);
  for (const error of [...told, new TypeError("x is undefined"), "enough", undefined, null]) {
    for (const sentences of [en, de]) {
      assert.ok(Object.values(sentences.errors).includes(explain(error, sentences)), `${error?.code} ${error?.type}`);
    }
  }
  // The errors that a page cannot prevent are none of its mistakes.
  const mistakes = told.filter((error) => !error.type && explain(error) === en.errors.page).map(({ code }) => code);
  assert.deepEqual(mistakes, [
    "argument", "task", "max-epsilon", "max-delta", "max-report-bytes", "max-draws", "schema", "record", "report",
    "destination",
  ]);
  const refused = (type, code = "refused") => explain({ status: "refused", error: failure(code, "", { type }) });
  assert.deepEqual(
    ["task-expired", "task-refined", "quota", "task-not-started", "report-checksum"].map((type) => refused(type)),
    ["over", "over", "full", "early", "refused"].map((name) => en.errors[name]),
  );
  assert.equal(explain({ status: "refused", error: failure("spent", "", { withdrawn: true }) }), en.errors.withdrawn);
  // A report of an earlier visit may count.
  const gone = failure("fetch", "", { status: 404 });
  assert.equal(explain(gone), en.errors.gone);
  assert.equal(explain(new SyntaxError(`"I am 47" is not valid JSON`)), en.errors.page);
  assert.deepEqual(logged.mock.calls.slice(-2).map((call) => call.arguments), [[gone], ["SyntaxError"]]);
  assert.equal(explain(failure("network", "")), en.errors.unreachable);
  instead(t, "navigator", { onLine: false });
  assert.equal(explain(failure("network", "")), en.errors.offline);
  assert.equal(explain(failure("budget", "")), en.errors.budget);
});

test("a column may have the name of what every object has", () => {
  const [height, , plan] = TASK.schema.columns;
  const task = Task.parse({ ...TASK, schema: { columns: [{ ...height, name: "constructor" }, plan] } });
  assert.match(consent(task, { labels: { plan: "{toString}" } }).leaves, /from: constructor, \{toString\}\. /);
});

test("a freed task gives no statement", () => {
  const task = Task.parse(TASK);
  task.free();
  assert.throws(() => consent(task), LdpPcaError);
});
