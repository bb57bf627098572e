// The reason that a failed request gives, as far as a page can know.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { failure } from "../../pkg/errors.js";
import { anyOf, reach } from "../../pkg/reach.js";
import { instead } from "./globals.js";

const url = "https://a.example/path";
const cause = new TypeError("no network");

let answer;
let listening;
let page;

beforeEach((t) => {
  page = new EventTarget();
  listening = [];
  globalThis.addEventListener = (...parameters) => {
    listening.push(parameters);
    page.addEventListener(...parameters);
  };
  t.mock.method(globalThis, "fetch", (...asked) => answer(...asked));
  answer = async () => Promise.reject(cause);
});

afterEach(() => {
  delete globalThis.addEventListener;
});

/** The error of the request. */
function failed(target = url, options = {}, timeout = 5000, read = (response) => response.text()) {
  return reach("fetch", target, options, timeout, read).then(() => assert.fail("it was answered"), (error) => error);
}

/** The browser's event of a request that the page's policy forbids, in a task of its own. */
function forbid(...violations) {
  answer = async () => {
    for (const [effectiveDirective, blockedURI] of violations) {
      setTimeout(() =>
        page.dispatchEvent(Object.assign(new Event("securitypolicyviolation"), { effectiveDirective, blockedURI })),
      );
    }
    throw cause;
  };
}

test("what is read of the answer is the result, and the options are passed on", async () => {
  answer = async (target, { method, signal }) => new Response(`${target} ${method} ${signal.aborted}`);
  assert.equal(await reach("fetch", url, { method: "POST" }, 5000, (response) => response.text()), `${url} POST false`);
});

test("a failure has the code, the address and its cause, and guesses when it knows nothing", async () => {
  const error = await failed();
  assert.deepEqual([error.code, error.cause, error.status], ["fetch", cause, undefined]);
  const guess = "is it down, or does it or the page's connect-src not allow this? no network";
  assert.equal(error.message, `no answer from ${url}: ${guess}`);
  // A request has its address within.
  assert.equal((await failed(new Request(url))).message, `no answer from ${url}: ${guess}`);
  assert.equal((await failed(new URL(url))).message, `no answer from ${url}: ${guess}`);
});

/** Never comes, until the signal says that nobody waits. */
const never = (signal) =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason));
  });

test("it says what takes too long, to answer or to be read, and a caller's own reason is thrown as it is", async () => {
  // Node does not wait for a signal that ends by itself.
  const awake = setTimeout(() => {}, 60_000);
  let given;
  for (const [answering, reading, status] of [
    [(_, { signal }) => never(signal)],
    [async (_, { signal }) => ((given = signal), new Response("", { status: 207 })), () => never(given), 207],
  ]) {
    answer = answering;
    const controller = new AbortController();
    for (const options of [{}, { signal: controller.signal }]) {
      const error = await failed(url, options, 10, reading);
      assert.deepEqual([error.message, error.status], [`no answer from ${url}: it took over 10 ms`, status]);
    }
    const left = failed(url, { signal: controller.signal }, 5000, reading);
    controller.abort("enough");
    assert.equal(await left, "enough");
  }
  clearTimeout(awake);
});

test("a browser without AbortSignal.any stops with the first signal, with its reason", async (t) => {
  const { any } = AbortSignal;
  t.after(() => (AbortSignal.any = any));
  AbortSignal.any = undefined;
  const [one, other] = [new AbortController(), new AbortController()];
  const signal = anyOf(one.signal, other.signal);
  assert.equal(signal.aborted, false);
  other.abort("enough");
  one.abort("later");
  assert.deepEqual([signal.aborted, signal.reason], [true, "enough"]);
  assert.equal(anyOf(new AbortController().signal, one.signal).reason, "later");
  answer = (_, { signal }) => never(signal);
  const controller = new AbortController();
  const left = failed(url, { signal: controller.signal });
  controller.abort("left");
  assert.equal(await left, "left");
});

test("it says what the page's policy forbids, if that is this request", async () => {
  const forbidden = `no answer from ${url}: the page's policy forbids it: add its origin to connect-src`;
  const connect = ["connect-src", "https://a.example"];
  for (const [violations, expected] of [
    [[connect], true],
    [[connect, ["connect-src", "https://b.example"]], true],
    [[["connect-src", "https://b.example"], connect], true],
    [[["img-src", "https://a.example"]], false],
    [[["connect-src", "https://b.example"]], false],
    [[["", ""]], false],
  ]) {
    forbid(...violations);
    assert.equal((await failed()).message === forbidden, expected, JSON.stringify(violations));
  }
  // Where there is no page.
  delete globalThis.addEventListener;
  assert.match((await failed()).message, /is it down/);
});

test("it listens while it waits, and no longer", async () => {
  await failed();
  answer = async () => new Response("");
  await reach("fetch", url, {}, 5000, (response) => response.text());
  assert.equal(listening.length, 2);
  for (const [event, , { signal }] of listening)
    assert.deepEqual([event, signal.aborted], ["securitypolicyviolation", true]);
});

test("it names a device that is offline, and an address without a scheme", async (t) => {
  instead(t, "navigator", { onLine: false });
  assert.equal((await failed()).message, `no answer from ${url}: the device is offline`);
  navigator.onLine = true;
  assert.match((await failed()).message, /is it down/);
  for (const bare of ["localhost:8099", "a-b.example:80/path"]) {
    assert.equal((await failed(bare)).message, `no answer from ${bare}: give http:// or https:// before it`);
  }
  assert.match((await failed("http://a.example:80/")).message, /is it down/);
});

test("what fails while it is read says so itself, and the reader's own error is the error", async () => {
  answer = async () => new Response("", { status: 207 });
  const broken = () => Promise.reject(new TypeError("the connection broke"));
  const error = await failed(url, {}, 5000, broken);
  assert.deepEqual(
    [error.code, error.message, error.status],
    ["fetch", `no answer from ${url}: the connection broke`, 207],
  );
  const own = failure("fetch", "as it is");
  assert.equal(await failed(url, {}, 5000, () => Promise.reject(own)), own);
  const other = failure("digest", "of another code");
  assert.equal((await failed(url, {}, 5000, () => Promise.reject(other))).cause, other);
});
