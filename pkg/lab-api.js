// The exports of every entry of the lab, besides its own `init` and `loadMethods`: the client's, and its additions to
// them, sums of reports, recovery, prediction and simulation.

import { columnsOf, recordBytes, valuesOf } from "./boundary.js";
import { alive } from "./checks.js";
import { failure } from "./errors.js";
import { call, generated, methods } from "./lab-modules.js";
import * as wasm from "./wasm/lab/ldp_pca.js";

export * from "./common.js";
export { Randomizer, Task, version } from "./lab-modules.js";

export function encode(task, record) {
  const numbers = call(() => wasm.encode(generated(task), recordBytes(valuesOf(columnsOf(task), record))));
  const { dimension } = task;
  return {
    features: numbers.slice(0, dimension),
    bounded: numbers.slice(dimension, 2 * dimension),
    contribution: numbers.slice(2 * dimension),
  };
}

export function debiasedContribution(task, report) {
  const sum = new Aggregate(task);
  try {
    return sum.add(report).secondMoment();
  } finally {
    sum.free();
  }
}

export function recommendedMechanism(mechanism) {
  return call(() => JSON.parse(wasm.recommendedMechanism(mechanismOf(mechanism))));
}

let sums;

export class Aggregate {
  #aggregate;

  static {
    sums = (aggregate) => {
      if (!(#aggregate in Object(aggregate))) throw failure("argument", "give an Aggregate");
      return alive(aggregate.#aggregate, "aggregate");
    };
  }

  constructor(task, bytes) {
    this.#aggregate = call(() =>
      bytes === undefined
        ? new wasm.Aggregate(generated(task))
        : wasm.Aggregate.fromBytes(generated(task), bytesOf(bytes)),
    );
  }

  get records() {
    return sums(this).records;
  }

  add(reports) {
    call(() => sums(this).add(bytesOf(reports)));
    return this;
  }

  merge(other) {
    // One that is merged with itself is borrowed twice: the module cannot.
    const own = sums(this);
    if (sums(other) === own)
      throw failure("argument", "an aggregate merged with itself would count every report twice");
    call(() => own.merge(sums(other)));
    return this;
  }

  secondMoment() {
    return call(() => sums(this).secondMoment());
  }

  toBytes() {
    return call(() => sums(this).toBytes());
  }

  free() {
    this.#aggregate?.free();
    this.#aggregate = undefined;
  }
}

export function recover(aggregate, options) {
  return recovery(options, (asked, progress) => sums(aggregate).recover(asked, progress));
}

export function solve(matrix, dimension, options) {
  if (!(matrix instanceof Float64Array))
    throw failure("argument", "give the matrix as a Float64Array of d × d numbers");
  return recovery(options, (asked, progress) => wasm.solve(matrix, count("dimension", dimension), asked, progress));
}

export function penaltyPath(aggregate, { rank, points = 20, ...watched } = {}) {
  return pathOf(() => sums(aggregate).path(count("rank", rank, 1), count("points", points), progressOf(watched)));
}

export function predict(what, options) {
  if (what instanceof Aggregate) {
    const { rank, ...others } = options ?? {};
    noOthers(others);
    return camelCased(call(() => sums(what).predict(count("rank", rank, 1))));
  }
  const { rank, records, ...population } = Object(what);
  const asked = populationOf(population);
  return camelCased(call(() => wasm.predict(asked, count("rank", rank, 1), many("records", records))));
}

export function plan(what, options) {
  const own = what instanceof Aggregate ? (options ?? {}) : Object(what);
  const { rank, records, share, target, shuffled, ...population } = own;
  const wanted = {
    rank: count("rank", rank, 1),
    records: given(many, "records", records),
    share: given(number, "share", share),
    target: given(number, "target", target),
    shuffled: shuffled ?? undefined,
  };
  noOthers(Object(shuffled), "honestReports", "delta");
  if (what instanceof Aggregate) {
    noOthers(population);
    return camelCased(call(() => sums(what).plan(wanted)));
  }
  const asked = populationOf(population);
  return camelCased(call(() => wasm.plan(asked, wanted)));
}

export async function simulate(options, { signal, onProgress } = {}) {
  const {
    methods = ["pca"],
    penaltyFactor,
    trials = 5,
    firstTrial = 0,
    mechanism,
    mechanisms,
    ...who
  } = Object(options);
  if (mechanism && mechanisms) throw failure("argument", "there are 'mechanism' and 'mechanisms': give one of them");
  const total = count("trials", trials, 1);
  const first = count("firstTrial", firstTrial);
  const asked = { ...who, mechanisms: mechanisms ?? [mechanism ?? []].flat() };
  const [names, factor] = [namesOf(methods), given(number, "penaltyFactor", penaltyFactor)];
  const results = [];
  while (results.length < total) {
    signal?.throwIfAborted();
    const collection = collectionOf({ ...asked, trial: first + results.length });
    results.push(call(() => wasm.simulateTrial(collection, names, factor)));
    onProgress?.({ done: results.length, total });
    // Between trials the page lives.
    await new Promise((resolve) => setTimeout(resolve));
  }
  const figures = (name, found) => {
    const values = results.map((result) => found(result)[name]);
    // A population without structure has no share of it.
    return values.includes(null) ? null : { mean: values.reduce((sum, value) => sum + value, 0) / total, values };
  };
  const both = (found) => ({
    shareFound: figures("shareFound", found),
    sinThetaSquared: figures("sinThetaSquared", found),
  });
  const ofRecords = both(({ nonPrivate }) => nonPrivate);
  const byMechanism = results[0].byMechanism.map(({ reportBytes, guarantee }, which) => ({
    methods: methods.map((method, index) => ({
      method,
      ...both(({ byMechanism }) => byMechanism[which].methods[index]),
    })),
    reportBytes,
    guarantee,
  }));
  // Without randomization there is no noise, and every method finds what the records themselves have.
  const open = {
    methods: methods.map((method) => ({ method, ...ofRecords })),
    reportBytes: null,
    guarantee: null,
  };
  const { dimension, rank = 3 } = who;
  return {
    ...(byMechanism[0] ?? open),
    byMechanism,
    nonPrivateShareFound: ofRecords.shareFound,
    nonPrivate: ofRecords.sinThetaSquared,
    randomSubspace: rank * (1 - rank / dimension),
  };
}

export function population(options) {
  const { dimension, rank = 3, signal = 20, sparsity, ...others } = Object(options);
  noOthers(others);
  const size = [count("dimension", dimension), count("rank", rank, 1)];
  const strength = [number("signal", signal), given(count, "sparsity", sparsity)];
  const [signals, bulk] = call(() => wasm.population(...size, ...strength));
  return { signals, bulk };
}

export function compare(options) {
  const {
    records,
    secondMoment,
    count: people,
    largestNorm,
    signal,
    sparsity,
    drawn = "moments",
    dimension,
    rank = 3,
    epsilon,
    delta = 1e-6,
    methods: keys = [],
    seed = 1,
    firstTrial = 0,
    trials = 1,
    ...others
  } = Object(options);
  noOthers(others);
  const simulated = records === undefined && secondMoment === undefined;
  const numbers = records ?? secondMoment ?? new Float64Array();
  if (!(numbers instanceof Float64Array) || (records && secondMoment)) {
    throw failure("argument", "give the records or their second moments, as one Float64Array");
  }
  if (drawn !== "moments" && drawn !== "records") {
    throw failure("argument", `drawn is ${String(drawn)}: give "moments" or "records"`);
  }
  // The module with every method needs no other.
  return (methods.ready ? methods.call : call)(({ compareMethods }) =>
    compareMethods(
      count("dimension", dimension, 1),
      count("rank", rank, 1),
      number("epsilon", epsilon),
      number("delta", delta),
      namesOf(keys),
      count("seed", seed),
      count("firstTrial", firstTrial),
      count("trials", trials, 1),
      records ? 0 : count("count", people, 1),
      number("largestNorm", largestNorm ?? 1),
      simulated ? number("signal", signal ?? 20) : undefined,
      given(count, "sparsity", sparsity, 1),
      drawn === "records",
      numbers,
    ),
  );
}

export class SimulatedCollection {
  #collection;

  constructor(options) {
    const { mechanism, trial = 0, reports = "drawn", ...who } = Object(options);
    const drawn = () => collectionOf({ ...who, reports, mechanisms: [mechanism ?? []].flat(), trial });
    this.#collection = call(() => (who.estimate ? estimated(options) : new wasm.SimulatedCollection(drawn())));
  }

  get noiseDeviation() {
    return alive(this.#collection, "collection").noiseDeviation;
  }

  compare({ penalty, factor, ...others } = {}) {
    noOthers(others);
    if (penalty !== undefined && factor !== undefined) {
      throw failure("argument", "there are 'penalty' and 'factor': give one of them");
    }
    const asked = [given(number, "penalty", penalty), number("factor", factor ?? 0.5)];
    const { matrices, ...found } = call(() => alive(this.#collection, "collection").compare(...asked));
    const size = matrices.length / 4;
    ["truth", "pca", "softThreshold", "fantope"].forEach((name, index) => {
      found[name].matrix = matrices.slice(index * size, (index + 1) * size);
    });
    return found;
  }

  path({ points = 20, ...watched } = {}) {
    return pathOf(() => alive(this.#collection, "collection").path(count("points", points), progressOf(watched)));
  }

  free() {
    this.#collection?.free();
    this.#collection = undefined;
  }
}

if (Symbol.dispose) {
  for (const { prototype } of [Aggregate, SimulatedCollection]) prototype[Symbol.dispose] = prototype.free;
}

export function drawCollection(options) {
  return new SimulatedCollection(options);
}

/** The module's collection of an estimate that was made elsewhere. */
function estimated({ dimension, rank, secondMoment, estimate, noiseDeviation, ...others }) {
  noOthers(others);
  const size = [count("dimension", dimension), count("rank", rank, 1)];
  const matrices = [secondMoment ?? [], estimate].map((numbers) => Float64Array.from(numbers));
  return wasm.SimulatedCollection.given(...size, ...matrices, number("noiseDeviation", noiseDeviation));
}

/** A simulated collection as the module takes it. */
function collectionOf(options) {
  const {
    dimension,
    rank = 3,
    signal = 20,
    sparsity,
    records,
    mechanisms,
    reports = "randomized",
    seed = 1,
    trial,
    centring,
    meanShare,
    ...others
  } = options;
  noOthers(others);
  return {
    ...aboutOf(centring, meanShare),
    dimension: count("dimension", dimension),
    rank: count("rank", rank, 1),
    signal: number("signal", signal),
    sparsity: given(count, "sparsity", sparsity),
    records: count("records", records, 1),
    mechanisms: mechanisms.map(mechanismOf),
    reports,
    seed: number("seed", seed),
    trial: count("trial", trial),
  };
}

/** The library's result, with its keys in JavaScript's form. */
function camelCased(value) {
  if (Array.isArray(value)) return value.map(camelCased);
  if (Object(value) !== value) return value;
  const named = (key) => key.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [named(key), camelCased(inner)]));
}

/** A path, of which each point has its support, not the size of it. */
const pathOf = (solve) => call(solve).map(({ support_size: _, ...point }) => camelCased(point));

/** The population, in the module's form. */
function populationOf({ dimension, signals, bulk, mechanism, centring, meanShare, ...others }) {
  noOthers(others);
  return {
    ...aboutOf(centring, meanShare),
    dimension: count("dimension", dimension),
    signals: Array.from(signals ?? [], (signal) => number("signals", signal)),
    bulk: given(number, "bulk", bulk),
    mechanism: mechanismOf(mechanism),
  };
}

/** Whether a task has centring, and the mean of the records, in the module's form. */
function aboutOf(centring, meanShare) {
  noOthers(Object(centring), "weight");
  if (meanShare !== undefined && !centring) throw failure("argument", "there is 'meanShare' without 'centring'");
  return {
    centring: centring && number("weight", centring.weight),
    meanShare: given(number, "meanShare", meanShare),
  };
}

/** A mechanism as the module takes it; which types there are, the module says. */
function mechanismOf(mechanism) {
  const named = Object(mechanism);
  noOthers(named, "type", "epsilon", "candidates", "cap", "delta");
  return named;
}

/** The names of methods as the module takes them: as one text, with commas between them. */
function namesOf(methods) {
  if (!Array.isArray(methods)) throw failure("argument", `methods is ${String(methods)}: give an array of names`);
  const names = methods.map(String);
  const several = names.find((name) => name.includes(","));
  if (several !== undefined) throw failure("argument", `'${several}' is not a method: give each name by itself`);
  return names.join();
}

function recovery({ rank, penalty, tolerance, baselines, reference, ...watched } = {}, run) {
  if (reference !== undefined && !(reference instanceof Float64Array)) {
    throw failure("argument", "give the reference as a Float64Array of d × k numbers");
  }
  const asked = {
    rank: count("rank", rank, 1),
    penalty: penaltyOf(penalty),
    tolerance: given(number, "tolerance", tolerance),
    baselines,
    reference,
  };
  return call(() => run(asked, progressOf(watched)));
}

/** The penalty as the module takes it; none for plain principal components. */
function penaltyOf(penalty) {
  if (penalty == null) return undefined;
  if (penalty === "auto") return { auto: {} };
  if (penalty === "cv") return "cross-validated";
  if (typeof penalty === "object" && Object.keys(penalty).join() === "factor") {
    return { auto: { factor: number("penalty.factor", penalty.factor) } };
  }
  if (typeof penalty === "number" && penalty >= 0 && penalty < Infinity) return { value: penalty };
  throw failure("argument", `penalty is ${penalty}: give a number of at least 0, "auto", "cv" or { factor }`);
}

/** The solver's progress callback, of the options that are left: `false` stops it, and so does an aborted signal. */
function progressOf({ onProgress, signal, ...others }) {
  noOthers(others);
  signal?.throwIfAborted();
  return (done, total, relativeGap) => {
    const goOn = onProgress?.({ done, total, relativeGap: Number.isFinite(relativeGap) ? relativeGap : undefined });
    signal?.throwIfAborted();
    return goOn;
  };
}

function bytesOf(value) {
  const bytes = value instanceof Uint8Array ? value : value?.bytes;
  if (bytes instanceof Uint8Array) return bytes;
  throw failure("argument", "give a Report, or its bytes as a Uint8Array");
}

/** A whole number that the module can count. */
function count(name, value, least = 0, most = 2 ** 32 - 1) {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
  throw failure("argument", `${name} is ${String(value)}: give a whole number of at least ${least}`);
}

/** A number of records, which may be more than the module's own counts are. */
function many(name, value) {
  return count(name, value, 0, Infinity);
}

function number(name, value) {
  if (Number.isFinite(value)) return value;
  throw failure("argument", `${name} is ${String(value)}: give a finite number`);
}

/** What `read` makes of an option that may be left out. */
function given(read, name, value, least) {
  return value === undefined ? value : read(name, value, least);
}

function noOthers(options, ...known) {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined) throw failure("argument", `there is no option '${unknown}'`);
}
