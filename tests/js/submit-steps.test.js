// Submitting step by step: every request, every wait and every answer, with a network and a clock that do as the test
// says.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { asked } from "../../pkg/checks.js";
import { ArgumentError, failure } from "../../pkg/errors.js";
import { reportOf } from "../../pkg/report.js";
import { absolute, checked, deliver, isFinal, issuedId, submit } from "../../pkg/submit.js";
import { instead } from "./globals.js";
import { bytesOf, digestOf, randomizerOf } from "./ledger-tools.js";
import { rejects, throws } from "./throws.js";

const url = "https://aggregator.example";
const digest = digestOf(1);
const report = randomizerOf(1).randomize();
const JSON_TYPE = { "content-type": "application/json" };
const counted = () => new Response('{"accepted": 1, "duplicate": 0}', { headers: JSON_TYPE });
const status = (code, headers, body = "") => new Response(body, { status: code, headers, statusText: "in short" });
const problem = (code, document, headers) =>
  status(code, { "content-type": "application/problem+json", ...headers }, JSON.stringify(document));

/** The time, in milliseconds; what was asked of the network; the waits that were begun; what signals last. */
let now;
let requests;
let waits;
let lasting;
let answers;

beforeEach((t) => {
  [now, requests, waits, lasting, answers] = [1000, [], [], [], [counted]];
  t.mock.method(performance, "now", () => now);
  t.mock.method(Math, "random", () => 0.5);
  t.mock.method(globalThis, "fetch", async (target, options) => {
    options.signal.throwIfAborted();
    requests.push({ target: String(target), ...options });
    return answers[Math.min(requests.length, answers.length) - 1]();
  });
  const timer = globalThis.setTimeout;
  // Work that waits only for a turn of the loop is done.
  t.mock.method(globalThis, "setTimeout", (end, milliseconds) => {
    if (milliseconds === undefined) return timer(end);
    waits.push(milliseconds);
    return timer(() => ((now += milliseconds), end()));
  });
  t.mock.method(AbortSignal, "timeout", (milliseconds) => (lasting.push(milliseconds), new AbortController().signal));
});

const down = () => { throw new TypeError("no network"); };

/** From now on the network answers so, in this order, the last again and again; what was is forgotten. */
function answering(...next) {
  answers = next;
  requests.length = waits.length = 0;
}

test("one request carries the report, and nothing says who sends it", async () => {
  assert.deepEqual(await submit(report, { url }), { status: "accepted", attempts: 1 });
  const [{ signal, ...request }, ...others] = requests;
  assert.ok(signal instanceof AbortSignal);
  assert.deepEqual(others, []);
  assert.deepEqual(request, {
    target: `${url}/tasks/${digest}/reports`,
    method: "POST",
    body: bytesOf(1),
    keepalive: true,
    cache: "no-store",
    credentials: "omit",
    redirect: "manual",
    referrerPolicy: "no-referrer",
  });
  assert.deepEqual([lasting, waits], [[30_000], []]);
});

test("the address may end with slashes, and have a path and spaces around it", async () => {
  for (const [given, path] of [[`${url}///`, ""], [` ${url}/a/b/ `, "/a/b"], [new URL(`${url}/c`), "/c"]]) {
    await submit(report, { url: given });
    assert.equal(requests.at(-1).target, `${url}${path}/tasks/${digest}/reports`);
  }
});

test("an answer is a count of one, in JSON, and nothing else", async () => {
  const answer = (body, headers = JSON_TYPE) => () => new Response(body, { headers });
  for (const [body, expected] of [
    ['{"accepted": 1, "duplicate": 0}', "accepted"],
    ['{"accepted": 0, "duplicate": 1}', "duplicate"],
  ]) {
    answers = [answer(body, { "content-type": "application/json; charset=utf-8" })];
    assert.equal((await submit(report, { url })).status, expected);
  }
  for (const wrong of [
    answer('{"accepted": 1, "duplicate": 1}'),
    answer('{"accepted": 2, "duplicate": -1}', { "content-type": "text/json" }),
    answer('{"accepted": 0, "duplicate": 0}'),
    answer('{"accepted": 1, "duplicate": 0}', { "content-type": "text/html" }),
    answer('{"accepted": "1", "duplicate": ""}'),
    answer('{"accepted": 1'),
    answer("{}"),
    answer("null"),
    answer("nonsense"),
    () => new Response(null, { status: 204 }),
  ]) {
    answering(wrong);
    const { status } = wrong();
    const words = `${url}/tasks/${digest}/reports answers ${status}, but not as an aggregator`;
    await rejects(submit(report, { url }), "answer", words, { status });
    assert.equal(requests.length, 1);
  }
});

test("what may pass is tried again: so often, after waits that double and are spread, up to the longest", async () => {
  answers = [() => status(503)];
  const error = await rejects(submit(report, { url, retries: 4, delay: 100, maxDelay: 1000 }), "unavailable");
  assert.deepEqual([error.status, requests.length], [503, 5]);
  // Half of 200, 400, 800, and of the longest.
  assert.deepEqual(waits, [100, 200, 400, 500]);
  waits.length = 0;
  Math.random.mock.mockImplementation(() => 1);
  await rejects(submit(report, { url, retries: 4, delay: 100, maxDelay: 1000 }), "unavailable");
  assert.deepEqual(waits, [200, 400, 800, 1000]);
  Math.random.mock.mockImplementation(() => 0.5);
  requests.length = waits.length = 0;
  await rejects(submit(report, { url }), "unavailable");
  assert.deepEqual([requests.length, waits], [5, [500, 1000, 2000, 4000]]);
  requests.length = waits.length = 0;
  await rejects(submit(report, { url, retries: 0 }), "unavailable");
  assert.deepEqual([requests.length, waits], [1, []]);
  answering(() => status(429), () => status(408), down, counted);
  assert.deepEqual(await submit(report, { url }), { status: "accepted", attempts: 4 });
  assert.equal(requests.length, 4);
  assert.ok(requests.every(({ body }) => String(body) === String(bytesOf(1))));
});

for (const [name, attempts, ...codes] of [
  ["not-found", 1, 404],
  ["too-large", 1, 413],
  ["media-type", 1, 415],
  ["rejected", 1, 422],
  ["refused", 1, 400, 401, 499],
  ["rate-limit", 3, 429],
  ["unavailable", 3, 408, 500, 501, 502, 503, 599],
]) {
  test(`${codes.join(", ")}: '${name}' after ${attempts} ${attempts === 1 ? "attempt" : "attempts"}`, async () => {
    for (const code of codes) {
      answering(() => status(code));
      const words = `${url}/tasks/${digest}/reports answers ${code}: in short`;
      await rejects(submit(report, { url, retries: 2 }), name, words, { status: code });
      assert.equal(requests.length, attempts);
      assert.ok(requests.every(({ body }) => String(body) === String(bytesOf(1))));
    }
  });
}

test("a redirect is not followed: a report goes to the server that it was promised to, and waits", async () => {
  // Browsers say no more of it; others have the status.
  const hidden = { type: "opaqueredirect", status: 0, headers: new Headers(), text: async () => "" };
  for (const answer of [hidden, ...[301, 302, 303, 307, 308].map((code) => status(code, { location: "/" }))]) {
    answers = [() => answer];
    const options = { url, retries: 0 };
    await rejects(issuedId({ digest }, options), "network");
    const error = await rejects(submit(report, options), "network");
    const address = `${url}/tasks/${digest}/reports`;
    assert.equal(error.message, `${address} redirects: give the address of the server itself`);
    assert.equal(isFinal(error), false);
  }
  assert.ok(requests.every(({ redirect }) => redirect === "manual"));
});

test("a request outlives its page if it is small, until the network fails", async () => {
  for (const [length, keepalive] of [[59_999, true], [60_000, false]]) {
    await submit(reportOf(new Uint8Array(length), digest, report.guarantee), { url });
    assert.equal(requests.at(-1).keepalive, keepalive);
  }
  answering(() => status(503), down, () => status(503), counted);
  assert.equal((await submit(report, { url })).attempts, 4);
  assert.deepEqual(requests.map(({ keepalive }) => keepalive), [true, true, false, false]);
});

test("an order to wait is obeyed and added to, and one beyond the longest wait ends it for now", async () => {
  const ordered = (value) => () => status(429, { "retry-after": value });
  answers = [ordered("3"), counted];
  assert.equal((await submit(report, { url, delay: 100, maxDelay: 3000 })).attempts, 2);
  assert.deepEqual(waits, [3100]);
  answering(ordered("4"), counted);
  const { retryAfter } = await rejects(submit(report, { url, delay: 100, maxDelay: 3999 }), "rate-limit");
  assert.deepEqual([retryAfter, waits, requests.length], [4, [], 1]);
  // Usually a minute.
  answering(ordered("61"), counted);
  assert.equal((await rejects(submit(report, { url }), "rate-limit")).retryAfter, 61);
  answering(ordered("60"), counted);
  assert.equal((await submit(report, { url })).attempts, 2);
  assert.deepEqual(waits, [60_500]);
  for (const nonsense of ["soon", "-5", "1e3"]) {
    answering(ordered(nonsense), counted);
    assert.equal((await submit(report, { url })).attempts, 2, nonsense);
  }
});

test("dates and starts are seconds from now, and what is past is at once", async (t) => {
  t.mock.method(Date, "now", () => Date.UTC(2026, 0, 1));
  const at = (seconds) => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toUTCString();
  const starts = (seconds) => ({
    type: "urn:ldp-pca:problem:task-not-started",
    starts: Date.UTC(2026, 0, 1) / 1000 + seconds,
  });
  for (const [headers, document, expected] of [
    [{ "retry-after": "0" }, {}, 0],
    [{ "retry-after": "17" }, {}, 17],
    [{ "retry-after": at(17) }, {}, 17],
    [{ "retry-after": at(-17) }, {}, 0],
    [{ "retry-after": "17" }, starts(5), 17],
    [{ "retry-after": at(17) }, starts(5), 17],
    [{}, starts(5), 5],
    [{}, starts(-5), 0],
    [{ "retry-after": "soon" }, {}, undefined],
    [{ "retry-after": "1e3" }, {}, undefined],
    [{ "retry-after": "5 s" }, {}, undefined],
    [{}, {}, undefined],
    [{}, null, undefined],
  ]) {
    answers = [() => problem(403, document, headers)];
    const { retryAfter } = await rejects(submit(report, { url }), "refused");
    assert.equal(retryAfter, expected, JSON.stringify([headers, document]));
  }
});

test("the time for all attempts is kept, by each of them and by the waits", async () => {
  const late = () => ((now += 400), status(503));
  answers = [late];
  await rejects(submit(report, { url, deadline: 1000.5, delay: 100, retries: 100 }), "unavailable");
  // 400, a wait of 100, 400: a wait of 200 would be too late.
  assert.deepEqual([lasting, waits], [[1001, 501], [100]]);
  // To the millisecond: a wait that ends when the time does is in vain.
  for (const [deadline, attempts] of [[500, 1], [501, 2]]) {
    now = 1000;
    answering(late, counted);
    const sent = submit(report, { url, deadline, delay: 100 });
    if (attempts === 1) await rejects(sent, "unavailable");
    else assert.equal((await sent).attempts, 2);
    assert.equal(requests.length, attempts);
  }
  lasting.length = 0;
  answers = [counted];
  await submit(report, { url, timeout: 70, deadline: 71 });
  await submit(report, { url, timeout: 72, deadline: 71 });
  assert.deepEqual(lasting, [70, 71]);
  // The rest is never negative.
  let reads = 0;
  lasting.length = 0;
  performance.now.mock.mockImplementation(() => 1000 + 100 * reads++);
  await submit(report, { url, deadline: 50 });
  assert.deepEqual(lasting, [0]);
});

test("a signal ends a wait at once, with its reason, and its listener with the wait", async (t) => {
  const controller = new AbortController();
  const { signal } = controller;
  const [listening, cleared] = [t.mock.method(signal, "addEventListener"), t.mock.method(globalThis, "clearTimeout")];
  globalThis.setTimeout.mock.mockImplementation((end, milliseconds) => {
    if (milliseconds === undefined) return void setImmediate(end);
    waits.push(milliseconds);
    setImmediate(() => controller.abort("enough"));
    return 77;
  });
  answers = [() => status(503)];
  const between = () => assert.fail("nobody waits for an answer");
  assert.equal(await deliver(report, { url, signal }, between).catch((reason) => reason), "enough");
  assert.deepEqual([requests.length, waits.length], [1, 1]);
  assert.deepEqual(cleared.mock.calls.map(({ arguments: [timer] }) => timer), [77]);
  const [event, , { signal: over }] = listening.mock.calls.at(-1).arguments;
  assert.deepEqual([event, over.aborted], ["abort", true]);
  assert.deepEqual(await submit(report, { url, signal }).catch((reason) => reason), "enough");
});

test("a signal ends an attempt at once, with its reason", async () => {
  const controller = new AbortController();
  answers = [() => (controller.abort("enough"), down())];
  assert.equal(await submit(report, { url, signal: controller.signal }).catch((reason) => reason), "enough");
  assert.deepEqual([requests.length, waits], [1, []]);
});

test("between attempts a caller may give the report's outcome", async () => {
  answers = [() => status(503)];
  let asked = 0;
  const between = () => (++asked < 2 ? undefined : "duplicate");
  assert.deepEqual(await deliver(report, { url }, between), { status: "duplicate", attempts: 2 });
  assert.deepEqual([requests.length, asked], [2, 2]);
  // Late, or with an error.
  requests.length = 0;
  assert.deepEqual(await deliver(report, { url }, async () => "accepted"), { status: "accepted", attempts: 1 });
  const reason = new Error("withdrawn");
  await assert.rejects(deliver(report, { url }, () => Promise.reject(reason)), (error) => error === reason);
  assert.equal(requests.length, 2);
});

test("an id is asked for by the task, and none is there for tasks whose reports make their own", async () => {
  const ids = () => new Response('{"ids": ["a", "b"]}', { headers: JSON_TYPE });
  answers = [ids];
  const task = { digest };
  assert.equal(await issuedId(task, { url }), "a");
  const [{ target, method, body, keepalive }] = requests;
  assert.deepEqual(
    [target, method, new TextDecoder().decode(body), keepalive],
    [`${url}/tasks/${digest}/seeds`, "POST", '{"count":1}', true],
  );
  answering(() => status(503), () => status(429), ids);
  assert.equal(await issuedId(task, { url }), "a", "again when it may come");
  answers = [() => problem(409, { detail: "they make their own" })];
  assert.equal(await issuedId(task, { url }), undefined);
  for (const [code, name] of [[408, "unavailable"], [410, "refused"]]) {
    answers = [() => status(code)];
    await rejects(issuedId(task, { url, retries: 0 }), name);
  }
  for (const [body, headers] of [["{}", JSON_TYPE], ['{"ids": []}', JSON_TYPE], ['{"ids": ["a"]}', undefined]]) {
    answers = [() => new Response(body, { headers })];
    assert.equal((await rejects(issuedId(task, { url }), "answer")).status, 200);
  }
});

test("a failed early request for an id is not unhandled: a later await gets the error", async () => {
  const early = issuedId({ digest });
  // Node ends the test here if the rejection is unhandled.
  await new Promise((resolve) => setImmediate(resolve));
  await assert.rejects(early, ArgumentError);
});

test("who asks for an id is known to have asked", async (t) => {
  const other = digestOf(77);
  t.after(() => asked.delete(other));
  await issuedId({ digest: other }, { url, retries: 0 }).catch(() => {});
  assert.ok(asked.has(other));
});

test("what an aggregator has said for good is final, and nothing else", () => {
  const of = (code, type) => failure(code, "", { type });
  for (const code of ["refused", "rejected", "not-found", "too-large", "media-type", "answer"]) {
    assert.equal(isFinal(of(code, "task-expired")), true, code);
    assert.equal(isFinal(of(code)), false, code);
    assert.equal(isFinal(of(code, "task-not-started")), false, code);
  }
  for (const code of ["network", "rate-limit", "unavailable"]) assert.equal(isFinal(of(code, "busy")), false, code);
  for (const other of [undefined, null, { code: "refused", type: "task-expired" }, of("budget", "x")])
    assert.equal(isFinal(other), false);
});

test("the names of problems are the aggregator's own, the report's before the request's", async () => {
  const named = (name) => ({ type: `urn:ldp-pca:problem:${name}` });
  for (const [document, type, detail] of [
    [{ ...named("one"), detail: "in words" }, "one", "in words"],
    [{ ...named("one"), rejections: [named("two"), named("three")] }, "two", "in short"],
    [{ ...named("one"), rejections: [] }, "one", "in short"],
    [{ type: "about:blank" }, undefined, "in short"],
    [{ type: 5 }, undefined, "in short"],
    [null, undefined, "in short"],
  ]) {
    answers = [() => problem(422, document)];
    await rejects(submit(report, { url }), "rejected", new RegExp(`answers 422: ${detail}$`), { type, status: 422 });
  }
});

test("options have their defaults, and numbers that timers know", () => {
  const { url: found, ...options } = checked({ url });
  assert.equal(found.href, `${url}/`);
  const usual = { retries: 4, timeout: 30_000, delay: 500, maxDelay: 60_000, deadline: 2 ** 31 - 1 };
  assert.deepEqual(options, { signal: undefined, ...usual });
  for (const name of Object.keys(usual)) {
    for (const value of [0, 0.5, 2 ** 31 - 1]) assert.equal(checked({ url, [name]: value })[name], value);
    for (const value of [-1, -5e-324, 2 ** 31, NaN, Infinity, "5", null]) {
      throws(() => checked({ url, [name]: value }), "argument", `${value} is no number of retries or milliseconds`);
    }
  }
});

test("an address is absolute, or relative to the page's", (t) => {
  for (const [given, message] of [
    ["aggregator", "url is aggregator: give the aggregator's URL"],
    [undefined, "url is undefined: give the aggregator's URL"],
    [5, "url is 5: give the aggregator's URL"],
    ["https://", "url is https://: give the aggregator's URL"],
    ["localhost:8099", "url is localhost:8099: give http:// or https:// before it"],
    ["ftp://a.example", "url is ftp://a.example: give http:// or https:// before it"],
  ]) {
    assert.throws(() => absolute(given), (error) => {
      assert.deepEqual([error.code, error.message], ["argument", message]);
      assert.equal(error.cause instanceof TypeError, message.endsWith("URL"));
      return true;
    });
  }
  for (const given of [
    "http://us:s3cret@a.example",
    "https:us:s3cret@a.example",
    "ftp://us:s3cret@a.example:x",
    "us:s3cret@a.example:8080",
    "git+http://us:s3cret@a.example",
    "http:us:s3cret@a.example:99999",
    "http:/us:s3cret@a.example:99999",
    "http:\\\\us:s3cret@a.example:99999",
    "http:////us:s3cret@a.example:99999",
  ]) {
    const message = "url has a user or a password: leave them out";
    throws(() => absolute(given), "argument", message, { cause: undefined });
    throws(() => checked({ url: new URL("http://s3cret@a.example") }), "argument", message);
  }
  instead(t, "document", { baseURI: "https://page.example/a/b" });
  assert.equal(absolute("../c").href, "https://page.example/c");
  assert.equal(absolute(" http://d.example ").href, "http://d.example/");
  for (const path of ["/@e/f", "@e/f", "e@2.json", "http://d.example:80/@e"]) assert.match(absolute(path).href, /@/);
});

test("a value that is not a report, or that states no guarantee, is not sent", async () => {
  for (const other of [undefined, {}, report.bytes, { ...report }, reportOf(bytesOf(1), digest, null)]) {
    await assert.rejects(submit(other, { url }), { code: "argument" });
  }
  for (const options of [undefined, { url: 5 }, { url: "ftp://a.example" }, { url, retries: -1 }]) {
    await assert.rejects(submit(report, options), ArgumentError);
  }
  assert.deepEqual(requests, []);
});
