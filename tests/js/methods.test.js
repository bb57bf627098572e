// The second module of the lab, with every method of the literature. In the order of the tests: before it is loaded, a
// load that fails, and after it.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { Worker } from "node:worker_threads";

import { compare, init, loadMethods, simulate } from "../../pkg/lab-node.js";
import { researchBinary } from "../browser/aggregator.js";
import { scratchFolder } from "./folder.js";
import { numericColumns, rowsOfTwo } from "./task.js";
import { throws } from "./throws.js";

const LAB = new URL("../../pkg/lab-node.js", import.meta.url);
const MODULE = new URL("../../pkg/wasm/methods/ldp_pca_bg.wasm", import.meta.url);
const TYPES = readFileSync(new URL("../../pkg/lab.d.ts", import.meta.url), "utf8");

const POPULATION = { dimension: 12, rank: 2, epsilon: 1, count: 20_000, seed: 3 };
const RECORDS = { ...POPULATION, drawn: "records" };

/** The keys of a type of the declarations. */
function declared(type) {
  const [, union] = TYPES.match(new RegExp(`^export type ${type} =([^;]*);`, "m"));
  return Array.from(union.matchAll(/"([^"]+)"/g), ([, key]) => key);
}

const LAB_METHODS = declared("LabMethod");
const OTHERS = declared("Method");

/** A comparison without its times, which no two runs share. */
const timeless = (found) => JSON.parse(JSON.stringify(found, (key, value) => (key === "seconds" ? undefined : value)));

/** The error of the first estimate of the method `key`. */
const error = ({ methods }, key) => methods.find((method) => method.key === key).trials[0].sinThetaSquared;

/** The results of the lab's own module, for its methods. */
let own;

before(async () => {
  await init();
  own = timeless(compare({ ...POPULATION, trials: 2 }));
});

test("before it is loaded a method that the lab lacks is refused, and the remedy named", () => {
  assert.deepEqual(own.methods.map(({ key }) => key), LAB_METHODS);
  assert.equal(OTHERS.length, 20);
  for (const key of OTHERS) {
    const part = new RegExp(`'${key}' in the lab's own module.*await loadMethods\\(\\)`);
    throws(() => compare({ ...POPULATION, methods: ["pca", key] }), "argument", part);
  }
  throws(() => compare({ ...RECORDS, methods: ["pca"] }), "argument", /records are drawn after `await loadMethods/);
});

test("a load that fails says why, and the next one tries again", async () => {
  const [first, second] = [loadMethods(new Uint8Array([0])), loadMethods()];
  assert.equal(first, second);
  await assert.rejects(first, { name: "InitError", code: "init", message: /did not load/ });
  throws(() => compare({ ...POPULATION, methods: ["dp-pca"] }), "argument", /loadMethods/);
  const loaded = loadMethods();
  assert.equal(loadMethods(new Uint8Array([0])), loaded);
  await loaded;
});

test("every declared method is there, those that trust least first", () => {
  const { methods } = compare(RECORDS);
  assert.deepEqual(methods.map(({ key }) => key).sort(), [...LAB_METHODS, ...OTHERS].sort());
  const who = ["nobody", "each provider", "the curator, with"];
  const asks = methods.map(({ trusted }) => who.findIndex((start) => trusted.startsWith(start)));
  // Those that promise nothing stand before all others.
  const promising = asks.slice(3);
  assert.ok(!promising.includes(-1));
  assert.deepEqual(promising, promising.toSorted());
  throws(() => compare({ ...POPULATION, methods: ["nothing"] }), "argument", /^there is no method 'nothing'$/);
  throws(() => compare({ ...POPULATION, methods: ["pca,ppca"] }), "argument", /^'pca,ppca' is not a method/);
});

test("the methods that both modules have find the same, to the last digit", () => {
  assert.deepEqual(timeless(compare({ ...POPULATION, trials: 2, methods: LAB_METHODS })), own);
  assert.ok(own.methods.every(({ trials }) => trials.length === 2));
});

test("records of a population are those that simulate draws, and methods that read them find its components", async () => {
  const options = { ...RECORDS, firstTrial: 5 };
  const found = compare(options);
  const { dimension, rank, count: records, seed } = RECORDS;
  const simulated = await simulate({ dimension, rank, records, seed, reports: "randomized", trials: 1, firstTrial: 5 });
  assert.ok(Math.abs(found.nonPrivate - simulated.nonPrivate.mean) < 1e-12, `${found.nonPrivate}`);
  assert.deepEqual(timeless(compare(options)), timeless(found));
  for (const { key, refusal } of found.methods) {
    // The amplification that Private Oja counts on takes a smaller epsilon; SULQ's matrix may have no real
    // eigenvectors.
    if (!["private-oja", "sulq"].includes(key)) assert.equal(refusal, undefined, key);
  }
  assert.match(found.methods.find(({ key }) => key === "private-oja").refusal, /Lemma 3\.1/);
  for (const key of ["oja", "dp-pca-in-balls", "dps-pca"]) assert.ok(error(found, key) < 0.1, key);
});

test("with second moments alone, methods that read records keep their rows and say so", () => {
  const refusing = compare(POPULATION).methods.filter(({ refusal }) => refusal?.includes("reads records one by one"));
  assert.deepEqual(
    refusing.map(({ key }) => key),
    ["oja", "double-cap-pca", "double-cap-fantope", "private-oja-not-shuffled", "dp-pca", "dp-pca-in-balls"],
  );
  assert.ok(refusing.every(({ trials }) => trials.length === 0));
});

test("records that do not fit are not drawn", () => {
  throws(
    () => compare({ ...RECORDS, count: 2 ** 22 }),
    "argument",
    /4194304 records of 12 features are 50331648 numbers/,
  );
  throws(() => compare({ ...RECORDS, drawn: "all" }), "argument", /drawn is all: give "moments" or "records"/);
});

test("a worker that is given the compiled module needs no init", async () => {
  const source = `
    const { parentPort, workerData: { lab, module, options } } = require("node:worker_threads");
    import(lab).then(async ({ compare, loadMethods }) => {
      await loadMethods(module);
      parentPort.postMessage(compare(options));
    });`;
  const options = { ...RECORDS, methods: ["wang-xu-algorithm-2", "noisy-power-method"] };
  const module = await WebAssembly.compile(readFileSync(MODULE));
  const worker = new Worker(source, { eval: true, workerData: { lab: LAB.href, module, options } });
  const found = await new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
  assert.deepEqual(timeless(found), timeless(compare(options)));
});

test("its numbers are those of the command line", (t) => {
  const folder = scratchFolder(t);
  const [count, dimension] = [3000, 6];
  const rows = rowsOfTwo(count, dimension);
  const columns = numericColumns(dimension);
  const files = { records: join(folder, "records.csv"), schema: join(folder, "schema.json") };
  writeFileSync(files.records, [columns.map(({ name }) => name), ...rows].map((row) => `${row.join()}\n`).join(""));
  writeFileSync(files.schema, JSON.stringify({ columns }));
  const given = ["--records", files.records, "--schema", files.schema, "--bounding", "clip:1"];
  const asked = ["--rank", "2", "--epsilon", "2", "--seed", "9", "--trials", "1"];
  const words = ["compare", ...given, ...asked, "--json"];
  const printed = JSON.parse(execFileSync(researchBinary(), words, { encoding: "utf8" }));
  const found = compare({ records: Float64Array.from(rows.flat()), dimension, rank: 2, epsilon: 2, seed: 9 });
  const [{ rows: expected }] = printed.epsilons;
  assert.deepEqual(found.methods.map(({ key }) => key), expected.map(({ key }) => key));
  for (const [index, { key, refusal, trials }] of found.methods.entries()) {
    assert.equal(refusal ?? null, expected[index].refusal, key);
    // Two processors round differently.
    trials.forEach(({ sinThetaSquared }, trial) => {
      const native = expected[index].trials[trial].sin_theta_squared;
      assert.ok(Math.abs(sinThetaSquared - native) < 1e-6, `${key}: ${sinThetaSquared} and ${native}`);
    });
  }
});
