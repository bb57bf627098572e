import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";

import {
  Aggregate, compare, debiasedContribution, drawCollection, encode, init, penaltyPath, plan, population, predict,
  Randomizer, recommendedMechanism, recover, simulate, solve, Task, version,
} from "../../pkg/lab-node.js";
import * as lab from "../../pkg/lab-node.js";
import { assertNear, command, planned } from "./command-line.js";
import { scratchFolder } from "./folder.js";
import { LIMITS, numericColumns, RECORD, rowsOfTwo, TASK } from "./task.js";
import { seededBy } from "../../pkg/seeded.js";
import { rejects, throws } from "./throws.js";
import { differences } from "./vectors.js";

const VECTORS = new URL("../vectors/v1/", import.meta.url);
const COLLECTIONS = ["centred.json", "double-cap.json", "gaussian.json"].flatMap(
  (file) => JSON.parse(readFileSync(new URL(file, VECTORS), "utf8")).cases,
);

const MECHANISM = { type: "double-cap", epsilon: 4, candidates: 256, cap: 9 };

/** d numeric columns that are taken as they are. */
function numeric(dimension, rest) {
  return { ...TASK, schema: { columns: numericColumns(dimension) }, mechanism: MECHANISM, ...rest };
}

/** Along one of two directions of d features, two features each. */
function recordOf(dimension, index) {
  const record = Float64Array.from({ length: dimension }, (_, feature) => 0.1 * Math.sin(index * (feature + 3)));
  const first = index % 3 ? 0 : 2;
  if (first < dimension) record[first] = record[first + 1] = index % 2 ? 1 : -1;
  return record;
}

/** Reports of such records; the same in every run. */
function collection(task, count) {
  const randomizer = new Randomizer(task, LIMITS);
  const aggregate = new Aggregate(task);
  const seed = new Uint8Array(32);
  for (let index = 0; index < count; index += 1) {
    new DataView(seed.buffer).setUint32(0, index);
    aggregate.add(seededBy(seed)(() => randomizer.randomize(recordOf(task.dimension, index))));
  }
  return aggregate;
}

const folder = scratchFolder();

before(() => init());

function near(found, expected, tolerance = 1e-9) {
  assert.equal(found.length, expected.length);
  found.forEach((value, index) => assert.ok(Math.abs(value - expected[index]) <= tolerance, `${value} at ${index}`));
}

describe("the lab", () => {
  test("has the client's classes, and every vector's bytes", async () => {
    assert.match(version(), /^\d+\.\d+\.\d+/);
    const { bounded, contribution } = encode(Task.parse(TASK), RECORD);
    near(contribution, Array.from(bounded, (one) => Array.from(bounded, (other) => one * other)).flat());
    for (const file of ["centred.json", "double-cap.json", "gaussian.json", "tasks.json"]) {
      assert.deepEqual(await differences(lab, JSON.parse(readFileSync(new URL(file, VECTORS), "utf8"))), [], file);
    }
  });

  test("refuses bytes that are not a report of the task", () => {
    const task = Task.parse(TASK);
    const report = new Randomizer(task, LIMITS).randomize(RECORD).bytes;
    const altered = report.slice();
    altered[30] ^= 1;
    throws(() => debiasedContribution(task, altered), "report", /checksum/);
    throws(() => debiasedContribution(task, [...report]), "argument", /Uint8Array/);
    const sum = new Aggregate(task);
    throws(() => sum.add(Buffer.concat([report, altered])), "report", /checksum/);
    assert.equal(sum.records, 0);
  });
});

describe("aggregates", () => {
  test("are those of the vectors, report by report, all at once, and merged", () => {
    for (const { name, task: document, reports, aggregate: expected } of COLLECTIONS) {
      const task = Task.parse(document);
      const bytes = reports.map(({ report }) => Buffer.from(report, "hex"));
      const read = new Aggregate(task, Buffer.from(expected, "hex"));
      const single = new Aggregate(task);
      for (const report of bytes) single.add(report);
      const merged = new Aggregate(task).add(bytes[0]).merge(new Aggregate(task).add(Buffer.concat(bytes.slice(1))));
      for (const aggregate of [read, single, merged, new Aggregate(task, merged.toBytes())]) {
        assert.equal(Buffer.from(aggregate.toBytes()).toString("hex"), expected, name);
        assert.equal(aggregate.records, bytes.length);
      }
    }
  });

  test("refuse what is not theirs, and stay as they were", () => {
    const task = Task.parse(TASK);
    const aggregate = new Aggregate(task);
    const report = new Randomizer(task, LIMITS).randomize(RECORD);
    throws(() => recover(aggregate, { rank: 1 }), "aggregate", /no reports/);
    throws(() => aggregate.secondMoment(), "aggregate", /./);
    const other = new Aggregate(Task.parse({ ...TASK, folds: 2 }));
    throws(() => aggregate.merge(other), "aggregate", /task/);
    throws(() => aggregate.merge(aggregate), "argument", /twice/);
    throws(() => aggregate.merge({}), "argument", /an Aggregate/);
    throws(() => new Aggregate(task, report.bytes), "aggregate", /./);
    assert.equal(aggregate.records, 0);
    const before = aggregate.add(report).toBytes();
    throws(() => aggregate.add(report), "aggregate", /in the sum already/);
    throws(() => aggregate.merge(new Aggregate(task).add(report)), "aggregate", /in the other one already/);
    assert.deepEqual(aggregate.toBytes(), before);
    aggregate.free();
    aggregate.free();
    throws(() => aggregate.records, "argument", /freed/);
  });
});

describe("recovery", () => {
  test("is that of the command line, dense and sparse", () => {
    const document = numeric(12, { folds: 3 });
    const aggregate = collection(Task.parse(document), 3000);
    const files = { task: join(folder, "task.json"), aggregate: join(folder, "aggregate.bin") };
    writeFileSync(files.task, JSON.stringify(document));
    writeFileSync(files.aggregate, aggregate.toBytes());
    const inputs = ["recover", "--task", files.task, files.aggregate, "--rank", "2"];
    const compare = (found, expected, tolerance) => {
      const columns = Array.from({ length: 24 }, (_, i) => found.components[(i % 12) * 2 + Math.floor(i / 12)]);
      assert.equal(found.components.length, 24);
      near(columns, expected.components.flat(), tolerance);
      near(found.eigenvalues, expected.eigenvalues, tolerance);
      near(found.explainedVariance, expected.explained_variance, tolerance);
      near([found.noiseDeviation, found.noiseEdge], [expected.noise_deviation, expected.noise_edge]);
      assert.deepEqual([found.records, found.dimension, found.rank], [3000, 12, 2]);
    };
    const dense = recover(aggregate, { rank: 2 });
    compare(dense, command(...inputs, "--method", "pca"), 1e-9);
    assert.deepEqual([dense.method, dense.status, dense.sparse], ["pca", "optimal", null]);
    assert.ok(dense.eigenvalueGap > 0);
    for (const [penalty, argument] of [["auto", "auto"], ["cv", "cv"], [0.02, "0.02"]]) {
      const sparse = recover(aggregate, { rank: 2, penalty, tolerance: 1e-6 });
      const expected = command(...inputs, "--sparse", "--penalty", argument, "--tolerance", "1e-6");
      // Two solutions within a relative gap of 1e-6, found on different processors: the error is of the order of its
      // root.
      compare(sparse, expected, 5e-3);
      assert.deepEqual([sparse.method, sparse.status], ["fantope", "optimal"]);
      near(
        [sparse.sparse.penalty, sparse.sparse.objective],
        [expected.sparse.penalty, expected.sparse.objective],
        1e-6,
      );
      assert.deepEqual(sparse.support.map((row) => `x${row}`), expected.sparse.support);
      assert.ok(sparse.sparse.relativeGap <= 1e-6);
      assert.equal(sparse.sparse.baselines, undefined);
    }
    assert.equal(recover(aggregate, { rank: 2, baselines: true }).sparse, null);
    assert.equal(dense.sinThetaSquared, undefined);
    // Beside the plain components, which are one of the baselines.
    const asked = { rank: 2, penalty: 0.02, tolerance: 1e-6, baselines: true, reference: dense.components };
    const { sinThetaSquared, sparse: { baselines } } = recover(aggregate, asked);
    near([sinThetaSquared, baselines.pca.sinThetaSquared], [baselines.pca.distance, 0]);
    const named = command(...inputs, "--sparse", "--penalty", "0.02", "--tolerance", "1e-6");
    for (const [found, expected] of [
      [baselines.softThreshold, named.sparse.soft_threshold],
      [baselines.pca, named.sparse.pca],
    ]) {
      near(found.eigenvalues, expected.eigenvalues, 1e-9);
      near([found.distance], [expected.distance], 5e-3);
      assert.deepEqual(found.support.map((row) => `x${row}`), expected.support);
    }
    const path = penaltyPath(aggregate, { rank: 2, points: 5 });
    const expected = command(...inputs, "--sparse", "--path=5").path;
    near(path.map(({ penalty }) => penalty), expected.map(({ penalty }) => penalty));
    assert.deepEqual(path.map(({ support }) => support.length), expected.map(({ support_size }) => support_size));
    const predicted = predict(aggregate, { rank: 2 });
    const { share_found, sin_theta_squared } = command(...inputs).predicted;
    near([predicted.shareFound, predicted.sinThetaSquared], [share_found, sin_theta_squared], 1e-9);
  });

  test("finds the mean of a centred task", () => {
    const task = Task.parse(numeric(4, { centring: { weight: 0.25 }, bounding: { type: "clip", radius: 2 } }));
    const { mean } = recover(collection(task, 200), { rank: 1 });
    assert.equal(mean.length, 4);
  });

  test("of a matrix reports progress, and can be stopped", () => {
    const dimension = 60;
    const matrix = new Float64Array(dimension * dimension);
    for (let row = 0; row < dimension; row += 1) {
      for (let column = 0; column < dimension; column += 1) {
        const noise = 0.1 * Math.sin((row + 1) * (column + 1));
        matrix[row * dimension + column] = (row < 5 && column < 5 ? 1 : 0) + noise;
      }
    }
    const calls = [];
    const options = { rank: 2, penalty: 0.03 };
    const found = solve(matrix, dimension, { ...options, onProgress: (state) => void calls.push(state) });
    assert.ok(found.sparse.relativeGap <= 1e-6, `${found.sparse.relativeGap}`);
    assert.ok(calls.length > 1 && calls.at(-1).done > calls[0].done, JSON.stringify(calls));
    assert.deepEqual(found.support.slice(0, 5), [0, 1, 2, 3, 4]);
    const stopped = solve(matrix, dimension, { ...options, onProgress: () => false });
    assert.equal(stopped.status, "cancelled");
    assert.ok(stopped.sparse.relativeGap > found.sparse.relativeGap);
    const controller = new AbortController();
    const aborting = () =>
      solve(matrix, dimension, { ...options, signal: controller.signal, onProgress: () => controller.abort() });
    assert.throws(aborting, { name: "AbortError" });
    const failing = () => solve(matrix, dimension, { ...options, onProgress: () => { throw new TypeError("mine"); } });
    assert.throws(failing, new TypeError("mine"));
  });

  test("refuses what makes no sense", () => {
    const aggregate = collection(Task.parse(numeric(3)), 10);
    for (const [options, code, part] of [
      [{ rank: 0 }, "argument", /rank is 0/],
      [{ rank: 4 }, "recovery", /rank 4 exceeds/],
      [{}, "argument", /rank is undefined/],
      [{ rank: 1, penalty: -1 }, "argument", /penalty is -1/],
      [{ rank: 1, penalty: "strong" }, "argument", /penalty is strong/],
      [{ rank: 1, penalty: { factor: -1 } }, "recovery", /./],
      [{ rank: 1, sparse: true }, "argument", /'sparse'/],
      [{ rank: 1, baselines: 1 }, "argument", /boolean/],
      [{ rank: 1, reference: [1, 0, 0] }, "argument", /Float64Array/],
      [{ rank: 1, reference: Float64Array.of(1, 0) }, "argument", /2 numbers are not a matrix of 3 × 1/],
    ]) {
      throws(() => recover(aggregate, options), code, part);
    }
    throws(() => recover(TASK, { rank: 1 }), "argument", /an Aggregate/);
    throws(() => solve([1, 0, 0, 1], 2, { rank: 1 }), "argument", /Float64Array/);
    throws(() => solve(Float64Array.of(1, 0, 0), 2, { rank: 1 }), "argument", /3 numbers/);
    throws(() => solve(Float64Array.of(1, 0, 2, 1), 2, { rank: 1 }), "recovery", /symmetric/);
    throws(() => solve(Float64Array.of(1, 0, 0, 1), 2, { rank: 1, penalty: "auto" }), "argument", /noise/);
    throws(() => penaltyPath(aggregate, { rank: 1, onProgress: () => false }), "cancelled", /cancelled/);
  });
});

describe("what to expect", () => {
  test("of mechanisms, the parameters that are left out are those of the command line's task new", () => {
    const schema = join(folder, "schema.json");
    writeFileSync(schema, JSON.stringify(numeric(3).schema));
    for (const type of ["double-cap", "gaussian"]) {
      for (const epsilon of [0.25, 1, 2, 8]) {
        const path = join(folder, "task.json");
        const mechanism = type === "gaussian" ? ["--delta", "1e-6"] : [];
        const options = ["--schema", schema, "--epsilon", String(epsilon), "--mechanism", type, ...mechanism];
        command("task", "new", ...options, "-o", path, "--force");
        const stated = JSON.parse(readFileSync(path, "utf8")).mechanism;
        assert.deepEqual(recommendedMechanism({ type, epsilon }), stated);
        assert.deepEqual(
          recommendedMechanism(stated.type === "gaussian" ? { type, epsilon, delta: 1e-6 } : stated),
          stated,
        );
      }
    }
    throws(() => recommendedMechanism({ type: "wang-xu", epsilon: 1 }), "argument", /comparison only/);
    throws(() => recommendedMechanism(), "argument", /type/);
  });

  test("is simulated with the command line's numbers", async () => {
    const methods = ["pca", "fantope"];
    const options = { dimension: 12, rank: 2, sparsity: 4, records: 400, trials: 2, seed: 7, methods };
    const steps = [];
    const onProgress = ({ done, total }) => steps.push([done, total]);
    const found = await simulate({ ...options, mechanism: { type: "double-cap", epsilon: 4 } }, { onProgress });
    const expected = command(
      ...["simulate", "--epsilon", "4", "--dimension", "12", "--rank", "2", "--sparsity", "4", "--records", "400"],
      ...["--trials", "2", "--seed", "7", "--method", "pca,fantope"],
    );
    for (const [index, { method, share_found, sin_theta_squared }] of expected.methods.entries()) {
      assert.equal(found.methods[index].method, method);
      near(found.methods[index].shareFound.values, share_found.values, 1e-6);
      near(found.methods[index].sinThetaSquared.values, sin_theta_squared.values, 1e-6);
    }
    near(found.nonPrivate.values, expected.non_private.values);
    near(found.nonPrivateShareFound.values, expected.non_private_share_found.values);
    near([found.randomSubspace, found.reportBytes], [expected.random_subspace, expected.report_bytes]);
    assert.deepEqual(steps, [[1, 2], [2, 2]]);
    const open = await simulate({ ...options, methods: ["pca"] });
    assert.deepEqual(open.methods[0].sinThetaSquared.values, open.nonPrivate.values);
    assert.deepEqual(open.methods[0].shareFound, open.nonPrivateShareFound);
    const flat = await simulate({ ...options, sparsity: undefined, signal: 0, methods: ["pca"] });
    assert.deepEqual([flat.methods[0].shareFound, flat.nonPrivateShareFound], [null, null]);
    assert.deepEqual([open.reportBytes, open.guarantee, open.byMechanism], [null, null, []]);
  });

  test("is simulated for several mechanisms on the same records, in any split, from drawn reports too", async () => {
    const options = { dimension: 12, rank: 2, records: 300, trials: 3, seed: 9 };
    const mechanisms = [
      { type: "wang-xu", epsilon: 4, delta: 1e-4 },
      { type: "gaussian", epsilon: 4, delta: 1e-4 },
      { type: "double-cap", epsilon: 4 },
    ];
    for (const reports of ["randomized", "drawn"]) {
      const found = await simulate({ ...options, mechanisms, reports });
      assert.deepEqual(found.methods, found.byMechanism[0].methods);
      assert.deepEqual(found.byMechanism.map(({ guarantee }) => guarantee.epsilon), [4, 4, 4]);
      assert.deepEqual(found.byMechanism.slice(1).map(({ guarantee }) => guarantee.delta), [1e-4, 0]);
      const values = ({ byMechanism }) => byMechanism.map(({ methods }) => methods[0].sinThetaSquared.values);
      for (const trial of [0, 1, 2]) {
        const one = await simulate({ ...options, mechanisms, reports, trials: 1, firstTrial: trial });
        assert.deepEqual(values(one), values(found).map((column) => [column[trial]]));
        assert.equal(one.nonPrivate.values[0], found.nonPrivate.values[trial]);
      }
      if (reports === "randomized") continue;
      const alone = await simulate({ ...options, mechanism: mechanisms[0], reports });
      assert.deepEqual([alone.nonPrivate, alone.methods], [found.nonPrivate, found.methods]);
    }
  });

  test("is simulated while other work has its turns, and until a signal stops it", async () => {
    const controller = new AbortController();
    let [beats, trials] = [0, 0];
    const heart = setInterval(() => (beats += 1));
    const options = { dimension: 10, rank: 2, records: 200, trials: 1000, mechanism: MECHANISM };
    const onProgress = ({ done }) => {
      trials = done;
      if (beats >= 3) controller.abort();
    };
    await assert.rejects(simulate(options, { signal: controller.signal, onProgress }), { name: "AbortError" });
    clearInterval(heart);
    assert.ok(beats >= 3 && trials < 1000, `${beats} beats in ${trials} trials`);
  });

  test("a population has the stated spectrum", () => {
    const options = { dimension: 25, rank: 2, signal: 8, sparsity: 5 };
    const { signals, bulk } = population(options);
    assert.equal(signals.length, 2);
    near([signals[0] + signals[1] + 23 * bulk], [1]);
    throws(() => population({ ...options, sparsity: 1 }), "simulation", /sparsity is 1/);
    throws(() => population({ ...options, records: 3 }), "argument", /'records'/);
  });

  test("ways of recovering are compared on one collection", async () => {
    const mechanism = { type: "double-cap", epsilon: 2 };
    const options = { dimension: 40, rank: 2, sparsity: 6, records: 3000, mechanism, seed: 3 };
    const collection = drawCollection(options);
    const compared = collection.compare();
    const { truth, pca, softThreshold, fantope } = compared;
    // The very collection of the simulation.
    const methods = ["pca", "soft-threshold", "fantope"];
    const simulated = await simulate({ ...options, methods, reports: "drawn", trials: 1 });
    const errors = simulated.methods.map(({ sinThetaSquared }) => sinThetaSquared.mean);
    near([pca, softThreshold, fantope].map(({ sinThetaSquared }) => sinThetaSquared), errors, 1e-9);
    near([compared.penalty], [0.5 * collection.noiseDeviation * Math.sqrt(Math.log(40))]);
    assert.ok(compared.relativeGap >= 0 && compared.relativeGap <= 1e-3, `${compared.relativeGap}`);
    for (const found of [truth, pca, softThreshold, fantope]) {
      assert.ok(found.matrix instanceof Float64Array && found.matrix.length === 1600);
      near(found.leverages, Array.from({ length: 40 }, (_, i) => found.matrix[41 * i]));
      // Half the squared distance of the projections is the squared sine distance.
      const distance = found.matrix.reduce((sum, value, i) => sum + (value - truth.matrix[i]) ** 2, 0) / 2;
      near([found.sinThetaSquared], [distance]);
    }
    assert.deepEqual(collection.compare({ factor: 0.5 }), compared);
    // As an option a number may lose its last bit.
    near([collection.compare({ penalty: compared.penalty }).fantope.sinThetaSquared], [fantope.sinThetaSquared], 1e-4);
    const steps = [];
    const path = collection.path({ points: 6, onProgress: ({ done, total }) => void steps.push([done, total]) });
    assert.equal(path.length, 6);
    assert.ok(path[0].support.length < path[5].support.length && steps.length > 0);
    throws(() => collection.compare({ penalty: -1 }), "argument", /-1/);
    throws(() => collection.compare({ penalty: 1, factor: 1 }), "argument", /one of them/);
    throws(() => collection.compare({ weight: 1 }), "argument", /'weight'/);
    throws(() => collection.path({ onProgress: () => false }), "cancelled", /cancelled/);
    throws(() => drawCollection({ ...options, reports: "guessed" }), "argument", /guessed/);
    throws(() => drawCollection({ ...options, trials: 3 }), "argument", /'trials'/);
    collection.free();
    collection.free();
    throws(() => collection.compare(), "argument", /freed/);
  });

  test("is predicted, and refused where there is no such population", async () => {
    const population = { dimension: 40, rank: 3, signals: [0.22, 0.22, 0.22], records: 40_000 };
    const mechanism = { type: "double-cap", epsilon: 2, candidates: 128, cap: 16 };
    // The example of the crate's documentation.
    const prediction = predict({ ...population, mechanism });
    assert.ok(prediction.sinThetaSquared > 0.04 && prediction.sinThetaSquared < 0.05, `${prediction.sinThetaSquared}`);
    assert.ok(prediction.recoverable.every(Boolean));
    throws(() => predict({ ...population, mechanism: { type: "no-such-mechanism" } }), "argument", /no-such/);
    throws(() => predict({ ...population, mechanism: { ...mechanism, scale: 3 } }), "argument", /scale/);
    throws(() => predict({ ...population, mechanism, signals: [2, "x"] }), "argument", /signals is x/);
    throws(() => predict({ ...population, mechanism, signals: [-1] }), "recovery", /-1/);
    throws(() => predict({ ...population, mechanism, users: 3 }), "argument", /'users'/);
    throws(() => predict(), "argument", /dimension is undefined/);
    const usual = { dimension: 5, rank: 1, records: 10 };
    for (const [options, code, part] of [
      [{ ...usual, rank: 6 }, "simulation", /rank 6/],
      [{ ...usual, methods: [] }, "argument", /methods/],
      [{ ...usual, methods: ["guess"] }, "argument", /guess/],
      [{ ...usual, methods: "pca" }, "argument", /^methods is pca: .*array/],
      [{ ...usual, trials: 0 }, "argument", /trials/],
      [{ ...usual, records: 0 }, "argument", /records is 0/],
      [{ ...usual, mechanism, mechanisms: [] }, "argument", /one of them/],
      [{ ...usual, users: 1 }, "argument", /'users'/],
      [undefined, "argument", /dimension/],
    ]) {
      await rejects(simulate(options), code, part);
    }
  });

  test("is planned with the command line's numbers", () => {
    const mechanism = { type: "double-cap", epsilon: 2 };
    const survey = { dimension: 116, rank: 3, signals: [0.646, 0.176, 0.088, 0.039], mechanism };
    const one = { dimension: 40, rank: 1, signals: [0.3], mechanism: { type: "double-cap", epsilon: 1 } };
    const shuffled = { honestReports: 5000, delta: 1e-8 };
    for (const setting of [
      { ...survey, target: 0.05, share: 0.9 },
      { ...survey, records: 200_000, target: 0.05 },
      // A component that is no larger than one left out is never found for certain, which costs no variance.
      { ...survey, rank: 1, signals: [0.4, 0.4], share: 0.9, target: 0.05 },
      // Each of shuffled reports may say more.
      { ...one, share: 0.9, target: 0.1, records: 20_000, shuffled },
    ]) {
      // The lab has no words on a stated spectrum, and nothing of hostile reports.
      const { pull, hostile, notes, ...expected } = planned(setting);
      assert.ok(pull && notes.length > 0);
      assertNear(plan(setting), expected, JSON.stringify(setting));
    }
    assert.equal(predict({ ...survey, signals: [], records: 200_000 }).shareFound, null);
  });

  test("of an aggregate is planned with the spectrum of its estimate", () => {
    const aggregate = collection(Task.parse(numeric(6)), 2000);
    const found = plan(aggregate, { rank: 2, target: 0.02, records: 2000 });
    assert.equal(found.predicted.sinThetaSquared, predict(aggregate, { rank: 2 }).sinThetaSquared);
    assert.ok(found.thresholdRecordsPerComponent.length === 2 && found.recordsForTarget > 0);
    throws(() => plan(aggregate, { rank: 2, dimension: 6 }), "argument", /'dimension'/);
  });

  test("has no plan for what makes no sense", () => {
    const mechanism = { type: "double-cap", epsilon: 2 };
    const wanted = { dimension: 10, rank: 1, signals: [0.5], mechanism, target: 0.1 };
    const refused = (options, code, part) => throws(() => plan({ ...wanted, ...options }), code, part);
    refused({ signals: [0.9, 0.3] }, "recovery", /sum to 1\.2/);
    refused({ signals: [NaN] }, "argument", /signals is NaN/);
    refused({ share: "most" }, "argument", /share is most/);
    refused({ records: 1.5 }, "argument", /records is 1\.5/);
    refused({ shuffled: { honestReports: 1000, delta: 0 } }, "argument", /delta is 0/);
    refused({ shuffled: { delta: 1e-6 } }, "argument", /honestReports/);
    refused({ records: 999, shuffled: { honestReports: 1000, delta: 1e-6 } }, "recovery", /999 .* 1000 honest reports/);
    refused({ people: 3 }, "argument", /'people'/);
  });
});

describe("methods of the literature", () => {
  const POPULATION = { dimension: 12, rank: 2, epsilon: 1, count: 20_000 };
  const errors = ({ methods }, key) =>
    methods.find((method) => method.key === key).trials.map((trial) => trial.sinThetaSquared);

  test("stand side by side, each with its trust and its promise", () => {
    const asked = { ...POPULATION, methods: ["analyze-gauss", "gaussian-analytic-pca"], trials: 3 };
    const found = compare(asked);
    const [local, central] = found.methods;
    assert.match(central.trusted, /curator/);
    assert.deepEqual(central.guarantee.proved, { epsilon: 1, delta: 1e-6 });
    assert.deepEqual([local.guarantee.about, central.guarantee.about], ["any two records", "one record replaced"]);
    near([found.randomSubspace], [2 * (1 - 2 / 12)]);
    for (const { shareFound, sinThetaSquared } of found.methods.flatMap(({ trials }) => trials)) {
      near([shareFound], [1 - sinThetaSquared / found.randomSubspace]);
    }
    assert.notEqual(compare({ ...asked, trials: 1, firstTrial: 7 }).nonPrivate, found.nonPrivate);
  });

  test("find of records what they find of their second moments", () => {
    const [count, dimension] = [400, 5];
    const rows = rowsOfTwo(count, dimension);
    const secondMoment = new Float64Array(dimension * dimension);
    for (const row of rows) {
      const products = row.flatMap((one) => row.map((other) => one * other));
      products.forEach((product, entry) => (secondMoment[entry] += product / count));
    }
    const options = { dimension, rank: 2, epsilon: 2, methods: ["pca", "mod-sulq", "analyze-gauss"] };
    const ofRecords = compare({ ...options, records: Float64Array.from(rows.flat()) });
    assert.ok(errors(ofRecords, "pca")[0] < 1e-20 && ofRecords.nonPrivate < 1e-20);
    const random = (2 / 5) * [0, 6, 12, 18, 24].reduce((sum, entry) => sum + secondMoment[entry], 0);
    for (const { shareFound, captured } of ofRecords.methods.flatMap(({ trials }) => trials)) {
      near([shareFound], [(captured - random) / (ofRecords.captured - random)]);
    }
    const ofMoments = compare({ ...options, secondMoment, count });
    near(errors(ofMoments, "analyze-gauss"), errors(ofRecords, "analyze-gauss"));
    const [, , long] = compare({ ...options, secondMoment, count, largestNorm: 2 }).methods;
    assert.match(long.refusal, /norm at most 1, but the longest has 2/);
  });

  test("refuse what makes no sense", () => {
    const refused = (options, code, part) => throws(() => compare({ ...POPULATION, ...options }), code, part);
    refused({ rank: 13 }, "simulation", /13/);
    refused({ count: undefined }, "argument", /count is undefined/);
    refused({ records: [1, 2] }, "argument", /Float64Array/);
    refused({ records: new Float64Array(13) }, "argument", /13 numbers do not make whole records of 12/);
    refused({ people: 3 }, "argument", /'people'/);
  });
});
