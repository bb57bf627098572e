// The client with its work in a worker: the same API, with promises where there is something to compute, and the
// page's own thread stays free.

import { affordable, allowed, expectDigest, fetchTask } from "./checks.js";
import { failure } from "./errors.js";
import { reportOf } from "./report.js";

export * from "./common.js";

let worker;
let started;
/** The number that a call or an object had last: no two have the same, in whatever worker. */
let last = 0;
const calls = new Map();

export function init(input) {
  if (started) return started;
  const attempt = start(input).catch((cause) => {
    // Unless another attempt is under way.
    if (started === attempt) terminate();
    throw cause.code === "init" ? cause : failure("init", `the worker did not start: ${cause.message}`, { cause });
  });
  started = attempt;
  return attempt;
}

async function start(input) {
  // In this form bundlers recognize it.
  worker = new Worker(new URL("./worker-thread.js", import.meta.url), { type: "module" });
  worker.onmessage = ({ data: { id, value, error } }) => {
    const { resolve, reject } = calls.get(id);
    calls.delete(id);
    if (error) reject(error instanceof Error ? error : failure(error.code, error.message));
    else resolve(value);
  };
  // Errors of calls come as messages: this is a script that did not load.
  worker.onerror = ({ message }) => stop(`its script did not load (${message ?? "does worker-src forbid it?"})`);
  // A relative URL is meant from the page, not from the worker's script.
  const located = typeof input === "string" || input instanceof URL ? new URL(input, document.baseURI).href : input;
  await call("init", located);
}

/** Ends the worker, and whatever waits for it; `init` starts another one. */
export function terminate() {
  stop("it was terminated");
}

function stop(why) {
  worker?.terminate();
  worker = undefined;
  started = undefined;
  for (const { reject } of calls.values()) reject(failure("init", `no worker: ${why}`));
  calls.clear();
}

export function version() {
  return call("version");
}

const PARSE = Symbol("Task.parse");
let handleOf;

export class Task {
  #handle;
  #text;

  static {
    handleOf = (task) => {
      if (!(#handle in Object(task))) throw failure("argument", "give a Task, made by Task.parse or Task.fetch here");
      return alive(task.#handle, "task");
    };
  }

  constructor(key, handle, { text, ...facts }) {
    if (key !== PARSE) throw failure("argument", "a Task is made by Task.parse or Task.fetch");
    this.#handle = handle;
    this.#text = text;
    Object.assign(this, facts);
    dropped.register(this, handle, this);
  }

  static async parse(json) {
    const handle = ++last;
    return new Task(PARSE, handle, await call("parse", handle, json));
  }

  static async fetch(url, { digest, signal } = {}) {
    return expectDigest(await Task.parse(await fetchTask(url, signal)), digest);
  }

  toJSON() {
    return JSON.parse(this.#text);
  }

  toString() {
    return this.#text;
  }

  free() {
    release(this, this.#handle);
    this.#handle = undefined;
  }
}

export class Randomizer {
  #handle = ++last;

  constructor(task, limits) {
    const from = handleOf(task);
    this.guarantee = allowed({ ...task.guarantee }, limits);
    affordable(task, limits);
    this.taskDigest = task.digest;
    // If this fails, so does what is asked of the randomizer.
    call("randomizer", this.#handle, from).catch(() => {});
    dropped.register(this, this.#handle, this);
  }

  async randomize(record, { id } = {}) {
    const bytes = await call("randomize", alive(this.#handle, "randomizer"), record, { id });
    return reportOf(bytes, this.taskDigest, this.guarantee);
  }

  free() {
    release(this, this.#handle);
    this.#handle = undefined;
  }
}

if (Symbol.dispose) {
  for (const type of [Task, Randomizer]) {
    const { free: value } = type.prototype;
    Object.defineProperty(type.prototype, Symbol.dispose, { value, configurable: true, writable: true });
  }
}

function alive(handle, name) {
  if (handle === undefined) throw failure("argument", `the ${name} was freed: make a new one`);
  return handle;
}

// What the page forgets, the worker need not keep.
const dropped = new FinalizationRegistry((handle) => release(undefined, handle));

function release(object, handle) {
  if (object) dropped.unregister(object);
  if (worker && handle !== undefined) call("free", handle).catch(() => {});
}

function call(method, ...parameters) {
  return new Promise((resolve, reject) => {
    if (!worker) throw failure("init", "no worker is started yet: `await init()` first");
    const id = ++last;
    try {
      worker.postMessage({ id, method, parameters });
    } catch (cause) {
      throw failure("argument", `what is given cannot be sent to the worker: ${cause.message}`, { cause });
    }
    calls.set(id, { resolve, reject });
  });
}
