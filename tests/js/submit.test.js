import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { ArgumentError, init, issuedId, Randomizer, Report, submit, SubmitError, Task } from "../../pkg/inline.js";
import { Aggregator, OWN_IDS } from "../browser/aggregator.js";
import { answersUntilEnd } from "./answers.js";
import { limits } from "./limits.js";
import { LIMITS, RECORD, TASK } from "./task.js";

const JSON_TYPE = { "content-type": "application/json" };
const COUNTED = { headers: JSON_TYPE, body: '{"accepted": 1, "duplicate": 0, "rejected": 0, "rejections": []}' };
const QUICK = { delay: 1 };

let task;
let report;
let aggregator;

before(async () => {
  await init();
  task = Task.parse(TASK);
  report = new Randomizer(task, LIMITS).randomize(RECORD);
  aggregator = new Aggregator(TASK, undefined, OWN_IDS);
  await aggregator.start();
});

after(() => aggregator?.remove());

/** That submitting rejects with this code (and status). */
async function refuses(sent, code, status) {
  const error = await sent.then(() => assert.fail("it was accepted"), (error) => error);
  assert.ok(error instanceof SubmitError, String(error));
  assert.deepEqual([error.name, error.code, error.status], ["SubmitError", code, status], error.message);
  return error;
}

const records = async () => (await aggregator.get(`/tasks/${task.digest}/status`)).records;

test("a report is accepted once, and a duplicate from then on", async () => {
  const before = await records();
  const own = new Randomizer(task, LIMITS).randomize(RECORD);
  assert.deepEqual(await submit(own, { url: aggregator.url }), { status: "accepted", attempts: 1 });
  const restored = Report.fromBytes(own.bytes, task);
  assert.deepEqual(await submit(restored, { url: `${aggregator.url}/` }), { status: "duplicate", attempts: 1 });
  assert.deepEqual(await submit(own, { url: new URL(aggregator.url) }), { status: "duplicate", attempts: 1 });
  assert.equal(await records(), before + 1);
});

test("when the answer is lost, what is sent again is the same bytes and counts once", async (t) => {
  const before = await records();
  const own = new Randomizer(task, LIMITS).randomize(RECORD);
  // The report arrives, and the connection breaks before the answer does.
  const forward = async (request, response) => {
    const [, path] = request.url.match(/^(\/tasks\/[0-9a-f]{64}\/reports)$/);
    const body = server.requests.at(-1).body;
    const answer = await fetch(aggregator.url + path, { method: "POST", body });
    if (server.requests.length < 3) return response.destroy();
    response.writeHead(answer.status, JSON_TYPE).end(await answer.text());
  };
  const server = await answersUntilEnd(t, forward);
  assert.deepEqual(await submit(own, { url: server.url, ...QUICK }), { status: "duplicate", attempts: 3 });
  assert.deepEqual(
    server.requests.map(({ body }) => body.toString("hex")),
    Array(3).fill(Buffer.from(own.bytes).toString("hex")),
  );
  assert.equal(await records(), before + 1);
});

test("an aggregator that is down is an error after so many attempts, and its report goes out later", async (t) => {
  const own = new Randomizer(task, LIMITS).randomize(RECORD);
  const url = aggregator.url;
  await aggregator.stop();
  const error = await refuses(submit(own, { url, retries: 2, ...QUICK }), "network", undefined);
  assert.ok(error.message.includes(url) && error.cause instanceof TypeError);
  const { fetch } = globalThis;
  const failed = new Promise((resolve) => {
    t.mock.method(globalThis, "fetch", (...parameters) => {
      const answer = fetch(...parameters);
      answer.catch(resolve);
      return answer;
    });
  });
  const waiting = submit(own, { url, retries: 100_000, delay: 5, maxDelay: 50 });
  await failed;
  await aggregator.start();
  const { status, attempts } = await waiting;
  assert.equal(status, "accepted");
  assert.ok(attempts > 1);
});

test("the real aggregator's refusals keep their meaning", async () => {
  // Another task's report, where this one's go.
  const other = Task.parse({ ...TASK, folds: 2 });
  const stray = new Randomizer(other, LIMITS).randomize(RECORD);
  const unknown = await refuses(submit(stray, { url: aggregator.url, ...QUICK }), "not-found", 404);
  assert.match(unknown.message, /no task/);
  await refuses(submit(report, { url: `${aggregator.url}/nowhere`, ...QUICK }), "not-found", 404);
});

test("reports with issued ids count where a task takes no others", async () => {
  const randomizer = new Randomizer(task, LIMITS);
  await aggregator.configure(task.digest, { issued_ids: true });
  const id = await issuedId(task, { url: aggregator.url });
  assert.match(id, /^[0-9a-f]{32}$/);
  assert.notEqual(id, await issuedId(task, { url: aggregator.url }));
  const issued = randomizer.randomize(RECORD, { id });
  assert.equal(Buffer.from(issued.bytes.subarray(13, 29)).toString("hex"), id);
  assert.deepEqual(await submit(issued, { url: aggregator.url }), { status: "accepted", attempts: 1 });
  const error = await refuses(submit(randomizer.randomize(RECORD), { url: aggregator.url, ...QUICK }), "rejected", 422);
  assert.match(error.message, /not issued/);
  await aggregator.configure(task.digest, { issued_ids: null });
});

test("a task whose reports make their own ids has none to ask for", async () => {
  assert.equal(await issuedId(task, { url: aggregator.url }), undefined);
  const report = new Randomizer(task, LIMITS).randomize(RECORD, { id: undefined });
  assert.equal((await submit(report, { url: aggregator.url })).status, "accepted");
});

test("an id is requested as reports are sent: again when it may come", async (t) => {
  const ids = { headers: JSON_TYPE, body: '{"ids": ["00112233445566778899aabbccddeeff"]}' };
  const late = await answersUntilEnd(t, { status: 503 }, { status: 429 }, ids);
  assert.equal(await issuedId(task, { url: late.url, ...QUICK }), "00112233445566778899aabbccddeeff");
  const [{ method, url, headers, body }] = late.requests;
  assert.deepEqual([late.requests.length, method, url], [3, "POST", `/tasks/${task.digest}/seeds`]);
  assert.deepEqual([headers["content-type"], body.toString()], [undefined, '{"count":1}']);
  assert.ok(!("cookie" in headers) && !("referer" in headers));
  await refuses(issuedId({ digest: "0".repeat(64) }, { url: aggregator.url }), "not-found", 404);
  await assert.rejects(issuedId(task), ArgumentError);
});

test("a failed early request for an id is not unhandled: a later await gets the error", async () => {
  const early = issuedId(task);
  // Node ends the test here if the rejection is unhandled.
  await new Promise((resolve) => setImmediate(resolve));
  await assert.rejects(early, ArgumentError);
});

test("Retry-After is waited for", async (t) => {
  const server = await answersUntilEnd(t, { status: 503, headers: { "retry-after": "1" } }, COUNTED);
  assert.deepEqual(await submit(report, { url: server.url, ...QUICK }), { status: "accepted", attempts: 2 });
  const [first, second] = server.requests;
  // A timer may fire a little early.
  assert.ok(second.time - first.time > 950, `came back after ${second.time - first.time} ms`);
});

test("a signal stops it: before, during an attempt, and during a wait", async (t) => {
  const silent = await answersUntilEnd(t, () => {});
  const busy = await answersUntilEnd(t, { status: 503, headers: { "retry-after": "30" } });
  const reason = new Error("changed my mind");
  const is = (error) => error === reason;
  await assert.rejects(submit(report, { url: silent.url, signal: AbortSignal.abort(reason) }), is);
  assert.equal(silent.requests.length, 0);
  for (const server of [silent, busy]) {
    const controller = new AbortController();
    const sent = submit(report, { url: server.url, signal: controller.signal });
    while (server.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    setTimeout(() => controller.abort(reason), 30);
    await assert.rejects(sent, is);
    assert.equal(server.requests.length, 1);
  }
});

test("an attempt without an answer ends in time, and is repeated", async (t) => {
  const { asked, over } = limits(t);
  const server = await answersUntilEnd(t, over, COUNTED);
  const submission = await submit(report, { url: server.url, timeout: 60, ...QUICK });
  assert.deepEqual(submission, { status: "accepted", attempts: 2 });
  assert.deepEqual(asked, [60, 60]);
});

test("the deadline covers all attempts and waits together, and the last error is reported", async (t) => {
  const { asked, over } = limits(t);
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const silent = await answersUntilEnd(t, () => {
    now += 60;
    over();
  });
  await refuses(submit(report, { url: silent.url, deadline: 60, ...QUICK }), "network", undefined);
  assert.deepEqual([silent.requests.length, asked], [1, [60]]);
});
