// Both sides of the worker without one: what the page asks of a worker that does as the test says, and what the
// worker's script answers.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { campaigns } from "../../pkg/checks.js";
import { RecordError } from "../../pkg/errors.js";
import { Report } from "../../pkg/report.js";
import { Task as HeldTask } from "../../pkg/wasm/client/ldp_pca.js";
import base64 from "../../pkg/wasm/client/ldp_pca_bg.wasm.js";
import { bytesOf, digestOf } from "./ledger-tools.js";
import { LIMITS, RECORD, secondWave, TASK } from "./task.js";
import { rejects, throws } from "./throws.js";

const TEXT = JSON.stringify(TASK);
const GUARANTEE = { epsilon: 2, delta: 0 };
const FACTS = { digest: digestOf(1), guarantee: GUARANTEE, reportBytes: 35, draws: 64 };
const ANSWERS = {
  init: () => undefined,
  version: () => "1.2.3",
  parse: (_, json) => ({ ...FACTS, text: typeof json === "string" ? json : JSON.stringify(json) }),
  randomize: () => bytesOf(1),
};

let copies = 0;
let cleared;
let intervals;
let registry;
let workers;

/** A worker of the page: answers what it knows, in the next turn, unless it is to be silent. */
class PageWorker {
  posted = [];
  silent = false;
  ended = 0;

  constructor(url, options) {
    Object.assign(this, { url, options });
    workers.push(this);
  }

  postMessage(message) {
    this.posted.push(structuredClone(message));
    const { id, method, parameters } = message;
    if (!this.silent) setImmediate(() => this.tell({ id, value: ANSWERS[method]?.(...parameters) }));
  }

  tell(data) {
    if (!this.ended) this.onmessage({ data });
  }

  terminate() {
    this.ended += 1;
  }

  /** The requests to it, without the numbers of the calls. */
  get asked() {
    return this.posted.map(({ method, parameters }) => [method, ...parameters]);
  }
}

class Registry {
  registered = [];

  constructor(over) {
    this.over = over;
    registry = this;
  }

  register(object, handle, token) {
    this.registered.push({ object, handle, token });
  }

  unregister(token) {
    this.registered = this.registered.filter((one) => one.token !== token);
  }
}

const real = { Registry: globalThis.FinalizationRegistry };

beforeEach((t) => {
  [cleared, intervals, workers] = [[], [], []];
  Object.assign(globalThis, { Worker: PageWorker, FinalizationRegistry: Registry });
  globalThis.document = { baseURI: "https://page.example/a/" };
  t.mock.method(globalThis, "setInterval", (tick, milliseconds) => intervals.push({ tick, milliseconds }));
  t.mock.method(globalThis, "clearInterval", (number) => void (number && cleared.push(number)));
});

afterEach(() => {
  for (const name of ["Worker", "document", "onmessage", "postMessage"]) delete globalThis[name];
  globalThis.FinalizationRegistry = real.Registry;
});

/** The package's entry, as a page loads it for the first time. */
const load = () => import(`../../pkg/worker.js?${++copies}`);

/** The entry, with its worker started. */
async function started() {
  const api = await load();
  await api.init();
  return { ...api, worker: workers[0] };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Notes the rejections that nobody handles; what it gives asserts later that there was none. */
function watched() {
  const unhandled = [];
  const note = (reason) => unhandled.push(reason);
  process.on("unhandledRejection", note);
  return async () => {
    for (let turns = 0; turns < 2; turns += 1) await turn();
    process.off("unhandledRejection", note);
    assert.deepEqual(unhandled, []);
  };
}

test("the worker is a module beside the entry, and started once however often it is asked", async () => {
  const { init, version } = await load();
  const first = init();
  assert.equal(init(), first);
  assert.equal(await first, undefined);
  const [{ url, options, asked }, ...others] = workers;
  assert.deepEqual(
    [new URL(url).href, options],
    [new URL("../../pkg/worker-thread.js", import.meta.url).href, { type: "module" }],
  );
  assert.deepEqual([asked, others], [[["init", undefined]], []]);
  assert.equal(await version(), "1.2.3");
  assert.deepEqual(workers[0].asked.slice(1), [["version"]]);
  assert.equal(new Set(workers[0].posted.map(({ id }) => id)).size, 2);
  assert.equal(init(), first);
});

test("a relative address of the module is meant from the page, and anything else is passed on", async () => {
  for (const [input, expected] of [
    ["b.wasm", "https://page.example/a/b.wasm"],
    [new URL("https://cdn.example/c.wasm"), "https://cdn.example/c.wasm"],
    [Uint8Array.of(1, 2), Uint8Array.of(1, 2)],
  ]) {
    const { init } = await load();
    await init(input);
    assert.deepEqual(workers.at(-1).asked, [["init", expected]]);
  }
});

test("the page gives the worker, its address, or what makes one; one that has ended is refused", async () => {
  const { init, terminate } = await load();
  await init(undefined, { worker: "/mine.js" });
  assert.deepEqual([workers[0].url, workers[0].options], ["/mine.js", { type: "module" }]);
  terminate();
  assert.equal(workers[0].ended, 1);
  await init(undefined, { worker: () => new PageWorker("/made.js", {}) });
  assert.equal(workers[1].url, "/made.js");
  terminate();
  const given = new PageWorker("/given.js", {});
  await init(undefined, { worker: given });
  assert.deepEqual([workers.length, given.asked], [3, [["init", undefined]]]);
  terminate();
  await rejects(init(undefined, { worker: given }), "init", "this Worker has ended: give a function that makes one");
  assert.equal(given.asked.length, 1);
});

test("before it is started, and after it was ended, a call is an error that says so", async () => {
  const { init, Task, terminate, version } = await load();
  await rejects(version(), "init", "no worker: none is started yet: `await init()` first");
  await init();
  workers[0].silent = true;
  const waiting = [version(), Task.parse(TEXT)];
  terminate();
  for (const one of waiting) await rejects(one, "init", "no worker: it was terminated: `await init()` starts another");
  await rejects(version(), "init", "no worker: it was terminated: `await init()` starts another");
  assert.deepEqual([workers.length, workers[0].ended], [1, 1]);
  assert.equal(cleared.length, 2, "nothing is watched any more");
  await init();
  assert.equal(await version(), "1.2.3");
  assert.equal(cleared.length, intervals.length);
});

test("a worker that does not start is an error with its cause, and the next call of init tries again", async () => {
  const { init, version } = await load();
  const { tell } = PageWorker.prototype;
  PageWorker.prototype.tell = function ({ id }) {
    tell.call(this, { id, error: { code: "init", message: "no module there" } });
  };
  await rejects(init(), "init", "no module there");
  PageWorker.prototype.tell = function ({ id }) {
    tell.call(this, { id, error: { code: "fetch", message: "nowhere" } });
  };
  const { cause } = await rejects(init(), "init", "the worker did not start: nowhere");
  assert.equal(cause.code, "fetch");
  PageWorker.prototype.tell = tell;
  assert.deepEqual(workers.map(({ ended }) => ended), [1, 1]);
  await init();
  assert.equal(await version(), "1.2.3");
  // On a host that cannot even make a worker.
  const other = await load();
  const failing = () => { throw new TypeError("not allowed"); };
  const starting = other.init(undefined, { worker: failing });
  const refusal = await rejects(starting, "init", "the worker did not start: not allowed");
  assert.ok(refusal.cause instanceof TypeError);
  await rejects(other.version(), "init", "no worker: it did not start: `await init()` tries again");
  await other.init();
  assert.equal(await other.version(), "1.2.3");
});

test("an attempt that fails late does not end the one that came after it", async () => {
  const { init, terminate, version } = await load();
  const first = init(undefined, { worker: () => Object.assign(new PageWorker("/first.js", {}), { silent: true }) });
  first.catch(() => {});
  terminate();
  const second = init();
  await rejects(first, "init", /terminated/);
  await second;
  assert.equal(await version(), "1.2.3");
  assert.deepEqual([workers.length, workers[1].ended], [2, 0]);
});

test("a script that fails ends the worker, with the browser's words or a guess", async () => {
  for (const [message, words] of [["a syntax error", "a syntax error"], [undefined, "does worker-src forbid it?"]]) {
    const { init } = await load();
    const started = init(undefined, { worker: () => Object.assign(new PageWorker("/x.js", {}), { silent: true }) });
    await turn();
    workers.at(-1).onerror({ message });
    await rejects(started, "init", `no worker: its script failed (${words}): the next call starts another`);
    assert.equal(workers.at(-1).ended, 1);
  }
});

test("a worker that owes answers is looked at six times within its time, and dies after that", async () => {
  const { version, worker } = await started();
  // Half a minute unless the page says otherwise; nothing is watched when nothing is owed.
  assert.deepEqual([intervals.map(({ milliseconds }) => milliseconds), cleared], [[5000], [1]]);
  worker.silent = true;
  const waiting = [version(), version()];
  await turn();
  assert.equal(intervals.length, 2);
  const look = (times) => {
    for (let time = 0; time < times; time += 1) intervals[1].tick();
  };
  look(6);
  assert.equal(worker.ended, 0);
  // Any answer is a sign of life, and so is a question that it took.
  worker.tell({ id: worker.posted.at(-1).id, value: "1" });
  assert.equal(await waiting[1], "1");
  assert.equal(cleared.length, 1, "one answer is owed still");
  look(6);
  waiting.push(version());
  await turn();
  look(6);
  assert.equal(worker.ended, 0);
  look(1);
  assert.deepEqual([worker.ended, cleared], [1, [1, 2]]);
  for (const one of [waiting[0], waiting[2]]) {
    await rejects(one, "init", "no worker: it did not answer within 30000 ms: the next call starts another");
  }
  assert.equal(await version(), "1.2.3");
  assert.equal(workers.length, 2);
  // As many times after an answer.
  workers[1].silent = true;
  const last = [version(), version()];
  await turn();
  intervals.at(-1).tick();
  workers[1].tell({ id: workers[1].posted.at(-1).id });
  for (let time = 0; time < 7; time += 1) intervals.at(-1).tick();
  assert.equal(workers[1].ended, 1);
  await rejects(last[0], "init", /did not answer/);
});

test("the page's own patience is kept, by the successor too", async () => {
  const { init, version } = await load();
  await init("b.wasm", { timeout: 1200, worker: "/mine.js" });
  assert.equal(intervals[0].milliseconds, 200);
  workers[0].onerror({ message: "gone" });
  assert.equal(await version(), "1.2.3");
  assert.deepEqual([workers[1].url, intervals.at(-1).milliseconds], ["/mine.js", 200]);
  assert.deepEqual(workers[1].asked, [["init", "https://page.example/a/b.wasm"], ["version"]]);
});

test("an error that nobody foresaw ends the worker, and others do not", async () => {
  const { Task, version, worker } = await started();
  worker.silent = true;
  const [wrong, other] = [Task.parse("{}"), version()];
  await turn();
  const [, { id: first }, { id: second }] = worker.posted;
  worker.tell({ id: first, error: { code: "task", message: "no task" } });
  await rejects(wrong, "task", "no task");
  assert.equal(worker.ended, 0);
  const waiting = version();
  await turn();
  worker.tell({ id: second, error: { code: "init", message: "the worker failed: RuntimeError", fatal: true } });
  await rejects(other, "init", "the worker failed: RuntimeError");
  await rejects(waiting, "init", "no worker: the worker failed: RuntimeError: the next call starts another");
  assert.equal(worker.ended, 1);
});

test("what cannot be sent to the worker is an error with its cause", async () => {
  const { Task } = await started();
  const words = /^it cannot be sent to the worker: .*could not be cloned/;
  const { cause } = await rejects(Task.parse({ note: () => {} }), "argument", words);
  assert.equal(cause.name, "DataCloneError");
  assert.equal(cleared.length, 1);
});

test("a task is what the worker made of it, and is kept there until it is freed or forgotten", async () => {
  const { Randomizer, Task, worker } = await started();
  const task = await Task.parse(TASK);
  const [[, handle, given]] = worker.asked.slice(1);
  assert.deepEqual(given, TASK);
  assert.deepEqual({ ...task }, FACTS);
  assert.deepEqual([String(task), task.toJSON()], [TEXT, TASK]);
  assert.deepEqual(await task.check(RECORD), []);
  const [problem] = await task.check({ height: "tall", plan: "free" });
  assert.ok(problem instanceof RecordError && problem.column === "height");
  assert.deepEqual(
    registry.registered.map(({ object, handle: kept, token }) => [object === task, kept, token === task]),
    [[true, handle, true]],
  );
  task.free();
  assert.deepEqual([worker.asked.at(-1), registry.registered], [["free", handle], []]);
  const before = worker.posted.length;
  task.free();
  assert.equal(worker.posted.length, before, "a second time there is nothing to free");
  for (const use of [() => new Randomizer(task, LIMITS), () => String(task), () => task.toJSON()]) {
    throws(use, "argument", "the task was freed: make a new one");
  }
  const none = "give a Task, made by Task.parse or Task.fetch here";
  for (const other of [undefined, null, TASK, {}]) throws(() => new Randomizer(other, LIMITS), "argument", none);
  for (const key of [undefined, Symbol("Task.parse")]) throws(() => new Task(key, 1, FACTS), "argument", none);
  // Objects that the page forgot.
  await Task.parse(TEXT);
  const [{ handle: forgotten }] = registry.registered;
  registry.over(forgotten);
  assert.deepEqual(worker.asked.at(-1), ["free", forgotten]);
  assert.notEqual(forgotten, handle);
  assert.equal(Task.prototype[Symbol.dispose], Task.prototype.free);
  assert.equal(Randomizer.prototype[Symbol.dispose], Randomizer.prototype.free);
});

test("a task is fetched by the page, and only the one that was meant is kept", async (t) => {
  const { Task } = await started();
  t.mock.method(globalThis, "fetch", async () =>
    new Response(TEXT, { headers: { "content-type": "application/json" } }),
  );
  assert.equal((await Task.fetch("https://a.example/t")).digest, FACTS.digest);
  assert.equal((await Task.fetch("https://a.example/t", { digest: FACTS.digest })).digest, FACTS.digest);
  assert.deepEqual(workers[0].asked.at(-1)[2], TEXT);
  await rejects(Task.fetch("https://a.example/t", { digest: digestOf(2) }), "digest", /was meant/);
  assert.deepEqual(workers[0].asked.at(-1)[0], "free");
});

test("a ledger has one entry for a wave and the task that it refines", async (t) => {
  const { parse } = ANSWERS;
  t.after(() => Object.assign(ANSWERS, { parse }));
  ANSWERS.parse = (_, text) => ({ ...FACTS, text, digest: digestOf(2), campaign: FACTS.digest });
  const { campaign, digest } = await (await started()).Task.parse(TEXT);
  assert.deepEqual([campaign, campaigns[digest]], [FACTS.digest, FACTS.digest]);
});

test("a randomizer keeps within the page's limits, and its reports are of its task", async () => {
  const { Randomizer, Task, worker } = await started();
  const task = await Task.parse(TEXT);
  const [, [, taskHandle]] = worker.asked;
  for (const [limits, code] of [
    [{ maxEpsilon: 1.9 }, "max-epsilon"],
    [{ maxEpsilon: 2, maxReportBytes: 34 }, "max-report-bytes"],
    [{ maxEpsilon: 2, maxDraws: 63 }, "max-draws"],
  ]) {
    throws(() => new Randomizer(task, limits), code);
  }
  throws(() => new Randomizer(task), "argument");
  assert.equal(worker.asked.length, 2);
  const randomizer = new Randomizer(task, { maxEpsilon: 2, maxReportBytes: 35, maxDraws: 64 });
  const [, , [method, handle, text]] = worker.asked;
  assert.deepEqual([method, text], ["parse", TEXT]);
  assert.deepEqual(
    [randomizer.guarantee, randomizer.taskDigest, Object.isFrozen(randomizer.guarantee)],
    [GUARANTEE, FACTS.digest, true],
  );
  const report = await randomizer.randomize(RECORD);
  assert.ok(report instanceof Report);
  assert.deepEqual([report.bytes, report.taskDigest, report.guarantee], [bytesOf(1), FACTS.digest, GUARANTEE]);
  const id = "0".repeat(32);
  await randomizer.randomize({ ...RECORD, note: () => {} }, { id });
  const copy = [181, null, "paid"];
  assert.deepEqual(worker.asked.slice(3), [
    ["randomize", handle, copy, { id: undefined }],
    ["randomize", handle, copy, { id }],
  ]);
  assert.deepEqual(registry.registered.map(({ handle, token }) => [handle, token]), [
    [taskHandle, task],
    [handle, randomizer],
  ]);
  assert.equal(registry.registered[1].object, randomizer);
  // The task may go before it.
  task.free();
  assert.equal((await randomizer.randomize(RECORD)).bytes.length, 35);
  randomizer.free();
  assert.deepEqual([worker.asked.at(-1), registry.registered], [["free", handle], []]);
  await rejects(randomizer.randomize(RECORD), "argument", "the randomizer was freed: make a new one");
  randomizer.free();
  assert.deepEqual(worker.asked.at(-1), ["free", handle]);
  assert.equal(worker.asked.filter(([method]) => method === "free").length, 2);
});

test("what does not fit a column goes to the worker as missing, or nowhere if the randomizer is strict", async (t) => {
  const { mock: warned } = t.mock.method(console, "warn", () => {});
  const { Randomizer, Task, worker } = await started();
  const task = await Task.parse(TEXT);
  const randomizer = new Randomizer(task, LIMITS);
  const strict = new Randomizer(task, { ...LIMITS, strict: true });
  const before = worker.asked.length;
  for (const wrong of [{ height: 1n, plan: () => {} }, { plan: Symbol("free"), other: 1 }, [{}]]) {
    assert.equal((await randomizer.randomize(wrong)).bytes.length, 35);
    await rejects(strict.randomize(wrong), "schema", /'height' is numeric/);
    await rejects(strict.randomize({ height: 1 }), "schema", /'plan' is categorical/);
  }
  await rejects(randomizer.randomize(new Map()), "record", /an object/);
  const nothing = [null, null, null];
  assert.deepEqual(worker.asked.slice(before).map(([, , values]) => values), [nothing, nothing, nothing]);
  assert.equal(warned.callCount(), 4);
});

test("what the worker cannot do of itself fails where its result is wanted, and nowhere else", async () => {
  const { Randomizer, Task, worker } = await started();
  const task = await Task.parse(TEXT);
  worker.silent = true;
  const allHandled = watched();
  const randomizer = new Randomizer(task, LIMITS);
  task.free();
  worker.silent = true;
  await turn();
  for (const { id } of worker.posted.slice(2)) worker.tell({ id, error: { code: "argument", message: "no" } });
  const made = randomizer.randomize(RECORD);
  await turn();
  worker.tell({ id: worker.posted.at(-1).id, error: { code: "argument", message: "it has ended" } });
  await rejects(made, "argument", "it has ended");
  await allHandled();
});

test("the successor of a dead worker has all that lives, under the same handles, and what was freed is gone", async () => {
  const { init, Randomizer, Task, terminate } = await started();
  const [first, freed] = [await Task.parse(TEXT), await Task.parse({ ...TASK, folds: 2 })];
  const [one, gone] = [first, first].map((task) => new Randomizer(task, LIMITS));
  const handles = workers[0].asked.slice(1).map(([, handle]) => handle);
  freed.free();
  gone.free();
  await turn();
  workers[0].onerror({ message: "gone" });
  const report = await one.randomize(RECORD);
  assert.equal(report.bytes.length, 35);
  assert.equal(workers.length, 2);
  assert.deepEqual(workers[1].asked.slice(0, -1), [
    ["init", undefined],
    ["parse", handles[0], TEXT],
    ["parse", handles[2], TEXT],
  ]);
  assert.deepEqual(workers[1].asked.at(-1).slice(0, 2), ["randomize", handles[2]]);
  // New handles are others.
  new Randomizer(first, LIMITS);
  const [, handle, text] = workers[1].asked.at(-1);
  assert.ok(!handles.includes(handle) && text === TEXT);
  // An object freed while there is no worker is freed.
  workers[1].onerror({ message: "gone again" });
  one.free();
  assert.equal(workers.length, 2, "that starts no worker");
  assert.equal((await Task.parse(TEXT)).digest, FACTS.digest);
  assert.deepEqual(workers[2].asked.map(([method]) => method), ["init", "parse", "parse", "parse"]);
  // After its end everything starts again.
  terminate();
  await init();
  assert.deepEqual(workers[3].asked, [["init", undefined]]);
});

test("a successor that fails fails the call, and objects it cannot make again fail nobody else", async () => {
  const { init, Task, version } = await load();
  let fails = false;
  const make = () => {
    if (fails) throw new TypeError("no more workers");
    return new PageWorker("/made.js", {});
  };
  await init(undefined, { worker: make });
  await Task.parse(TEXT);
  const allHandled = watched();
  workers[0].onerror({ message: "gone" });
  const { tell } = PageWorker.prototype;
  const again = version();
  workers[1].tell = function (data) {
    const { method } = this.posted.find(({ id }) => id === data.id);
    tell.call(this, method === "parse" ? { id: data.id, error: { code: "task", message: "not any more" } } : data);
  };
  assert.equal(await again, "1.2.3");
  // One whose module is gone.
  workers[1].onerror({ message: "gone" });
  const waiting = version();
  workers[2].onerror({ message: "no module" });
  await rejects(waiting, "init", "no worker: its script failed (no module): the next call starts another");
  fails = true;
  await rejects(version(), "init", "the worker did not start: no more workers");
  await allHandled();
});

/** The worker's script, as a worker loads it; `ask` resolves to what it answers. */
async function thread() {
  globalThis.onmessage = null;
  const posted = new Map();
  globalThis.postMessage = ({ id, ...message }, moved) => posted.set(id, { ...message, moved });
  await import(`../../pkg/worker-thread.js?${++copies}`);
  const answer = globalThis.onmessage;
  return async (method, ...parameters) => {
    const id = ++copies;
    await answer({ data: { id, method, parameters } });
    return posted.get(id);
  };
}

/** What the page makes of RECORD. */
const VALUES = [RECORD.height, null, RECORD.plan];
const MODULE = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

// The module is loaded once for all tests of this file, here.
test("in the worker's script requests wait for the module, and a module that fails to load is reported", async () => {
  const ask = await thread();
  const wrong = await ask("init", Uint8Array.of(1, 2, 3));
  assert.equal(wrong.error.code, "init");
  assert.match(wrong.error.message, /did not load/);
  assert.equal("fatal" in wrong.error, false);
  assert.equal((await ask("version")).error.message, wrong.error.message);
  let load;
  const input = new Promise((resolve) => (load = resolve));
  const questions = [ask("init", input), ask("version"), ask("parse", 1, TEXT)];
  await turn();
  load(MODULE);
  const [started, version, parsed] = await Promise.all(questions);
  assert.deepEqual(started, { value: undefined, moved: [] });
  assert.deepEqual([typeof version.value, parsed.value.reportBytes], ["string", 35]);
});

test("the worker's script keeps tasks under handles, and moves the bytes of reports", async (t) => {
  const ask = await thread();
  const { mock: freed } = t.mock.method(HeldTask.prototype, "free");
  const nothing = { value: undefined, moved: [] };
  assert.deepEqual(await ask("init", MODULE), nothing);
  assert.match((await ask("version")).value, /^\d+\.\d+\.\d+/);
  const { value: parsed } = await ask("parse", 1, TEXT);
  assert.deepEqual([JSON.parse(parsed.text), parsed.guarantee.epsilon, parsed.reportBytes], [TASK, 2, 35]);
  assert.match(parsed.digest, /^[0-9a-f]{64}$/);
  // The same once more, as a randomizer has it, and as the worker after this one has it.
  assert.deepEqual((await ask("parse", 2, parsed.text)).value, parsed);
  const { value: bytes, moved } = await ask("randomize", 2, VALUES, { id: "0123456789abcdef".repeat(2) });
  assert.deepEqual([bytes.length, moved.length, moved[0] === bytes.buffer], [35, 1, true]);
  assert.equal(Buffer.from(bytes.subarray(13, 29)).toString("hex"), "0123456789abcdef".repeat(2));
  // The limits are the page's: a task of any cost is read here.
  const costly = { ...TASK, mechanism: { type: "gaussian", epsilon: 20, delta: 1e-3, calibration: "analytic" } };
  assert.equal((await ask("parse", 3, costly)).value.guarantee.epsilon, 20);
  // A refinement has the digest of the task that it refines, and its reports have their own task's.
  const { value: second } = await ask("parse", 4, secondWave(TASK, parsed.digest));
  assert.deepEqual([Object.hasOwn(parsed, "campaign"), second.campaign], [false, parsed.digest]);
  const { value: refined } = await ask("randomize", 4, VALUES, {});
  assert.equal(Buffer.from(refined.subarray(5, 13)).toString("hex"), second.digest.slice(0, 16));
  assert.equal(freed.callCount(), 0);
  // A task that is freed is gone, and another of the same text lives.
  assert.deepEqual(await ask("free", 1), nothing);
  assert.deepEqual(await ask("free", 1), nothing);
  const ended = {
    error: { code: "argument", message: "the object belongs to a worker that has ended: make a new one" },
    moved: undefined,
  };
  assert.equal(freed.callCount(), 1);
  assert.deepEqual(await ask("randomize", 1, VALUES, {}), ended);
  assert.equal((await ask("randomize", 2, VALUES, {})).value.length, 35);
  await ask("free", 2);
  assert.deepEqual(await ask("randomize", 2, VALUES, {}), ended);
  assert.equal(freed.callCount(), 2);
});

test("the worker's script passes the package's errors as they are, and of others only the name", async () => {
  const ask = await thread();
  await ask("init", MODULE);
  const { error } = await ask("parse", 1, { ...TASK, note: 1 });
  assert.deepEqual([error.code, "fatal" in error], ["task", false]);
  assert.match(error.message, /note/);
  assert.deepEqual((await ask("nothing", "s3cret")).error, {
    code: "init",
    message: "the worker failed: TypeError",
    fatal: true,
  });
  // Those of the module, and of what the page leaves to the worker.
  assert.equal((await ask("parse", 1, 5)).error.code, "task");
  await ask("parse", 1, TEXT);
  for (const [values, id, code] of [[[], undefined, "schema"], [VALUES, "0", "argument"]]) {
    const { error } = await ask("randomize", 1, values, { id });
    assert.deepEqual([error.code, "fatal" in error], [code, false]);
  }
});
