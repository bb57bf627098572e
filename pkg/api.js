// The classes, the same in every entry. They wrap the generated ones so that errors have a class and freed objects a
// clear message.

import { allowed, expectDigest, fetchTask } from "./checks.js";
import { failure } from "./errors.js";
import { reportOf } from "./report.js";
import * as wasm from "./wasm/ldp_pca.js";

let started;
let ready = false;

/** Runs `load` once, however often it is asked; after a failure the next call tries again. */
export function start(load) {
  started ??= Promise.resolve()
    .then(load)
    .then(
      () => {
        ready = true;
      },
      (cause) => {
        started = undefined;
        throw failure("init", `the WebAssembly module did not load: ${cause?.message ?? cause}`, { cause });
      },
    );
  return started;
}

function call(work) {
  if (!ready) throw failure("init", "the WebAssembly module is not loaded yet: `await init()` first");
  try {
    return work();
  } catch (error) {
    throw error?.name === "LdpPcaError" ? failure(error.code, error.message) : error;
  }
}

function alive(object, name) {
  if (object === undefined) throw failure("argument", `the ${name} was freed: make a new one`);
  return object;
}

const PARSE = Symbol("Task.parse");
let generated;

export class Task {
  #task;

  static {
    generated = (task) => {
      if (!(#task in Object(task))) throw failure("argument", "give a Task, made by Task.parse or Task.fetch");
      return alive(task.#task, "task");
    };
  }

  constructor(key, task) {
    if (key !== PARSE) throw failure("argument", "a Task is made by Task.parse or Task.fetch");
    this.#task = task;
  }

  static parse(json) {
    return new Task(
      PARSE,
      call(() => wasm.Task.fromJSON(json)),
    );
  }

  static async fetch(url, { digest, signal } = {}) {
    return expectDigest(Task.parse(await fetchTask(url, signal)), digest);
  }

  get digest() {
    return generated(this).digest;
  }

  get dimension() {
    return generated(this).dimension;
  }

  get featureNames() {
    return generated(this).featureNames;
  }

  get guarantee() {
    return generated(this).guarantee;
  }

  get oddsFactor() {
    return generated(this).oddsFactor;
  }

  get reportBytes() {
    return generated(this).reportBytes;
  }

  encode(record) {
    return call(() => generated(this).encode(record));
  }

  debiasedContribution(report) {
    return call(() => generated(this).debiasedContribution(report));
  }

  toJSON() {
    return JSON.parse(this.toString());
  }

  toString() {
    return generated(this).canonicalJSON();
  }

  free() {
    this.#task?.free();
    this.#task = undefined;
  }
}

export class Randomizer {
  #randomizer;

  constructor(task, limits) {
    const inner = call(() => generated(task));
    this.guarantee = allowed(task.guarantee, limits);
    this.taskDigest = task.digest;
    this.#randomizer = call(() => new wasm.Randomizer(inner));
  }

  randomize(record) {
    return this.#report((randomizer) => randomizer.randomize(record));
  }

  randomizeSeeded(record, seed) {
    return this.#report((randomizer) => randomizer.randomizeSeeded(record, seed));
  }

  #report(make) {
    const bytes = call(() => make(alive(this.#randomizer, "randomizer")));
    return reportOf(bytes, this.taskDigest, this.guarantee);
  }

  free() {
    this.#randomizer?.free();
    this.#randomizer = undefined;
  }
}

// Not every host has Symbol.dispose yet; where it is missing, so is `using`.
if (Symbol.dispose) {
  for (const type of [Task, Randomizer]) {
    const { free: value } = type.prototype;
    Object.defineProperty(type.prototype, Symbol.dispose, { value, configurable: true, writable: true });
  }
}

export function version() {
  return call(wasm.version);
}
