// The checks of a task before it is used, at their edges.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { affordable, allowed, fetchText } from "../../pkg/checks.js";
import { rejects, throws } from "./throws.js";

const url = "https://aggregator.example/task";
const LARGEST = 16 << 20;

let body;
let cancelled;
let lasting;
let requests;

beforeEach((t) => {
  [cancelled, lasting, requests] = [0, [], []];
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  t.mock.method(AbortSignal, "timeout", (milliseconds) => (lasting.push(milliseconds), timeout(milliseconds)));
  t.mock.method(globalThis, "fetch", async (target, options) => {
    requests.push({ target, ...options });
    const stream = new ReadableStream({
      pull(controller) {
        const [first, ...rest] = body;
        body = rest;
        if (first) controller.enqueue(first);
        else controller.close();
      },
      cancel: () => void (cancelled += 1),
    });
    return new Response(stream, { headers: { "content-type": "application/json" } });
  });
});

afterEach(() => (body = undefined));

test("a task is asked for as JSON, from nobody in particular, and half a minute is waited for it", async () => {
  body = [new TextEncoder().encode("{}")];
  const [text, response] = await fetchText(url, {});
  assert.ok(text === "{}" && response instanceof Response);
  const [{ signal, ...request }] = requests;
  assert.ok(signal instanceof AbortSignal);
  assert.deepEqual(request, { target: url, headers: { accept: "application/json" }, credentials: "omit" });
  body = [];
  await fetchText(url, { timeout: 70 });
  assert.deepEqual(lasting, [30_000, 70]);
  for (const digest of [undefined, null, 5]) {
    const words = `digest is ${digest}: give 64 hexadecimal digits, or leave it out`;
    throws(() => fetchText(url, { digest }), "argument", words);
  }
});

test("a task of 16 MiB is read to its last byte, and one byte more ends it", async () => {
  const spaces = (length) => new Uint8Array(length).fill(32);
  body = [spaces(LARGEST - 1), spaces(1)];
  assert.equal((await fetchText(url, {}))[0].length, LARGEST);
  assert.equal(cancelled, 0);
  body = [spaces(LARGEST), spaces(1), spaces(1)];
  await rejects(fetchText(url, {}), "fetch", `no task at ${url}: it has more than ${LARGEST} bytes`, { status: 200 });
  assert.equal(cancelled, 1, "nothing more is downloaded");
});

test("characters that are cut by a chunk are put together", async () => {
  const bytes = new TextEncoder().encode("größe");
  body = [bytes.subarray(0, 3), bytes.subarray(3)];
  assert.equal((await fetchText(url, {}))[0], "größe");
});

test("limits are the last that fits, and the usual ones are a MiB and 2^26 draws", () => {
  const draws = 2 ** 26;
  const reportBytes = 2 ** 20;
  affordable({ draws, reportBytes }, {});
  throws(() => affordable({ draws: draws + 1, reportBytes }, {}), "max-draws");
  throws(() => affordable({ draws, reportBytes: reportBytes + 1 }, {}), "max-report-bytes");
  const words = "the task asks for epsilon 3, and this page allows 2";
  throws(() => allowed({ epsilon: 3, delta: 0 }, { maxEpsilon: 2 }), "max-epsilon", words);
});
