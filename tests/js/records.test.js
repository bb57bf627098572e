// The module that reads a visitor's file on the demo page: the same schema as the command line's, the same records.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { init, LdpPcaError, SimulatedCollection } from "../../pkg/lab.js";
import { loading } from "../../pkg/instantiate.js";
import * as wasm from "../../pkg/wasm/records/ldp_pca.js";
import { run } from "./command-line.js";
import { scratchFolder } from "./folder.js";
import { throws } from "./throws.js";

const MODULE = new URL("../../pkg/wasm/records/ldp_pca_bg.wasm", import.meta.url);
const SURVEY = fileURLToPath(new URL("../../examples/survey.csv", import.meta.url));

const { load, call } = loading({ ...wasm });
const folder = scratchFolder();

before(() => load(() => readFileSync(MODULE)));

/** The module's facts about a file with these bytes. */
function read(bytes, options = {}) {
  const content = typeof bytes === "string" ? Buffer.from(bytes) : bytes;
  const part = (from, to) => new Uint8Array(content.subarray(from, to));
  const reader = call(({ RecordsReader }) => new RecordsReader(options, content.length, part));
  const shares = [];
  while ((shares.at(-1) ?? 0) < 1) shares.push(call(() => reader.step(100)));
  assert.deepEqual(shares, shares.toSorted((a, b) => a - b));
  return call(() => reader.facts());
}

/** The bytes of the schema that the command line writes for a file. */
function inferred(path, ...options) {
  const output = join(folder, "schema.json");
  run("schema", "infer", path, "--output", output, "--force", ...options);
  return readFileSync(output, "utf8");
}

function written(text) {
  const path = join(folder, "records.csv");
  writeFileSync(path, text);
  return path;
}

/** The module's error about a file. */
function refusal(bytes, options) {
  try {
    read(bytes, options);
  } catch ({ code, message }) {
    return `${code}: ${message}`;
  }
  return "";
}

const MIXED = [
  "plan,age,spent,note,none",
  "free,31,0.1,3,0",
  'paid,NA,2.70000000000000018,"4",0',
  "free,,1e-7,5,",
  "other,64,-12.5,3,0",
  "",
].join("\n");

test("schemas are those of the command line, byte for byte", () => {
  assert.equal(read(readFileSync(SURVEY)).schema, inferred(SURVEY));
  const scalings = ["robust", "max-abs", "range", "standard", "none"];
  for (const text of [MIXED, MIXED.replaceAll("\n", "\r\n"), MIXED.replaceAll("\n", "\r"), `\ufeff${MIXED}`]) {
    const path = written(text);
    for (const scaling of scalings) {
      assert.equal(read(text, { scaling }).schema, inferred(path, "--scaling", scaling), `${scaling} ${text}`);
    }
    const others = ["--ignore", "age", "--categorical", "note"];
    assert.equal(read(text, { ignore: ["age"], categorical: ["note"] }).schema, inferred(path, ...others));
  }
  const headless = "1,2,a\n3,4,b\n";
  assert.equal(read(headless).schema, inferred(written(headless)));
  const index = ",x,y\n0,1,2\n1,2,5\n";
  assert.equal(read(index).schema, inferred(written(index)));
});

test("the same table with tabs, semicolons or decimal commas gives the same schema and facts", () => {
  const text = readFileSync(SURVEY, "utf8");
  const known = read(text);
  const decimal = text.replaceAll(",", ";").replace(/\d+/g, "$&,0");
  const forms = [
    [text.replaceAll(",", "\t").replaceAll("\n", "\r\n"), { name: "survey.tsv" }],
    [text.replaceAll(",", ";"), { separator: "semicolon" }],
    [decimal, { decimalComma: true }],
    [text.split("\n").slice(1).join("\n").replaceAll(",", ";"), {}, { headless: true }],
  ];
  for (const [content, options, { headless = false } = {}] of forms) {
    const facts = read(content, options);
    // The schema also says how its file is written.
    const { columns, dialect } = JSON.parse(facts.schema);
    assert.deepEqual(Object.keys(dialect), ["header", "separator", "decimal_comma"]);
    const same = { ...known, schema: JSON.parse(known.schema).columns };
    if (!headless) assert.deepEqual({ ...facts, schema: columns }, same);
    else assert.deepEqual([facts.rows, facts.eigenvalues], [known.rows, known.eigenvalues]);
  }
  // As by the command line, where the file does not show it.
  const both = "1,5;2,5\n3,0;4,5\n3,5;1,0\n";
  const options = ["--separator", "semicolon", "--decimal-comma"];
  assert.equal(read(both, { separator: "semicolon", decimalComma: true }).schema, inferred(written(both), ...options));
});

test("a separator or a decimal comma that the file does not show is asked for", () => {
  const cases = [
    ["1,5;2,5\n3,0;4,5\n", {}, /^records: more than one of comma, semicolon and tab .* the option 'cells are/],
    ["x;y\n1;2\n7315524,5;2\n", {}, /^records: line 3: column 1 has a comma in a number: give the option 'decimal c/],
    ["a,b\n1,2\n", { separator: "dot" }, /^argument: give comma, semicolon, tab or one character/],
  ];
  for (const [text, options, words] of cases) {
    const said = refusal(text, options);
    assert.match(said, words);
    assert.ok(!said.includes("7315524"), said);
  }
  const schema = JSON.parse(read("x;y\n1;2\n7,5;2\n", { categorical: ["x"] }).schema);
  assert.deepEqual(schema.columns[0].values, ["1", "7,5"]);
});

test("what is missing is counted, and the second moments are those of unit-norm records", () => {
  const found = read(MIXED, { scaling: "max-abs" });
  const { rows, columns, features, alwaysZero, missing, eigenvalues, secondMoment } = found;
  assert.deepEqual([rows, columns, alwaysZero], [4, 5, ["none"]]);
  assert.deepEqual(features, ["plan=free", "plan=other", "plan=paid", "age", "spent", "note"]);
  assert.deepEqual(missing, [["age", 2], ["none", 1]]);
  // Each of the four records has length one.
  const d = features.length;
  const trace = features.reduce((sum, _, at) => sum + secondMoment[at * d + at], 0);
  assert.ok(Math.abs(trace - 1) < 1e-12);
  assert.ok(Math.abs(eigenvalues.reduce((sum, value) => sum + value, 0) - 1) < 1e-12);
  // "other" is the last row: 1, age 1, spent -1, note 0.6, over the root of 3.36.
  assert.ok(Math.abs(secondMoment[1 * d + 4] + 1 / 3.36 / 4) < 1e-12);
});

test("identifiers stay out of the schema, and warnings say why", () => {
  const rows = Array.from({ length: 40 }, (_, row) => `p${row}@example.org,${(row * row) % 7}\n`);
  const { schema, features, warnings: [warning, ...others] } = read(`contact,age\n${rows.join("")}`);
  assert.ok(!schema.includes("@"));
  assert.deepEqual([features, others], [["age"], []]);
  assert.match(warning, /^column 'contact' holds e-mail addresses or UUIDs and is left out/);
});

test("trials are reproducible, and their errors fall with the number of reports", () => {
  const { features, secondMoment } = read(readFileSync(SURVEY));
  const moments = Float64Array.from(secondMoment);
  const asked = { dimension: features.length, rank: 3, seed: 1, trial: 2 };
  const mechanisms = [{ type: "double-cap", epsilon: 2 }, { type: "gaussian", epsilon: 2 }];
  const trial = (records, others = {}) =>
    call(({ trialLike }) => trialLike(moments, { ...asked, mechanisms, records, ...others }));
  const [few, open] = trial(20_000);
  assert.deepEqual(trial(20_000), [few, open]);
  assert.notDeepEqual(trial(20_000, { trial: 3 }), [few, open]);
  const [many] = trial(20_000_000);
  const errors = [open, ...few].map(({ sinThetaSquared }) => sinThetaSquared);
  assert.ok(errors[0] < errors[1] && errors[1] < errors[2] && errors[2] <= 3, `${errors}`);
  many.forEach(({ sinThetaSquared }, index) => assert.ok(sinThetaSquared < errors[index + 1] / 20, `${errors}`));
  throws(() => trial(0), "simulation");
  throws(() => trial(10, { rank: 13 }), "simulation");
  throws(() => call(() => wasm.trialLike(moments.slice(1), { ...asked, mechanisms, records: 9 })), "argument");
});

test("an estimate is one of such a collection, and the lab recovers its components", async () => {
  const { features, secondMoment } = read(readFileSync(SURVEY));
  const [moments, dimension] = [Float64Array.from(secondMoment), features.length];
  const asked = { dimension, rank: 3, seed: 1, trial: 2, records: 20_000 };
  const mechanisms = [{ type: "double-cap", epsilon: 2 }];
  const drawn = (others) => call(({ estimateLike }) => estimateLike(moments, { ...asked, mechanisms, ...others }));
  const [estimate, noiseDeviation] = drawn();
  assert.deepEqual(drawn(), [estimate, noiseDeviation]);
  assert.throws(() => drawn({ mechanisms: [] }), { code: "argument" });
  // The entries differ from the truth by about the noise.
  const spread = Math.hypot(...estimate.map((entry, at) => entry - moments[at])) / dimension;
  assert.ok(spread > 0.7 * noiseDeviation && spread < 2 * noiseDeviation, `${spread} ${noiseDeviation}`);

  await init(readFileSync(new URL("../../pkg/wasm/lab/ldp_pca_bg.wasm", import.meta.url)));
  const given = { dimension, rank: 3, secondMoment: moments, estimate: Float64Array.from(estimate), noiseDeviation };
  const collection = new SimulatedCollection(given);
  const { pca, truth } = collection.compare();
  const [[found]] = call(({ trialLike }) => trialLike(moments, { ...asked, mechanisms }));
  const error = Math.abs(pca.sinThetaSquared - found.sinThetaSquared);
  assert.ok(error < 1e-9, `${pca.sinThetaSquared} ${error}`);
  assert.equal(truth.support.length, dimension);
  const path = collection.path({ points: 5 });
  assert.ok(path[0].hits < path[4].hits && path.every(({ falseAlarms }) => falseAlarms === 0));
  collection.free();
  for (const wrong of [{ rank: 13 }, { estimate: moments.slice(1) }, { noiseDeviation: NaN }, { trial: 1 }]) {
    assert.throws(() => new SimulatedCollection({ ...given, ...wrong }), LdpPcaError, Object.keys(wrong)[0]);
  }
});

test("a file that is not a table of records is refused with line and column, and without its values", () => {
  const secret = "hunter2";
  const many = `a,b\n${Array.from({ length: 250 }, (_, at) => `x${at},y${at}\n`).join("")}`;
  const cases = [
    [`a,b\n1,2\n3,${secret},5\n`, /^records: line 3: found 3 fields where the schema has 2 columns/],
    ["PK\u0003\u0004", /^records: this is a zip or spreadsheet file, and the page reads text: save the sheet as CSV/],
    [Array.from({ length: 201 }, (_, at) => `c${at}`).join(), /has 201 columns, and this page reads at most 200/],
    [`a,b\n${"1,2\n".repeat(100_001)}`, /has more rows, and this page reads at most 100,000 rows/],
    [many, /the sample gives 0 features, as every column .* column 1 has more than 32 different texts/],
  ];
  for (const [bytes, words] of cases) {
    const said = refusal(bytes);
    assert.match(said, words);
    assert.ok(!said.includes(secret), said);
  }
  const most = /columns that make 500 features, and this page reads at most 400 features/;
  assert.match(refusal(many, { categorical: ["a", "b"] }), most);
  assert.match(refusal("a,b\n1,2\n", { ignore: ["c"] }), /the sample has no column 'c' among its 2/);
});
