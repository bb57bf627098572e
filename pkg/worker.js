// The client with its work in a worker: the same API, with promises where there is something to compute, and the
// page's own thread stays free.

import { columnsOf, readRecord, valuesOf } from "./boundary.js";
import { affordable, alive, allowed, campaigns, fetchTask } from "./checks.js";
import { failure } from "./errors.js";
import { KEY, reportOf } from "./report.js";

export * from "./common.js";

/** The number of checks before a worker that owes answers counts as dead, so that a device's sleep does not end it. */
const CHECKS = 6;

let worker;
let started;
/** The last arguments of the worker's start: the next call replaces a dead worker. */
let beginning;
let ended = "none is started yet: `await init()` first";
let patience;
let watch;
let silence;
/** The last number of a call or an object. No two have the same, in any worker. */
let last = 0;
const calls = new Map();
/** The texts of the tasks that the worker holds, by handle: after its death the next one reads them again. */
const texts = new Map();
const used = new WeakSet();

export function init(input, options) {
  if (started) return started;
  const attempt = start(input, options).catch((cause) => {
    // Unless another attempt is under way.
    if (started === attempt) stop("it did not start: `await init()` tries again");
    throw cause.code === "init" ? cause : failure("init", `the worker did not start: ${cause.message}`, { cause });
  });
  started = attempt;
  return attempt;
}

async function start(input, { worker: source, timeout = 30_000 } = {}) {
  worker = made(source);
  patience = timeout;
  beginning = [input, { worker: source, timeout }];
  worker.onmessage = ({ data: { id, value, error } }) => {
    silence = 0;
    const [resolve, reject] = calls.get(id);
    calls.delete(id);
    if (calls.size === 0) watch = clearInterval(watch);
    if (!error) return resolve(value);
    reject(failure(error.code, error.message));
    // After what it does not foresee, such as a lack of memory, a module is not to be used any more.
    if (error.fatal) died(error.message);
  };
  // Errors of calls come as messages: this is a script that did not load.
  worker.onerror = ({ message = "does worker-src forbid it?" }) => died(`its script failed (${message})`);
  // A relative URL is meant from the page, not from the worker's script.
  const located = typeof input === "string" || input instanceof URL ? new URL(input, document.baseURI).href : input;
  const ready = call("init", located);
  for (const [handle, text] of texts) call("parse", handle, text).catch(() => {});
  await ready;
}

function made(source) {
  // In this form bundlers recognize it.
  if (!source) return new Worker(new URL("./worker-thread.js", import.meta.url), { type: "module" });
  if (typeof source === "function") return source();
  if (!(source instanceof Worker)) return new Worker(source, { type: "module" });
  if (used.has(source)) throw failure("init", "this Worker has ended: give a function that makes one");
  used.add(source);
  return source;
}

/** Ends the worker and all calls that wait for it; `init` starts another one. */
export function terminate() {
  texts.clear();
  beginning = undefined;
  stop("it was terminated: `await init()` starts another");
}

function died(why) {
  stop(`${why}: the next call starts another`);
}

function stop(why) {
  worker?.terminate();
  worker = undefined;
  started = undefined;
  watch = clearInterval(watch);
  ended = why;
  for (const [, reject] of calls.values()) reject(failure("init", `no worker: ${why}`));
  calls.clear();
}

export function version() {
  return call("version");
}

let textOf;

export class Task {
  #handle;
  #text;

  static {
    textOf = (task) => {
      if (#text in Object(task)) return alive(task.#text, "task");
      throw failure("argument", "give a Task, made by Task.parse or Task.fetch here");
    };
  }

  constructor(key, handle, { text, ...facts }) {
    if (key !== KEY) throw failure("argument", "give a Task, made by Task.parse or Task.fetch here");
    this.#handle = handle;
    this.#text = text;
    Object.assign(this, facts);
    campaigns[this.digest] = this.campaign;
    keep(this, handle, text);
  }

  static async parse(json) {
    const handle = ++last;
    return new Task(KEY, handle, await call("parse", handle, json));
  }

  static fetch(url, options) {
    return fetchTask(Task.parse, url, options);
  }

  async check(record) {
    return readRecord(columnsOf(this), record)[1];
  }

  toJSON() {
    return JSON.parse(this.toString());
  }

  toString() {
    return textOf(this);
  }

  free() {
    release(this, this.#handle);
    this.#handle = this.#text = undefined;
  }
}

export class Randomizer {
  #handle = ++last;
  #columns;
  #strict;

  constructor(task, limits) {
    const text = textOf(task);
    this.guarantee = allowed({ ...task.guarantee }, limits);
    affordable(task, limits);
    this.taskDigest = task.digest;
    this.period = task.period;
    this.#columns = columnsOf(text);
    this.#strict = limits.strict;
    // A task of its own, since the app may free the other. If this fails, so does what is asked of the randomizer.
    keep(this, this.#handle, text);
    call("parse", this.#handle, text).catch(() => {});
  }

  async randomize(record, { id } = {}) {
    const handle = alive(this.#handle, "randomizer");
    // Plain data in place of what is given: a framework's proxy cannot be sent to the worker, and stays the page's.
    const bytes = await call("randomize", handle, valuesOf(this.#columns, record, this.#strict), { id });
    return reportOf(bytes, this.taskDigest, this.guarantee);
  }

  free() {
    release(this, this.#handle);
    this.#handle = undefined;
  }
}

if (Symbol.dispose) for (const { prototype } of [Task, Randomizer]) prototype[Symbol.dispose] = prototype.free;

/** Has a task in every worker until the object that it is for is freed or forgotten. */
function keep(object, handle, text) {
  texts.set(handle, text);
  dropped.register(object, handle, object);
}

// The worker need not keep what the page forgets.
const dropped = new FinalizationRegistry((handle) => release(undefined, handle));

function release(object, handle) {
  if (object) dropped.unregister(object);
  texts.delete(handle);
  if (worker && handle) call("free", handle).catch(() => {});
}

async function call(method, ...parameters) {
  if (!worker && beginning) {
    const again = init(...beginning);
    again.catch(() => {});
    // Unless not even a worker is there.
    if (!worker) await again;
  }
  if (!worker) throw failure("init", `no worker: ${ended}`);
  const id = ++last;
  try {
    worker.postMessage({ id, method, parameters });
  } catch (cause) {
    throw failure("argument", `it cannot be sent to the worker: ${cause.message}`, { cause });
  }
  silence = 0;
  watch ??= setInterval(() => {
    silence += 1;
    if (silence > CHECKS) died(`it did not answer within ${patience} ms`);
  }, patience / CHECKS);
  return new Promise((...settle) => calls.set(id, settle));
}
