import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { ArgumentError, init, issuedId, Randomizer, Report, submit, SubmitError, Task } from "../../pkg/inline.js";
import { Aggregator, OWN_IDS } from "../browser/aggregator.js";
import { serveAnswers } from "./answers.js";
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

/** A server with these answers, until the test ends. */
async function answering(t, ...answers) {
  const server = await serveAnswers(answers);
  t.after(() => server.close());
  return server;
}

/** That submitting rejects with this code (and status). */
async function refuses(sent, code, status) {
  const error = await sent.then(() => assert.fail("it was accepted"), (error) => error);
  assert.ok(error instanceof SubmitError, String(error));
  assert.deepEqual([error.name, error.code, error.status], ["SubmitError", code, status], error.message);
  return error;
}

async function records() {
  return (await aggregator.get(`/tasks/${task.digest}/status`)).records;
}

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
  const server = await answering(t, forward);
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

for (const [status, code, attempts] of [
  [400, "refused", 1],
  [401, "refused", 1],
  [404, "not-found", 1],
  [408, "unavailable", 3],
  [413, "too-large", 1],
  [415, "media-type", 1],
  [422, "rejected", 1],
  [429, "rate-limit", 3],
  [500, "unavailable", 3],
  [502, "unavailable", 3],
  [503, "unavailable", 3],
]) {
  test(`${status} is '${code}' after ${attempts} ${attempts === 1 ? "attempt" : "attempts"}`, async (t) => {
    const headers = { "content-type": "application/problem+json" };
    const server = await answering(t, { status, headers, body: '{"detail": "not today"}' });
    const error = await refuses(submit(report, { url: server.url, retries: 2, ...QUICK }), code, status);
    assert.match(error.message, /not today/);
    assert.equal(server.requests.length, attempts);
    const expected = Buffer.from(report.bytes).toString("hex");
    for (const { body } of server.requests) assert.equal(body.toString("hex"), expected);
  });
}

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

test("an id is requested as reports are sent: again when it may come, and not from just any server", async (t) => {
  const ids = { headers: JSON_TYPE, body: '{"ids": ["00112233445566778899aabbccddeeff"]}' };
  const late = await answering(t, { status: 503 }, { status: 429 }, ids);
  assert.equal(await issuedId(task, { url: late.url, ...QUICK }), "00112233445566778899aabbccddeeff");
  const [{ method, url, headers, body }] = late.requests;
  assert.deepEqual([late.requests.length, method, url], [3, "POST", `/tasks/${task.digest}/seeds`]);
  assert.deepEqual([headers["content-type"], body.toString()], [undefined, '{"count":1}']);
  assert.ok(!("cookie" in headers) && !("referer" in headers));
  for (const answer of [
    { headers: JSON_TYPE, body: "{}" },
    { headers: JSON_TYPE, body: '{"ids": []}' },
    { body: ids.body },
  ]) {
    const server = await answering(t, answer);
    await refuses(issuedId(task, { url: server.url, ...QUICK }), "answer", 200);
  }
  await refuses(issuedId({ digest: "0".repeat(64) }, { url: aggregator.url }), "not-found", 404);
  await assert.rejects(issuedId(task), ArgumentError);
});

test("a failed early request for an id is not unhandled: a later await gets the error", async () => {
  const early = issuedId(task);
  // Node ends the test here if the rejection is unhandled.
  await new Promise((resolve) => setImmediate(resolve));
  await assert.rejects(early, ArgumentError);
});

test("success in other words than an aggregator's is an error, and does not count as delivered", async (t) => {
  for (const answer of [
    { headers: { "content-type": "text/html" }, body: "<h1>Welcome to this hotel</h1>" },
    { headers: { "content-type": "text/html" }, body: COUNTED.body },
    { headers: JSON_TYPE, body: "{}" },
    { headers: JSON_TYPE, body: "null" },
    { headers: JSON_TYPE, body: '{"accepted": 0, "duplicate": 0}' },
    { headers: JSON_TYPE, body: '{"accepted": "1", "duplicate": ""}' },
    { headers: JSON_TYPE, body: '{"accepted": 1' },
    { status: 204 },
  ]) {
    const server = await answering(t, answer);
    await refuses(submit(report, { url: server.url, ...QUICK }), "answer", answer.status ?? 200);
    assert.equal(server.requests.length, 1);
  }
});

test("requests say what they carry and not who sends them", async (t) => {
  const server = await answering(t, COUNTED);
  await submit(report, { url: server.url });
  const [{ method, url, headers }] = server.requests;
  assert.deepEqual([method, url], ["POST", `/tasks/${task.digest}/reports`]);
  // Browsers ask the server beforehand when there is one.
  assert.equal(headers["content-type"], undefined);
  assert.deepEqual([headers.cookie, headers.referer], [undefined, undefined]);
});

test("Retry-After is waited for", async (t) => {
  const server = await answering(t, { status: 503, headers: { "retry-after": "1" } }, COUNTED);
  assert.deepEqual(await submit(report, { url: server.url, ...QUICK }), { status: "accepted", attempts: 2 });
  const [first, second] = server.requests;
  // A timer may fire a little early.
  assert.ok(second.time - first.time > 950, `came back after ${second.time - first.time} ms`);
});

test("a Retry-After beyond the patience ends the attempts, and is passed on", async (t) => {
  const later = new Date(Date.now() + 7_200_000).toUTCString();
  for (const [value, low, high] of [["7200", 7200, 7200], [later, 7000, 7200]]) {
    const server = await answering(t, { status: 429, headers: { "retry-after": value } });
    const error = await refuses(submit(report, { url: server.url }), "rate-limit", 429);
    assert.ok(error.retryAfter >= low && error.retryAfter <= high, `${error.retryAfter}`);
    assert.equal(server.requests.length, 1);
  }
  for (const nonsense of ["soon", "-5", "1e3"]) {
    const server = await answering(t, { status: 429, headers: { "retry-after": nonsense } }, COUNTED);
    assert.equal((await submit(report, { url: server.url, ...QUICK })).attempts, 2, nonsense);
  }
});

test("waits grow, and are spread", async (t) => {
  const server = await answering(t, { status: 503 });
  t.mock.method(Math, "random", () => 1);
  await refuses(submit(report, { url: server.url, retries: 4, delay: 20, maxDelay: 100 }), "unavailable", 503);
  const times = server.requests.map(({ time }) => time);
  const waits = times.slice(1).map((time, index) => time - times[index]);
  // A timer may fire a millisecond early.
  for (const [index, least] of [40, 80, 100, 100].entries()) assert.ok(waits[index] > least - 2, `${waits}`);
});

test("a signal stops it: before, during an attempt, and during a wait", async (t) => {
  const silent = await answering(t, () => {});
  const busy = await answering(t, { status: 503, headers: { "retry-after": "30" } });
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
  const server = await answering(t, over, COUNTED);
  const submission = await submit(report, { url: server.url, timeout: 60, ...QUICK });
  assert.deepEqual(submission, { status: "accepted", attempts: 2 });
  assert.deepEqual(asked, [60, 60]);
});

test("the deadline covers all attempts and waits together, and the last error is reported", async (t) => {
  const { asked, over } = limits(t);
  let now = 0;
  const clock = t.mock.method(performance, "now", () => now);
  const silent = await answering(t, () => {
    now += 60;
    over();
  });
  await refuses(submit(report, { url: silent.url, deadline: 60, ...QUICK }), "network", undefined);
  assert.deepEqual([silent.requests.length, asked], [1, [60]]);
  clock.mock.restore();
  t.mock.method(Math, "random", () => 1);
  const server = await answering(t, { status: 503 });
  await refuses(
    submit(report, { url: server.url, deadline: 600_000, delay: 1_000_000, maxDelay: 2 ** 31 - 1 }),
    "unavailable",
    503,
  );
  assert.equal(server.requests.length, 1);
});

test("the aggregator's own name of a refusal is passed on, and the seconds until a task starts", async (t) => {
  const headers = { "content-type": "application/problem+json" };
  const starts = Math.floor(Date.now() / 1000) + 7200;
  for (const [problem, type] of [
    [{ type: "urn:ldp-pca:problem:task-not-started", starts }, "task-not-started"],
    [
      { type: "urn:ldp-pca:problem:reports-rejected", rejections: [{ type: "urn:ldp-pca:problem:report-range" }] },
      "report-range",
    ],
    [{ type: "about:blank" }, undefined],
    [{ type: 5 }, undefined],
    [null, undefined],
  ]) {
    const server = await answering(t, { status: 403, headers, body: JSON.stringify(problem) });
    const error = await refuses(submit(report, { url: server.url, ...QUICK }), "refused", 403);
    assert.equal(error.type, type);
    const { retryAfter } = error;
    assert.ok(problem?.starts ? retryAfter > 7000 && retryAfter <= 7200 : retryAfter === undefined);
  }
});

test("arguments that make no sense are errors, and nothing is sent", async () => {
  const url = aggregator.url;
  for (const [what, options] of [
    [report.bytes, { url }],
    [undefined, { url }],
    [report, undefined],
    [report, { url: undefined }],
    [report, { url: 5 }],
    [report, { url: "localhost:8099" }],
    [report, { url: "ftp://example.org" }],
    ...["retries", "timeout", "delay", "maxDelay", "deadline"].flatMap((name) =>
      [Number.NaN, -1, "5", Infinity].map((value) => [report, { url, [name]: value }]),
    ),
  ]) {
    await assert.rejects(submit(what, options), (error) => error instanceof ArgumentError && error.code === "argument");
  }
});
