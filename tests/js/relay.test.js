// Reports through a relay: the real client, the real relay and the real aggregator, which opens what is sealed here.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ArgumentError, init, Randomizer, Task } from "../../pkg/inline.js";
import { Aggregator, OWN_IDS, Relay } from "../browser/aggregator.js";
import { until } from "../browser/pages.js";
import { answersUntilEnd } from "./answers.js";
import { inTurn } from "./hooks.js";
import { newDevice, openOn } from "./ledger-tools.js";
import { LIMITS, numericColumns, RECORD, TASK } from "./task.js";

const BATCH = 3;
const SEALED = 344;
const LIMITS_OF_LONG = { ...LIMITS, maxDelta: 1e-6 };

const aggregator = Aggregator.forTests(TASK, undefined, OWN_IDS);
const relay = Relay.forTests(aggregator, BATCH);
let task;
let keys;

inTurn(async () => {
  await init();
  task = Task.parse(TASK);
  keys = new Uint8Array(await (await fetch(`${relay.url}/keys`)).arrayBuffer());
});

/** A device that takes part: the outcome of its report, which a randomizer of the task makes. */
async function takesPart(options, randomizer = new Randomizer(task, LIMITS), record = RECORD) {
  const ledger = await openOn(newDevice());
  return ledger.send(randomizer, record, options);
}

/** A relay with the real one's keys and these answers to reports, until the test ends. */
async function answering(t, ...answers) {
  const posts = [];
  const server = await answersUntilEnd(t, (request, response) => {
    if (request.method === "GET") return response.end(keys);
    const answer = answers[Math.min(posts.length, answers.length - 1)];
    posts.push(server.requests.at(-1));
    if (typeof answer === "function") return answer(request, response);
    return response.writeHead(answer.status, answer.headers).end(answer.body);
  });
  return { posts, ...server };
}

test("reports count when their batch is complete, with the relay's keys or the aggregator's own", async () => {
  const gateway = await fetch(`${aggregator.url}/.well-known/ohttp-gateway`);
  const own = new Uint8Array(await gateway.arrayBuffer());
  assert.deepEqual(own, keys);
  const options = [{ relay: relay.url }, { relay: new URL(`${relay.url}/`) }, { relay: relay.url, keys: own }];
  for (const each of options) {
    assert.equal(await aggregator.records(), 0);
    const { status, id, taskDigest } = await takesPart(each);
    assert.deepEqual([status, taskDigest], ["relayed", task.digest]);
    assert.match(id, /^[0-9a-f]{32}$/);
  }
  await until(async () => (await aggregator.records()) >= BATCH);
});

test("reports of any length are opened by the aggregator, and have few lengths when sealed", async (t) => {
  const gateway = `${aggregator.url}/.well-known/ohttp-gateway`;
  const headers = { "content-type": "message/ohttp-req" };
  const forward = async (request, response) => {
    const { body } = server.posts.at(-1);
    const { status } = await fetch(gateway, { method: "POST", headers, body });
    response.writeHead(status === 200 ? 202 : 500).end();
  };
  const server = await answering(t, forward);
  const mechanism = { type: "gaussian", epsilon: 2, delta: 1e-6, calibration: "analytic" };
  for (const [dimension, padded] of [[4, 256], [20, 512], [200, 32_768]]) {
    const json = { ...TASK, schema: { columns: numericColumns(dimension) }, mechanism };
    const long = Task.parse(json);
    await aggregator.put(long.digest, json, {});
    const randomizer = new Randomizer(long, LIMITS_OF_LONG);
    await takesPart({ relay: server.url, keys }, randomizer, Array(dimension).fill(0.1));
    assert.equal(server.posts.at(-1).body.length, padded + SEALED - 256);
    assert.equal(await aggregator.records(long.digest), 1);
  }
});

test("the same report of two devices is sealed differently, and nothing in it is legible", async (t) => {
  const server = await answering(t, { status: 202 });
  const report = new Randomizer(task, LIMITS).randomize(RECORD);
  const same = { taskDigest: task.digest, guarantee: task.guarantee, randomize: () => report };
  for (let count = 0; count < 2; count += 1) await takesPart({ relay: server.url, keys }, same);
  const [first, second] = server.posts.map(({ body }) => body);
  assert.notDeepEqual(first.subarray(7), second.subarray(7));
  assert.deepEqual(first.subarray(0, 7), second.subarray(0, 7));
  for (const part of [Buffer.from(report.id, "hex"), Buffer.from("/tasks/")]) assert.ok(!first.includes(part));
});

test("what is no relay's answer is refused, with its own words, and what may pass waits", async (t) => {
  for (const [status, code, state, attempts] of [
    [200, "answer", "refused", 1],
    [413, "too-large", "refused", 1],
    [503, "unavailable", "pending", 3],
  ]) {
    const server = await answering(t, { status, body: '{"detail": "not today", "type": "urn:ldp-pca:problem:x"}' });
    const { error, ...outcome } = await takesPart({ relay: server.url, keys, retries: 2, delay: 1 });
    assert.deepEqual([outcome.status, error.code, error.status, error.type], [state, code, status, "x"]);
    assert.match(error.message, /not today/);
    assert.equal(server.posts.length, attempts);
    for (const { url, headers } of server.posts) {
      assert.equal(url, "/reports");
      assert.equal(headers["content-type"], undefined, "which would need a preflight request");
    }
  }
});

test("the real relay's refusals keep their meaning", async () => {
  const { status, error } = await takesPart({ relay: `${relay.url}/nowhere` });
  const { code, type } = error;
  assert.deepEqual([status, code, error.status, type], ["refused", "not-found", 404, "unknown-path"]);
});

test("keys that are none, or one's own, are refused before anything is sent", async (t) => {
  const server = await answering(t, { status: 202 });
  // Of the same id: the relay could not tell what is sealed to it from other reports, but who has it could.
  const { publicKey } = await crypto.subtle.generateKey({ name: "ECDH", namedCurve: "P-256" }, false, ["deriveBits"]);
  const own = Uint8Array.from(keys);
  own.set(new Uint8Array(await crypto.subtle.exportKey("raw", publicKey)), 5);
  const x25519 = new Uint8Array([0, 41, 1, 0, 0x20, ...Array(32).fill(9), 0, 4, 0, 1, 0, 1]);
  for (const bad of [new Uint8Array(), new Uint8Array([1]), new TextEncoder().encode("<html>"), x25519, own]) {
    const { status, error } = await takesPart({ relay: server.url, keys: bad });
    assert.deepEqual([status, error.code], ["pending", "answer"]);
    if (bad === own) assert.match(error.message, /not that of `keys`/);
  }
  assert.equal(server.posts.length, 0);
  // Among others it finds its own: beside those of another suite, and of none.
  const hidden = Uint8Array.from(own);
  hidden.set([0, 0], 70);
  for (const other of [x25519, hidden]) {
    const both = new Uint8Array([...other, ...keys]);
    assert.equal((await takesPart({ relay: server.url, keys: both })).status, "relayed");
  }
});

test("options that make no sense book nothing", async () => {
  const ledger = await openOn(newDevice());
  const both = { relay: relay.url, url: aggregator.url };
  const id = Promise.resolve(undefined);
  for (const options of [{}, { relay: "example.org" }, { relay: relay.url, retries: -1 }, both]) {
    await assert.rejects(ledger.send(new Randomizer(task, LIMITS), RECORD, options), ArgumentError);
  }
  const issued = ledger.send(new Randomizer(task, LIMITS), RECORD, { relay: relay.url, id });
  await assert.rejects(issued, { name: "ArgumentError", message: /no id/ });
  assert.deepEqual((await ledger.status()).reports, []);
});
