// The classes, the same in every entry. They wrap the generated ones so that errors have a class and freed objects a
// clear message.

import * as wasm from "./wasm/ldp_pca.js";

export class LdpPcaError extends Error {
  constructor(code, message, options) {
    super(message, options);
    this.code = code;
  }
}
// On the prototype, like the names of the built-in errors.
Object.defineProperty(LdpPcaError.prototype, "name", { value: "LdpPcaError", configurable: true, writable: true });

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
        throw new LdpPcaError("init", `the WebAssembly module did not load: ${cause?.message ?? cause}`, { cause });
      },
    );
  return started;
}

function call(work) {
  if (!ready) throw new LdpPcaError("init", "the WebAssembly module is not loaded yet: `await init()` first");
  try {
    return work();
  } catch (error) {
    throw error?.name === "LdpPcaError" ? new LdpPcaError(error.code, error.message) : error;
  }
}

function alive(object, name) {
  if (object === undefined) throw new LdpPcaError("argument", `the ${name} was freed: make a new one`);
  return object;
}

const FROM_JSON = Symbol("Task.fromJSON");
let generated;

export class Task {
  #task;

  static {
    generated = (task) => {
      if (!(#task in Object(task))) throw new LdpPcaError("argument", "give a Task, made by Task.fromJSON");
      return alive(task.#task, "task");
    };
  }

  constructor(key, task) {
    if (key !== FROM_JSON) throw new LdpPcaError("argument", "a Task is made by Task.fromJSON");
    this.#task = task;
  }

  static fromJSON(json) {
    return new Task(
      FROM_JSON,
      call(() => wasm.Task.fromJSON(json)),
    );
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

  constructor(task) {
    this.#randomizer = call(() => new wasm.Randomizer(generated(task)));
  }

  randomize(record) {
    return call(() => alive(this.#randomizer, "randomizer").randomize(record));
  }

  randomizeSeeded(record, seed) {
    return call(() => alive(this.#randomizer, "randomizer").randomizeSeeded(record, seed));
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
