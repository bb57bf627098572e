// Reports that a ledger leaves with a relay: step by step, on a device and with a relay that the test controls.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { asked, campaigns, fetchTask } from "../../pkg/checks.js";
import { EntropyError, failure, SubmitError } from "../../pkg/errors.js";
import { instead } from "./globals.js";
import { bytesOf, digestOf, entryOf, idOf, newDevice, openOn, randomizerOf, slowOf, url } from "./ledger-tools.js";

const RECORD = { height: 181 };
const RELAY = "https://relay.example/of/it";
const TO = { relay: RELAY, retries: 0 };
/** Nothing of a relayed report may get here. */
const PLAIN = { deliver: () => assert.fail("it was sent plainly"), issuedId: () => assert.fail("an id was asked for") };

// Node does not wait for a signal that ends by itself.
const awake = setInterval(() => {}, 1000);
after(() => clearInterval(awake));

/** A relay's list of one key, and another's. */
let keys;
let others;
before(async () => {
  const list = async () => {
    const { publicKey } = await crypto.subtle.generateKey({ name: "ECDH", namedCurve: "P-256" }, false, ["deriveBits"]);
    const key = new Uint8Array(await crypto.subtle.exportKey("raw", publicKey));
    return new Uint8Array([0, 74, 7, 0, 16, ...key, 0, 4, 0, 1, 0, 1]);
  };
  [keys, others] = [await list(), await list()];
});

/** A relay in place of the network: `posts` are the sealed reports, `answer` is how it takes them. */
function relayed(t, answer = () => new Response(null, { status: 202 }), list = () => new Response(keys)) {
  const posts = [];
  const gets = [];
  t.mock.method(globalThis, "fetch", async (target, { method, body }) => {
    if (method === "GET") {
      gets.push(`${target}`);
      return list(gets.length);
    }
    posts.push([`${target}`, body]);
    return answer(posts.length);
  });
  return { posts, gets };
}

/** A ledger on a device, which leaves reports with such a relay. */
async function leaving(t, answer, list) {
  const device = newDevice();
  return { ...relayed(t, answer, list), device, ledger: await openOn(device, {}, PLAIN) };
}

const down = () => Promise.reject(new TypeError("no network"));

test("a report is booked, made, sealed, and then left, in this order, and is never to be sent plainly", async (t) => {
  const device = newDevice();
  const steps = [];
  const step = async () => steps.push(...(await device.all()));
  const one = randomizerOf(1, 2);
  const { taskDigest, guarantee } = one;
  const watching = { ...one, randomize: async (...given) => (await step(), one.randomize(...given)) };
  const { posts, gets } = relayed(
    t,
    async () => (await step(), new Response(null, { status: 202 })),
    async () => (await step(), new Response(keys)),
  );
  const ledger = await openOn(device, {}, PLAIN);
  const outcome = await ledger.send(watching, RECORD, { ...TO, keys });
  assert.deepEqual(outcome, { taskDigest, id: idOf(1), status: "relayed" });
  const [[place, sealed], ...more] = posts;
  assert.deepEqual([place, gets, more], [`${RELAY}/reports`, [`${RELAY}/keys`], []]);
  const entry = entryOf(one, { relay: RELAY });
  assert.deepEqual(steps, [
    { ...entry, keys, booked: true },
    { ...entry, keys, bytes: bytesOf(1), attempted: false },
    { ...entry, keys, bytes: sealed, id: idOf(1), attempted: true },
  ]);
  assert.deepEqual(await device.all(), [{ ...entry, id: idOf(1), status: "relayed", left: "unknown" }]);
  assert.deepEqual(one.made, [{ record: RECORD, options: { id: undefined } }]);
  // From now on nothing is made or sent.
  assert.deepEqual(await ledger.send(watching, RECORD, TO), outcome);
  assert.deepEqual(await ledger.flush(), []);
  assert.deepEqual([posts.length, gets.length, one.made.length], [1, 1, 1]);
  const { origin } = new URL(RELAY);
  const [state] = (await ledger.status()).reports;
  assert.deepEqual(state, { taskDigest, origin, guarantee, period: undefined, state: "relayed", error: undefined });
});

test("a report that left, or may have left, is withdrawn as one that may count; before that as one that never does", async (t) => {
  let answers = down;
  let list = down;
  const { posts, device, ledger } = await leaving(t, () => answers(), () => list());
  const withdrawal = (number, sent) => ({ taskDigest: digestOf(number), id: idOf(number), sent });
  const stateOf = async (number) => (await ledger.status()).reports[number - 1].state;
  // Nothing but the key was asked for, which does not depend on the report.
  const { status, error } = await ledger.send(randomizerOf(1), RECORD, TO);
  assert.deepEqual([status, error.code, posts.length], ["pending", "network", 0]);
  assert.deepEqual(await ledger.withdraw(digestOf(1)), withdrawal(1, false));
  list = () => new Response(keys);
  assert.equal((await ledger.send(randomizerOf(2), RECORD, TO)).status, "pending");
  assert.equal(posts.length, 1);
  assert.deepEqual(await ledger.withdraw(digestOf(2)), withdrawal(2, "unknown"));
  answers = () => new Response(null, { status: 202 });
  await ledger.send(randomizerOf(3), RECORD, TO);
  for (let times = 0; times < 2; times += 1) {
    assert.deepEqual(await ledger.withdraw(digestOf(3)), withdrawal(3, "unknown"));
    assert.equal(await stateOf(3), "relayed");
  }
  assert.deepEqual([await stateOf(1), await stateOf(2), await ledger.flush()], ["withdrawn", "withdrawn", []]);
  for (const number of [1, 2]) assert.equal((await ledger.send(randomizerOf(number), RECORD, TO)).error.code, "spent");
  assert.equal(posts.length, 2);
  for (const { bytes, keys } of await device.all()) assert.deepEqual([bytes, keys], [undefined, undefined]);
});

test("every attempt, in later visits too, sends the bytes that were sealed first, and asks for no key again", async (t) => {
  let works = false;
  const answer = () => (works ? new Response(null, { status: 202 }) : down());
  const { posts, gets, device, ledger: first } = await leaving(t, answer);
  assert.equal((await first.send(randomizerOf(1), RECORD, { ...TO, retries: 2, delay: 0 })).status, "pending");
  for (let visit = 0; visit < 2; visit += 1) {
    const ledger = await openOn(device, {}, PLAIN);
    const [{ status, id }] = await ledger.flush({ retries: 0 });
    assert.deepEqual([status, id], ["pending", idOf(1)]);
  }
  works = true;
  // At another address of the same relay.
  const last = await openOn(device, {}, PLAIN);
  const relay = "https://relay.example/other";
  assert.equal((await last.send(randomizerOf(1), { height: 1 }, { relay })).status, "relayed");
  const places = [...Array(5).fill(`${RELAY}/reports`), `${relay}/reports`];
  assert.deepEqual(posts, places.map((place) => [place, posts[0][1]]));
  assert.equal(gets.length, 1);
});

test("what happens to the report while its key comes is seen before it leaves", async (t) => {
  const device = newDevice();
  const other = await openOn(device, {}, PLAIN);
  const { posts } = relayed(t, undefined, async () => {
    await other.withdraw(digestOf(1));
    return new Response(keys);
  });
  const ledger = await openOn(device, {}, PLAIN);
  const { status, error } = await ledger.send(randomizerOf(1), RECORD, TO);
  assert.deepEqual([status, error.code, posts], ["refused", "spent", []]);
  const [{ left }] = await device.all();
  assert.equal(left, false);
});

test("with another key than the page's own the report waits as it was", async (t) => {
  const { posts, device, ledger } = await leaving(t);
  const { status, error } = await ledger.send(randomizerOf(1), RECORD, { ...TO, keys: others });
  assert.deepEqual([status, error.code], ["pending", "answer"]);
  // The key is kept for the calls that give none, and for the visits that follow.
  assert.equal((await ledger.send(randomizerOf(1), RECORD, TO)).error.code, "answer");
  const [later] = await (await openOn(device, {}, PLAIN)).flush({ retries: 0 });
  assert.deepEqual([later.error.code, posts], ["answer", []]);
  assert.equal((await ledger.send(randomizerOf(1), RECORD, { ...TO, keys })).status, "relayed");
});

test("what a relay refuses for good is refused, with the sealed bytes, until it is sent once more", async (t) => {
  const problem = JSON.stringify({ type: "urn:ldp-pca:problem:body-length", detail: "too long" });
  const refused = (count) => (count > 1 ? new Response(null, { status: 202 }) : new Response(problem, { status: 400 }));
  const { posts, gets, ledger } = await leaving(t, refused);
  const { status, error } = await ledger.send(randomizerOf(1), RECORD, TO);
  assert.deepEqual([status, error.code, error.type], ["refused", "refused", "body-length"]);
  assert.equal((await ledger.status()).reports[0].state, "refused");
  assert.deepEqual(await ledger.flush(), []);
  assert.equal((await ledger.send(randomizerOf(1), RECORD, TO)).status, "relayed");
  assert.deepEqual([posts[0], gets.length], [posts[1], 1]);
});

test("a relay that leads elsewhere leaves the report waiting, and nobody else is asked", async (t) => {
  const elsewhere = () => new Response(null, { status: 307, headers: { location: url } });
  for (const [list, count] of [[elsewhere, 0], [undefined, 1]]) {
    const { ledger, posts } = await leaving(t, elsewhere, list);
    const { status, error } = await ledger.send(randomizerOf(1), RECORD, TO);
    assert.deepEqual([status, error.code, posts.length], ["pending", "network", count]);
    assert.match(error.message, /^https:\/\/relay\.example\/of\/it\/\w+ redirects: give the address of the server/);
    assert.equal((await ledger.status()).reports[0].state, "pending");
    for (const { arguments: [, { redirect }] } of fetch.mock.calls) assert.equal(redirect, "manual");
    t.mock.restoreAll();
  }
});

test("a part of the client that does not load, or not in time, leaves the report pending", async (t) => {
  const cause = new TypeError("offline");
  const failing = async () => { throw failure("network", "relay.js does not load", { cause }); };
  const device = newDevice();
  for (const [number, loadRelay] of [[1, failing], [2, () => new Promise(() => {})]]) {
    const ledger = await openOn(device, {}, { ...PLAIN, loadRelay });
    const { status, error } = await ledger.send(randomizerOf(number), RECORD, { ...TO, deadline: 50 });
    assert.ok(error instanceof SubmitError);
    assert.deepEqual([status, error.code], ["pending", "network"]);
  }
  const { posts } = relayed(t);
  const outcomes = await (await openOn(device, {}, PLAIN)).flush();
  assert.deepEqual([outcomes.map(({ status }) => status), posts.length], [["relayed", "relayed"], 2]);
});

test("a page that showed the aggregator who takes part books nothing", async (t) => {
  const { posts, gets, ledger } = await leaving(t);
  asked.add(digestOf(1));
  t.after(() => asked.delete(digestOf(1)));
  await assert.rejects(ledger.send(randomizerOf(1), RECORD, TO), { code: "argument", message: /Task\.parse/ });
  assert.deepEqual([(await ledger.status()).reports, posts, gets], [[], [], []]);
});

test("what waits for a relay is not sent in a page that showed the aggregator who takes part since", async (t) => {
  const device = newDevice();
  let answer = down;
  const { posts } = relayed(t, () => answer());
  await (await openOn(device, {}, PLAIN)).send(randomizerOf(1), RECORD, TO);
  answer = () => new Response(null, { status: 202 });
  asked.add(digestOf(1));
  t.after(() => asked.delete(digestOf(1)));
  const ledger = await openOn(device, {}, PLAIN);
  assert.deepEqual([await ledger.flush(), posts.length], [[], 1]);
  assert.deepEqual((await ledger.status()).reports.map(({ state }) => state), ["pending"]);
  asked.delete(digestOf(1));
  assert.deepEqual([(await ledger.flush()).map(({ status }) => status), posts.length], [["relayed"], 2]);
});

test("a page that cannot seal is told, and nothing leaves it", async (t) => {
  const { posts, ledger } = await leaving(t);
  instead(t, "crypto", {});
  await assert.rejects(ledger.send(randomizerOf(1), RECORD, TO), EntropyError);
  assert.deepEqual([(await ledger.withdraw(digestOf(1))).sent, posts], [false, []]);
});

test("what waits for an aggregator goes to no relay, and what waits for a relay to no aggregator", async (t) => {
  let list = down;
  const { posts, ledger } = await leaving(t, down, () => list());
  await ledger.report(randomizerOf(1), RECORD, { url });
  const named = new RegExp(`task ${digestOf(1)} was promised to ${url}: `);
  await assert.rejects(ledger.send(randomizerOf(1), RECORD, { relay: url }), { code: "destination", message: named });
  // Before it is sealed, and afterwards.
  for (const number of [2, 3]) {
    assert.equal((await ledger.send(randomizerOf(number), RECORD, TO)).status, "pending");
    assert.equal(posts.length, number - 2);
    const message = /promised to https:\/\/relay\.example\/of\/it: send it there/;
    const expected = { name: "LedgerError", code: "destination", message };
    for (const plain of [RELAY, url]) {
      await assert.rejects(ledger.send(randomizerOf(number), RECORD, { url: plain, id: undefined }), expected);
      await assert.rejects(ledger.report(randomizerOf(number), RECORD, { url: plain }), expected);
    }
    list = () => new Response(keys);
  }
});

/** Two waves of one campaign, asked for in turn, while a report of the second is still being made. */
test("a wave that was ever promised to a place goes to no other, whatever wave was asked for since", async (t) => {
  campaigns[digestOf(12)] = digestOf(11);
  t.after(() => delete campaigns[digestOf(12)]);
  const failing = slowOf(11, () => Promise.reject(new Error("no record")));
  const one = randomizerOf(12);
  let made;
  const slow = { ...one, randomize: () => new Promise((resolve) => (made = () => resolve(one.randomize()))) };
  const to = [];
  const deliver = async (report, options) => {
    to.push(options.url);
    throw failure("network", "down");
  };
  const device = newDevice();
  const { posts } = relayed(t, undefined, () => new Response(null, { status: 500 }));
  const ledger = await openOn(device, {}, { deliver });
  await assert.rejects(ledger.send(failing, RECORD, TO), /no record/);
  const sending = ledger.send(slow, RECORD, TO);
  while (!made) await new Promise((resolve) => setImmediate(resolve));
  await assert.rejects(ledger.send(failing, RECORD, TO), /no record/);
  const elsewhere = { code: "destination", message: /relay\.example/ };
  await assert.rejects(ledger.send(one, RECORD, { url, id: undefined, retries: 0 }), elsewhere);
  made();
  assert.equal((await sending).status, "pending");
  await (await openOn(device, {}, { deliver })).flush({ retries: 0 });
  assert.deepEqual([posts, to], [[], []], "the relay has no key, and so gets nothing");
});

test("an empty address of a relay is no address of an aggregator", async (t) => {
  instead(t, "document", { baseURI: "https://page.example/survey/" });
  const ledger = await openOn(newDevice(), {}, PLAIN);
  const { status } = await ledger.send(randomizerOf(1), RECORD, { relay: "", retries: 0, deadline: 50 });
  assert.equal(status, "pending");
});

test("a server that was asked for a task was asked, whatever it answers and wherever it leads", async (t) => {
  const own = "https://page.example";
  instead(t, "location", { origin: own, href: `${own}/survey/` });
  const parse = () => ({ digest: digestOf(24) });
  const answers = (response) => t.mock.method(globalThis, "fetch", async () => response);
  answers(new Response("no", { status: 500 }));
  await assert.rejects(fetchTask(parse, `${url}tasks/1`, { digest: digestOf(23) }), { code: "fetch" });
  assert.ok(asked.has(digestOf(23)));
  const task = () => new Response("{}", { headers: { "content-type": "application/json" } });
  const led = (address) => Object.defineProperty(task(), "url", { value: address });
  for (const [from, to, isAsked] of [
    ["task.json", `${own}/survey/task.json`, false],
    [`${own}/task.json`, `${own}/task.json`, false],
    ["task.json", `${url}tasks/1`, true],
    [`${url}tasks/1`, `${own}/task.json`, true],
    [new URL(`${url}tasks/1`), `${url}tasks/1`, true],
  ]) {
    asked.delete(digestOf(24));
    answers(led(to));
    await fetchTask(parse, from);
    assert.equal(asked.has(digestOf(24)), isAsked, `${from} ${to}`);
  }
});
