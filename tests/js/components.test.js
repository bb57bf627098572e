// Published components on a device: the scores of its record, and words.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { before, test } from "node:test";
import { inspect } from "node:util";

import { LdpPcaError } from "../../pkg/common.js";
import { Components } from "../../pkg/components.js";
import { encode, init, Task } from "../../pkg/lab-node.js";
import { anyColumns, anyRecord, numbersFrom, VALUES } from "./any-record.js";
import { answersUntilEnd } from "./answers.js";
import { TASK } from "./task.js";

const VECTORS = new URL("../vectors/v1/", import.meta.url);
const DIGEST = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";

/** With everything that a document may have. */
const WHOLE = {
  version: 1,
  task: DIGEST,
  schema: {
    columns: [
      { type: "numeric", name: "running", label: "Hours of running", offset: 1, scale: 2 },
      { type: "ignored", name: "note" },
      { type: "categorical", name: "plan", values: ["free", "paid", "other"], unseen: "other" },
    ],
    dialect: { header: false, separator: ";", decimal_comma: true },
  },
  bounding: { type: "clip", radius: 1.5 },
  feature_names: ["running", "plan=free", "plan=paid", "plan=other"],
  records: 2 ** 53,
  mean: [0.25, -1e-6, 0, 0],
  total_variance: 0.5,
  noise_edge: 0.125,
  components: [
    { loadings: [0.6, 0, -0.8, 0], variance: 0.25 },
    { loadings: [0.8, 0, 0.6, 0.2], variance: null },
  ],
  prediction: { share_found: 0.875, sin_theta_squared: 0.0625 },
};
const TEXT = JSON.stringify(WHOLE);

before(() => init());

/** Components whose scores are the features of the task's records. */
function ofFeatures({ schema, bounding }, names) {
  const components = names.map((_, one) => ({ loadings: names.map((_, other) => Number(one === other)), variance: 1 }));
  const [task, version, records, noise_edge] = [DIGEST, 1, 1, 0];
  return Components.parse({ version, task, schema, bounding, feature_names: names, records, noise_edge, components });
}

/** That the scores of records are their features as the module has them, to the last digit. */
function encodes(document, records) {
  const task = Task.parse(document);
  const components = ofFeatures(document, task.featureNames);
  for (const record of records) {
    const { features, bounded } = encode(task, record);
    const expected = document.bounding.type === "clip" ? features : bounded;
    const scores = components.scores(record);
    assert.ok(scores.every((score, place) => score === expected[place]), `${inspect(record)}: ${scores}`);
  }
}

function refused(action, code, part) {
  assert.throws(action, (error) => {
    assert.ok(error instanceof LdpPcaError, String(error?.stack));
    assert.deepEqual([error.name, error.code], ["LdpPcaError", code], error.message);
    assert.match(error.message, part);
    return true;
  });
}

test("the records of every vector have the features that their reports have", () => {
  const cases = readdirSync(VECTORS).flatMap((file) => JSON.parse(readFileSync(new URL(file, VECTORS), "utf8")).cases);
  const collections = cases.filter(({ task, reports }) => task?.schema && reports);
  assert.ok(collections.length > 10);
  for (const { task, reports } of collections) encodes(task, reports.map(({ record }) => record));
});

test("and so have records of any values", () => {
  const number = numbersFrom(20_261_130);
  for (let one = 0; one < 300; one += 1) {
    const bounding = one % 2 ? { type: "unit-norm" } : { type: "clip", radius: 0.5 };
    const schema = { columns: anyColumns(number) };
    encodes({ ...TASK, schema, bounding }, Array.from({ length: 10 }, () => anyRecord(schema.columns, number).read));
  }
});

test("values of every type, and records of every form, are read as the client reads them", (t) => {
  t.mock.method(console, "warn", () => {});
  const values = ["1", "true", "other", "\ufffd"];
  const columns = [
    { name: "a", type: "numeric", offset: 0, scale: 1 },
    { name: "b", type: "categorical", values, unseen: "other" },
  ];
  const rows = [...VALUES.map((make) => make()[0]), " 1.0\u0085", "\ufeff1", "TRUE"].map((value) => [value, value]);
  const inherited = Object.assign(Object.create({ b: "1" }), { a: 1 });
  const hidden = Object.defineProperty({ a: 1 }, "b", { value: "1" });
  const throwing = Object.defineProperty({ b: "1" }, "a", { get: () => assert.fail(), enumerable: true });
  const lists = [[], [1, 1, 1], Float64Array.of(1, 1)];
  const others = [{}, throwing, { a: 1, c: 1 }, inherited, hidden, Object.create(null), ...lists];
  const bounding = { type: "clip", radius: 1 };
  encodes({ ...TASK, schema: { columns }, bounding }, [...rows, ...rows.map(([a, b]) => ({ a, b })), ...others]);
  const components = Components.parse(TEXT);
  for (const none of [undefined, null, 1, "1", new Map([["a", 1]]), Promise.resolve({}), Int8Array.of(1, 1)]) {
    refused(() => components.scores(none), "record", /give a plain object/);
  }
});

test("the scores of the vectors are those that are stated, and so are their documents", () => {
  const { version, cases } = JSON.parse(readFileSync(new URL("../components/scores.json", VECTORS), "utf8"));
  assert.equal(version, 1);
  for (const { name, text, canonical, records } of cases) {
    assert.deepEqual(Components.parse(text).describe(), Components.parse(canonical).describe(), name);
    for (const { record, scores } of records) {
      const found = Components.parse(text).scores(record);
      const tolerance = 1e-12 * Math.max(1, ...scores.map(Math.abs));
      found.forEach((score, place) => assert.ok(Math.abs(score - scores[place]) <= tolerance, `${name}: ${found}`));
      assert.equal(found.length, scores.length);
    }
  }
});

test("scores are about the mean, and a record is not shortened", () => {
  const scores = Components.parse(TEXT).scores({ running: 7.5, plan: "paid" });
  assert.deepEqual(scores, [0.6 * 3 - 0.8, 0.8 * 3 + 0.6]);
});

test("components in words are their strongest features, by side", () => {
  const components = Components.parse(TEXT);
  assert.deepEqual(components.describe(), [
    {
      share: 0.5,
      features: [{ name: "plan=paid", loading: -0.8 }, { name: "running", loading: 0.6 }],
      text: "plan=paid, against Hours of running",
    },
    {
      share: null,
      features: [{ name: "running", loading: 0.8 }, { name: "plan=paid", loading: 0.6 }],
      text: "Hours of running and plan=paid",
    },
  ]);
  const { featureNames, rank, records, taskDigest } = components;
  assert.deepEqual([featureNames, rank, records, taskDigest], [WHOLE.feature_names, 2, 2 ** 53, DIGEST]);
  const all = Components.parse({ ...WHOLE, components: [{ loadings: [0.25, 0.75, 0.25, -0.2], variance: 0.1 }] });
  assert.equal(all.describe()[0].text, "plan=free, Hours of running and plan=paid");
  const small = Components.parse({ ...WHOLE, components: [{ loadings: [1e-200, 0, -1e-200, 0], variance: 0.1 }] });
  assert.equal(small.describe()[0].text, "Hours of running, against plan=paid");
  for (const total of [undefined, 0, -1, 0.2]) {
    assert.equal(Components.parse({ ...WHOLE, total_variance: total }).describe()[0].share, null);
  }
});

test("what a document may lack is not missed", () => {
  for (const name of ["mean", "total_variance", "prediction"]) Components.parse({ ...WHOLE, [name]: undefined });
  Components.parse({ ...WHOLE, prediction: { sin_theta_squared: 0 } });
  assert.equal(Components.parse(`${TEXT}${" ".repeat(2 ** 24 - TEXT.length)}`).rank, 2);
});

test("a document that is not as the format says is refused, by the member's name", () => {
  for (const [from, to, part] of [
    ['"version":1', '"version":2', /version/],
    ['"version":1,', "", /version/],
    ['"version":1,', '"version":1,"version":1,', /twice/],
    ['"name":"note"', '"name":"note","name":"note"', /twice/],
    ['"version":1,', '"version":1,"note":1,', /'note'/],
    ['"version":1,', '"version":1,"__proto__":{},', /'__proto__'/],
    [DIGEST, DIGEST.toUpperCase(), /task/],
    [`"${DIGEST}"`, `["${DIGEST}"]`, /task/],
    ['"offset":1', '"offset":"1"', /offset/],
    ['"offset":1', '"offset":1e101', /offset/],
    ['"scale":2', '"scale":0', /scale/],
    ['"scale":2', '"scale":2,"values":[]', /values/],
    ['"scale":2', '"scale":2,"toString":1', /toString/],
    ['"type":"ignored"', '"type":"hidden"', /type/],
    ['"name":"note"', '"name":"running"', /columns/],
    ['"label":"Hours of running"', '"label":""', /label/],
    ['"free","paid","other"],"u', '"free","free","other"],"u', /values/],
    ['"paid","other"],"u', '"paid","others"],"u', /unseen/],
    ['"unseen":"other"', '"unseen":"none"', /unseen/],
    ['"type":"ignored"', '"type":["ignored"]', /type/],
    ['"dialect":{"header":false,"separator":";","decimal_comma":true}', '"dialect":null', /dialect/],
    ['"radius":1.5', '"radius":0', /radius/],
    ['"type":"clip"', '"type":"unit-norm"', /radius/],
    ['"plan=free"', '"plan=gratis"', /feature_names/],
    [`${2 ** 53}`, "0", /records/],
    [`${2 ** 53}`, "1.5", /records/],
    ["[0.25,", "[", /mean/],
    ['"total_variance":0.5', '"total_variance":null', /total_variance/],
    ['"noise_edge":0.125', '"noise_edge":1e999', /noise_edge/],
    ["[0.6,0,", "[0.6,", /loadings/],
    [',"variance":null', "", /variance/],
    ['"sin_theta_squared"', '"sin_theta"', /sin_theta/],
    ['"share_found":0.875', '"share_found":null', /share_found/],
    ["}}", "}", /JSON/],
  ]) {
    assert.ok(TEXT.includes(from), from);
    refused(() => Components.parse(TEXT.replace(from, to)), "components", part);
  }
  for (const count of [0, 5]) {
    const components = Array(count).fill(WHOLE.components[0]);
    refused(() => Components.parse({ ...WHOLE, components }), "components", /components/);
  }
  refused(() => Components.parse(`${TEXT}${" ".repeat(2 ** 24 - TEXT.length + 1)}`), "components", /2\^24 bytes/);
  for (const none of [undefined, null, 5, [], {}, "", "[]"]) refused(() => Components.parse(none), "components", /./);
});

test("components are fetched, of the task that was meant", async (t) => {
  const { url, requests } = await answersUntilEnd(t, { body: TEXT });
  for (const options of [undefined, {}, { digest: DIGEST }]) {
    assert.equal((await Components.fetch(url, options)).rank, 2);
  }
  assert.ok(requests.every(({ headers, method }) => method === "GET" && !headers.cookie));
  const meant = "0".repeat(64);
  const code = (code) => (error) => error instanceof LdpPcaError && error.code === code;
  await assert.rejects(Components.fetch(url, { digest: meant }), { code: "digest", message: new RegExp(meant) });
  await assert.rejects(Components.fetch(url, { digest: undefined }), code("digest"));
  const missing = await answersUntilEnd(t, { status: 404 });
  await assert.rejects(Components.fetch(missing.url), { code: "fetch", message: /404/ });
  const wrong = await answersUntilEnd(t, { body: "<html>" });
  await assert.rejects(Components.fetch(wrong.url), code("components"));
  const signal = AbortSignal.abort(new Error("enough"));
  await assert.rejects(Components.fetch(url, { signal }), { message: "enough" });
});
