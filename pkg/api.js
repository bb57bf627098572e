// The classes, the same in every entry. They wrap the generated ones so that errors have a class and freed objects a
// clear message.

import { checkedSeed, LdpPcaError, recordParts, taskText, translated } from "./record.js";
import * as wasm from "./wasm/client/ldp_pca.js";

export { LdpPcaError };

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
    throw translated(error);
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
  #facts;

  static {
    generated = (task) => {
      if (!(#task in Object(task))) throw new LdpPcaError("argument", "give a Task, made by Task.fromJSON");
      return alive(task.#task, "task");
    };
  }

  constructor(key, task) {
    if (key !== FROM_JSON) throw new LdpPcaError("argument", "a Task is made by Task.fromJSON");
    this.#task = task;
    this.#facts = JSON.parse(task.facts());
  }

  static fromJSON(json) {
    return new Task(
      FROM_JSON,
      call(() => new wasm.Task(taskText(json))),
    );
  }

  get digest() {
    return this.#alive().digest;
  }

  get dimension() {
    return this.#alive().dimension;
  }

  get featureNames() {
    return [...this.#alive().featureNames];
  }

  get guarantee() {
    return { ...this.#alive().guarantee };
  }

  get oddsFactor() {
    return this.#alive().oddsFactor;
  }

  get reportBytes() {
    return this.#alive().reportBytes;
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

  #alive() {
    alive(this.#task, "task");
    return this.#facts;
  }
}

export class Randomizer {
  #task;

  constructor(task) {
    this.#task = call(() => generated(task).share());
  }

  randomize(record) {
    return call(() => alive(this.#task, "randomizer").randomize(...recordParts(record)));
  }

  randomizeSeeded(record, seed) {
    return call(() => alive(this.#task, "randomizer").randomize(...recordParts(record), checkedSeed(seed)));
  }

  free() {
    this.#task?.free();
    this.#task = undefined;
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
