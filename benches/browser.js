// Speed of the built npm package at turning records into reports in a real Chromium, on one thread, with randomness
// from crypto.getRandomValues. Beside it, in turn with it, what could be had without privacy: x xᵀ plus normal numbers
// in floating point, from Math.random. scripts/setup.sh and scripts/build-wasm.sh come first; `make bench` does it all.

import { launchChromium } from "../tests/browser/chromium.js";
import { serve } from "../tests/browser/serve.js";
import { align, median, ROOT, run, taskOf } from "./command.js";

const EMPTY = '<!doctype html><link rel="icon" href="data:,"><title>benchmark</title>';

const DIMENSIONS = [40, 116, 400];
const MECHANISMS = {
  "double-cap of 256": { type: "double-cap", epsilon: 4, candidates: 256, cap: 9 },
  "double-cap of 64": { type: "double-cap", epsilon: 2, candidates: 64, cap: 8 },
  "signed-cap of 64": { type: "signed-cap", epsilon: 2, candidates: 64, cap: 12 },
  gaussian: { type: "gaussian", epsilon: 1, delta: 1e-6, calibration: "analytic" },
};

/** The number of a refinement's directions, which are the first axes. */
const RANK = 3;

const REPETITIONS = 40;
/** The least that a repetition lasts, in as many calls as that takes: the clock of a page ticks in tenths of one. */
const MILLISECONDS = 10;

async function measureAll() {
  const browser = await launchChromium();
  const server = await serve(ROOT, { "/": EMPTY });
  try {
    const page = await browser.newPage();
    await page.goto(`${server.url}/`);
    const cases = Object.entries(MECHANISMS).flatMap(([name, mechanism]) =>
      DIMENSIONS.map((dimension) => ({ name, mechanism, dimension })),
    );
    const results = [];
    for (const { name, mechanism, dimension } of cases) {
      const times = await page.evaluate(measure, [task(dimension, mechanism), REPETITIONS, MILLISECONDS]);
      results.push({ name, dimension, ...result(mechanism, dimension, times) });
    }
    return { chromium: browser.version(), repetitions: REPETITIONS, results };
  } finally {
    await browser.close();
    await server.close();
  }
}

function task(dimension, mechanism) {
  const document = taskOf(dimension, mechanism);
  if (mechanism.type !== "signed-cap") return document;
  const { columns } = document.schema;
  const directions = Array.from({ length: RANK }, (_, row) => columns.map((_, place) => (row === place) * 2 ** 20));
  const refinement = { parent: "0".repeat(64), directions, weights: Array(RANK).fill(2 ** 16), clip: 2 ** 38 };
  return { ...document, refinement };
}

function result(mechanism, dimension, { bytes, numbers, named, peer }) {
  const entries = (dimension * (dimension + 1)) / 2;
  // The mechanism's draws: the entries of a symmetric matrix, or every coordinate of every candidate. Those of a
  // refinement are products with each direction, and one more.
  const each = mechanism.type === "signed-cap" ? RANK * dimension + 1 : dimension;
  const coordinates = mechanism.type === "gaussian" ? entries : mechanism.candidates * each;
  return {
    report_bytes: bytes,
    coordinates,
    microseconds: spread(numbers),
    microseconds_by_name: spread(named),
    peer_microseconds: spread(peer),
    coordinates_per_second: Math.round((coordinates / median(numbers)) * 1e6),
    peer_coordinates_per_second: Math.round((entries / median(peer)) * 1e6),
    time_ratio_to_peer: median(numbers) / median(peer),
  };
}

function spread(times) {
  return { median: median(times), min: Math.min(...times) };
}

/** Runs in the page. Microseconds per call, one number for each repetition. */
async function measure([json, repetitions, milliseconds]) {
  const { init, Randomizer, Task } = await import("/pkg/index.js");
  await init();
  const task = Task.parse(json);
  const randomizer = new Randomizer(task, { maxEpsilon: Infinity });
  const dimension = task.dimension;
  const record = Float64Array.from({ length: dimension }, (_, index) => Math.sin(index + 1));
  const byName = Object.fromEntries(json.schema.columns.map(({ name }, index) => [name, record[index]]));
  const norm = Math.hypot(...record);
  const unit = record.map((value) => value / norm);
  const matrix = new Float64Array((dimension * (dimension + 1)) / 2);

  /** Box and Muller's two normal numbers at a time, all of them used. */
  function unprotected() {
    let [entry, spare, full] = [0, 0, false];
    for (let row = 0; row < dimension; row += 1) {
      for (let column = row; column < dimension; column += 1) {
        let normal = spare;
        if (!full) {
          const radius = Math.sqrt(-2 * Math.log(1 - Math.random()));
          const angle = 2 * Math.PI * Math.random();
          normal = radius * Math.cos(angle);
          spare = radius * Math.sin(angle);
        }
        full = !full;
        matrix[entry] = unit[row] * unit[column] + normal;
        entry += 1;
      }
    }
    return matrix;
  }

  const work = {
    numbers: () => randomizer.randomize(record),
    named: () => randomizer.randomize(byName),
    peer: unprotected,
  };
  const time = (call, calls) => {
    const start = performance.now();
    for (let index = 0; index < calls; index += 1) call();
    return ((performance.now() - start) * 1000) / calls;
  };
  // The warm-up, in which the code is compiled, takes ten repetitions and so finds how many calls make one.
  const calls = Object.fromEntries(
    Object.entries(work).map(([name, call]) => {
      let count = 1;
      while (time(call, count) * count < 10_000 * milliseconds) count *= 2;
      return [name, Math.ceil(count / 10)];
    }),
  );
  const times = { bytes: task.reportBytes, numbers: [], named: [], peer: [] };
  for (let repetition = 0; repetition < repetitions; repetition += 1) {
    // In turn, so that other work on the machine slows all of them alike.
    for (const name of Object.keys(work)) times[name].push(time(work[name], calls[name]));
  }
  randomizer.free();
  task.free();
  return times;
}

function table({ chromium, repetitions, results }) {
  const us = (microseconds) => microseconds.toFixed(microseconds < 100 ? 1 : 0);
  const head = [
    ...["", "d", "report us", "(min)", "by name us", "(min)", "coordinates/s"],
    ...["peer us", "(min)", "peer coord./s", "ratio"],
  ];
  const rows = results.map((row) => [
    row.name,
    `${row.dimension}`,
    us(row.microseconds.median),
    us(row.microseconds.min),
    us(row.microseconds_by_name.median),
    us(row.microseconds_by_name.min),
    row.coordinates_per_second.toExponential(2),
    us(row.peer_microseconds.median),
    us(row.peer_microseconds.min),
    row.peer_coordinates_per_second.toExponential(2),
    row.time_ratio_to_peer.toFixed(2),
  ]);
  return [
    `randomize() in Chromium ${chromium}, medians of ${repetitions} repetitions, microseconds per report`,
    "",
    ...align([head, ...rows]),
    "",
    "report: the record is a Float64Array; by name: an object. coordinates: d (d + 1) / 2 entries, or candidates x d.",
    `signed-cap: a refinement with k = ${RANK}, of candidates x (k d + 1) coordinates.`,
    "peer: d (d + 1) / 2 entries of x x^T plus f64 normals (Box-Muller on Math.random), no privacy. ratio: report / " +
      "peer.",
  ].join("\n");
}

await run(measureAll, table);
