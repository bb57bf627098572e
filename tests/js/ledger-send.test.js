// Deliveries of a ledger: step by step, with an aggregator and a device that the test controls.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { failure, LedgerError, SubmitError } from "../../pkg/errors.js";
import { PrivacyLedger } from "../../pkg/ledger.js";
import { instead } from "./globals.js";
import {
  aborted, accepted, bytesOf, digestOf, down, entryOf, expired, idOf, newDevice, openOn, OWN, randomizerOf, slowOf, url,
} from "./ledger-tools.js";
import { rejects } from "./throws.js";

const RECORD = { height: 181 };
const turns = async (count = 5) => {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

// Node does not wait for a signal that ends by itself.
const awake = setInterval(() => {}, 1000);
after(() => clearInterval(awake));

/** `Promise.withResolvers`, which Node 20 lacks. */
function held() {
  const parts = {};
  parts.promise = new Promise((resolve, reject) => Object.assign(parts, { resolve, reject }));
  return parts;
}

/** An aggregator that answers with `verdict()`, and notes what came. */
function aggregator(verdict = accepted) {
  const calls = [];
  const deliver = async (report, options, between) => {
    calls.push({ report, options, between });
    return verdict(calls.length, report, options, between);
  };
  return { calls, deliver };
}

/** A ledger on a device, whose reports go to an aggregator that answers with `verdict()`. */
async function sending(verdict, device = newDevice()) {
  const { calls, deliver } = aggregator(verdict);
  return { calls, deliver, device, ledger: await openOn(device, {}, { deliver }) };
}

/** Notes how long the signals last that end by themselves; `lasting` says what they last instead. */
function signals(t, lasting = (milliseconds) => milliseconds) {
  const asked = [];
  const real = AbortSignal.timeout.bind(AbortSignal);
  t.mock.method(AbortSignal, "timeout", (milliseconds) => {
    asked.push(milliseconds);
    return real(lasting(milliseconds));
  });
  return asked;
}

test("a report is booked, made, kept, and sent, in this order, and nothing of the record is kept", async () => {
  const device = newDevice();
  const steps = [];
  const { calls, ledger } = await sending(async () => {
    steps.push(await device.all());
    return accepted();
  }, device);
  const one = randomizerOf(1, 2, 1e-7);
  const { randomize, taskDigest } = one;
  const watching = { ...one, randomize: async (...given) => (steps.push(await device.all()), randomize(...given)) };
  assert.equal(ledger.persistent, true);
  const outcome = await ledger.send(watching, RECORD, OWN);
  assert.deepEqual(outcome, { taskDigest, id: idOf(1), status: "accepted" });
  const entry = entryOf(one);
  assert.deepEqual(steps, [[{ ...entry, booked: true }], [{ ...entry, bytes: bytesOf(1), attempted: true }]]);
  assert.deepEqual(await device.all(), [{ ...outcome, ...entry }]);
  assert.deepEqual([calls.length, calls[0].report.bytes, calls[0].options.url], [1, bytesOf(1), url]);
  assert.deepEqual(one.made, [{ record: RECORD, options: { id: undefined } }]);
  // From now on nothing is made, booked or sent.
  assert.deepEqual(await ledger.send(watching, RECORD, OWN), { ...outcome, status: "duplicate" });
  assert.deepEqual(await ledger.flush(), []);
  assert.deepEqual([calls.length, one.made.length], [1, 1]);
  const sent = `this device's one report of task ${taskDigest} was sent`;
  await rejects(ledger.report(watching, RECORD, { url }), "spent", sent);
  assert.deepEqual(await ledger.withdraw(taskDigest), { taskDigest, id: idOf(1), sent: true });
  assert.deepEqual(await device.all(), [{ ...outcome, ...entry }]);
});

test("the id is what the page gives, also late or none, or else asked for with what is left of the time", async (t) => {
  t.mock.method(performance, "now", () => 1000);
  const asked = [];
  const issuedId = async (task, options) => (asked.push([task, options]), idOf(7));
  const { deliver } = aggregator();
  const ledger = await openOn(newDevice(), {}, { deliver, issuedId });
  const ones = [1, 2, 3, 4].map((number) => randomizerOf(number));
  await ledger.send(ones[0], RECORD, { url: `${url}of/it` });
  await ledger.send(ones[1], RECORD, { url, id: Promise.resolve(idOf(9)) });
  await ledger.send(ones[2], RECORD, { url, id: undefined });
  await ledger.report(ones[3], RECORD, { url, id: Promise.resolve(idOf(5)) });
  assert.deepEqual(ones.map(({ made }) => made[0].options.id), [idOf(7), idOf(9), undefined, idOf(5)]);
  const [[task, { url: to, deadline, signal }], ...others] = asked;
  assert.deepEqual([task, to, deadline, others], [{ digest: digestOf(1) }, `${url}of/it`, 60_000, []]);
  assert.ok(signal instanceof AbortSignal);
});

test("what is asked for of the network is passed on, and the time that is left, which is never less than none", async (t) => {
  const { calls, ledger } = await sending();
  let now = 1000;
  t.mock.method(performance, "now", () => now);
  await ledger.send(randomizerOf(1), RECORD, { ...OWN, retries: 7, timeout: 8, deadline: 9000 });
  const { retries, timeout, deadline } = calls[0].options;
  assert.deepEqual([retries, timeout, deadline], [7, 8, 9000]);
  const slow = slowOf(2, (...given) => ((now += 2500), randomizerOf(2).randomize(...given)));
  await ledger.send(slow, RECORD, { ...OWN, deadline: 9000 });
  assert.equal(calls[1].options.deadline, 6500);
  const late = slowOf(3, (...given) => ((now += 9001), randomizerOf(3).randomize(...given)));
  await ledger.send(late, RECORD, { ...OWN, deadline: 9000 });
  assert.equal(calls[2].options.deadline, 0);
  await assert.rejects(ledger.send(randomizerOf(4), RECORD, { ...OWN, deadline: -1 }), { code: "argument" });
  assert.equal((await ledger.status()).reports.length, 3, "what makes no sense books nothing");
});

test("a signal that has aborted books nothing; one that aborts later leaves what is booked for another time", async () => {
  const { calls, deliver, device, ledger } = await sending();
  const is = (reason) => (error) => error === reason;
  const reason = new Error("changed my mind");
  await assert.rejects(ledger.send(randomizerOf(1), RECORD, { ...OWN, signal: AbortSignal.abort(reason) }), is(reason));
  assert.deepEqual([await device.all(), calls.length], [[], 0]);
  // While it is made.
  const making = held();
  const slow = slowOf(1, () => making.promise);
  const controller = new AbortController();
  const sent = ledger.send(slow, RECORD, { ...OWN, signal: controller.signal });
  await turns();
  controller.abort(reason);
  await assert.rejects(sent, is(reason));
  making.resolve(randomizerOf(1).randomize(RECORD));
  await turns();
  assert.equal((await ledger.status()).reports[0].state, "booked", "what was made in vain is not kept");
  // While it is booked.
  const early = new AbortController();
  const { change } = device;
  device.change = (edit) => (early.abort(reason), change(edit));
  const never = slowOf(2, () => new Promise(() => {}));
  await assert.rejects(ledger.send(never, RECORD, { ...OWN, signal: early.signal }), is(reason));
  device.change = change;
  // While it is sent.
  const waiting = aggregator((count, report, options) => aborted(options));
  const other = await openOn(device, {}, { deliver: waiting.deliver });
  const last = new AbortController();
  const leaving = other.send(randomizerOf(1), RECORD, { ...OWN, signal: last.signal });
  await turns();
  assert.equal(waiting.calls.length, 1);
  last.abort(reason);
  await assert.rejects(leaving, is(reason));
  assert.deepEqual(await ledger.withdraw(digestOf(1)), { taskDigest: digestOf(1), id: idOf(1), sent: "unknown" });
});

test("a delivery that takes too long is pending where there is a report, and an error where there is none", async (t) => {
  const asked = signals(t, (milliseconds) => (milliseconds === 5000 ? milliseconds : 20));
  // Another tab keeps its turn.
  instead(t, "navigator", { locks: { request: (name, options) => aborted(options) } });
  const { calls, ledger } = await sending();
  const { taskDigest } = randomizerOf(1);
  const { error, ...outcome } = await ledger.send(randomizerOf(1), RECORD, OWN);
  assert.deepEqual(outcome, { taskDigest, id: idOf(1), status: "pending", retryAfter: undefined, retryOn: "flush" });
  assert.ok(error instanceof SubmitError);
  assert.deepEqual(
    [error.code, error.message, error.cause.name],
    ["network", "sending took over 60000 ms", "TimeoutError"],
  );
  const never = slowOf(2, () => new Promise(() => {}));
  await rejects(ledger.send(never, RECORD, { ...OWN, deadline: 4321 }), "network", "sending took over 4321 ms");
  assert.deepEqual([asked, calls], [[60_000, 5000, 4321], []]);
});

test("what an aggregator refuses for good is refused, with its error, until it is sent once more", async () => {
  let error = expired();
  const { calls, device, ledger } = await sending(() => {
    if (error) throw error;
    return accepted();
  });
  const { taskDigest } = randomizerOf(1);
  const outcome = await ledger.send(randomizerOf(1), RECORD, OWN);
  assert.deepEqual(outcome, { taskDigest, id: idOf(1), status: "refused", error });
  const { reports } = await ledger.status();
  const { state, error: kept } = reports[0];
  assert.ok(kept instanceof SubmitError);
  assert.deepEqual(
    [state, kept.code, kept.message, kept.status, kept.type],
    ["refused", "refused", "the task has expired", 403, "task-expired"],
  );
  assert.deepEqual(await ledger.flush(), []);
  // Sent once more, and the network is down.
  error = down();
  assert.equal((await ledger.send(randomizerOf(1), RECORD, OWN)).status, "pending");
  assert.deepEqual(await device.all(), [{ ...entryOf(randomizerOf(1)), bytes: bytesOf(1), attempted: true }]);
  error = undefined;
  assert.deepEqual(await ledger.flush(), [{ taskDigest, id: idOf(1), status: "accepted" }]);
  assert.equal(calls.length, 3);
});

test("other failures leave the report pending, with the error and the retry time; a bug is thrown", async () => {
  const busy = failure("rate-limit", "busy", { status: 429, retryAfter: 12 });
  let error = busy;
  const { deliver, device, ledger } = await sending(() => { throw error; });
  const { taskDigest } = randomizerOf(1);
  const outcome = { taskDigest, id: idOf(1), status: "pending", error: busy, retryAfter: 12, retryOn: "flush" };
  assert.deepEqual(await ledger.send(randomizerOf(1), RECORD, OWN), outcome);
  assert.deepEqual(await ledger.flush(), [outcome]);
  error = new TypeError("a fault of ours");
  await assert.rejects(ledger.flush(), (thrown) => thrown === error);
  // An error of the network before there is a report.
  const issuedId = async () => Promise.reject(down());
  const early = await openOn(device, {}, { deliver, issuedId });
  await assert.rejects(early.send(randomizerOf(2), RECORD, { url }), { code: "network" });
  const refusing = await openOn(device, {}, { deliver, issuedId: async () => Promise.reject(expired()) });
  const refused = await refusing.send(randomizerOf(2), RECORD, { url });
  assert.deepEqual([refused.status, refused.id, refused.error.type], ["refused", undefined, "task-expired"]);
  assert.equal((await ledger.status()).reports[1].state, "booked");
});

test("the report goes where the page says last at its origin, as it is, and an address is absolute", async () => {
  const { calls, device, ledger } = await sending((count) => {
    if (count < 3) throw down();
    return accepted();
  });
  const first = await ledger.report(randomizerOf(1), RECORD, { url: " https://one.example " });
  assert.equal((await device.all())[0].url, "https://one.example/");
  assert.equal((await device.all())[0].attempted, false);
  await ledger.flush({ url: "https://elsewhere.example/" });
  const second = await ledger.report(randomizerOf(1), { height: 1 }, { url: "https://one.example/two" });
  assert.equal((await device.all())[0].attempted, true, "an attempt stays one");
  await ledger.flush();
  await ledger.send(randomizerOf(1), RECORD, { url: new URL("https://one.example/three") });
  assert.deepEqual(
    calls.map(({ options }) => options.url),
    ["", "two", "three"].map((path) => `https://one.example/${path}`),
  );
  assert.deepEqual([second.bytes, ...calls.map(({ report }) => report.bytes)], Array(4).fill(first.bytes));
});

test("a report that is withdrawn before it went anywhere was not sent, and is gone", async () => {
  const { calls, device, ledger } = await sending();
  const { taskDigest, guarantee } = randomizerOf(1);
  await ledger.report(randomizerOf(1), RECORD, { url });
  const outcome = { taskDigest, id: idOf(1), sent: false };
  assert.deepEqual(await ledger.withdraw(taskDigest), outcome);
  const entry = entryOf(randomizerOf(1));
  assert.deepEqual(await device.all(), [{ ...entry, id: idOf(1), withdrawn: true, left: false }]);
  assert.deepEqual(await ledger.withdraw(taskDigest), outcome);
  const { origin } = new URL(url);
  const state = { taskDigest, origin, period: undefined, guarantee, state: "withdrawn", error: undefined };
  assert.deepEqual((await ledger.status()).reports, [state]);
  const again = await ledger.send(randomizerOf(1), RECORD, OWN);
  assert.deepEqual([again.status, again.error.code, again.id], ["refused", "spent", idOf(1)]);
  assert.ok(again.error instanceof LedgerError);
  assert.match(again.error.message, /^this device's one report of task 0+1 was withdrawn: its budget stays spent$/);
  await assert.rejects(ledger.report(randomizerOf(1), RECORD, { url }), { code: "spent" });
  // One that was never made has no id.
  await assert.rejects(ledger.report(slowOf(2, () => Promise.reject(down())), RECORD, { url }), { code: "network" });
  assert.deepEqual(await ledger.withdraw(digestOf(2)), { taskDigest: digestOf(2), id: undefined, sent: false });
  assert.deepEqual(await ledger.withdraw(digestOf(3)), { taskDigest: digestOf(3), id: undefined, sent: false });
  assert.deepEqual([(await device.all()).length, calls.length], [2, 0]);
});

test("withdrawing stops what this tab makes and sends for the task, and nothing of another task", async () => {
  const { calls, ledger } = await sending((count, report, options) => aborted(options));
  const flights = [1, 2].map((number) => ledger.send(randomizerOf(number), RECORD, OWN));
  const making = held();
  flights.push(ledger.send(slowOf(3, () => making.promise), RECORD, OWN));
  await turns();
  assert.equal(calls.length, 2);
  for (const number of [1, 3])
    assert.equal((await ledger.withdraw(digestOf(number))).sent, number === 1 ? "unknown" : false);
  making.resolve(randomizerOf(3).randomize(RECORD));
  const [first, third] = await Promise.all([flights[0], flights[2]]);
  for (const [outcome, id] of [[first, idOf(1)], [third, undefined]]) {
    assert.deepEqual([outcome.status, outcome.id, outcome.error.code], ["refused", id, "spent"]);
    assert.match(outcome.error.message, /withdrawn/);
  }
  assert.equal(calls[1].options.signal.aborted, false);
  await turns();
  assert.deepEqual((await ledger.status()).reports.map(({ state }) => state), ["withdrawn", "pending", "withdrawn"]);
  await ledger.withdraw(digestOf(2));
  assert.equal((await flights[1]).status, "refused");
});

test("a flight that is over is stopped by nobody", async () => {
  const { calls, ledger } = await sending(() => { throw down(); });
  await ledger.send(randomizerOf(1), RECORD, OWN);
  await ledger.withdraw(digestOf(1));
  assert.equal(calls[0].options.signal.aborted, false);
});

test("what another tab does to the task counts here, before each attempt and at the end", async () => {
  for (const [state, expected] of [
    [{ id: idOf(1), status: "accepted" }, { status: "accepted" }],
    [{ withdrawn: true, id: idOf(1) }, { status: "refused", code: "spent" }],
    [
      { bytes: bytesOf(1), refused: { code: "refused", message: "expired", type: "task-expired" } },
      { status: "refused", code: "refused" },
    ],
  ]) {
    for (const when of ["while it is made", "between attempts"]) {
      const device = newDevice();
      const entry = entryOf(randomizerOf(1));
      const meddle = () => device.put({ ...entry, ...state });
      const { calls, ledger } = await sending(async (count, report, options, between) => {
        await meddle();
        return { status: await between(), attempts: 2 };
      }, device);
      const slow = slowOf(1, async (...given) => (await meddle(), randomizerOf(1).randomize(...given)));
      const outcome = await ledger.send(when === "between attempts" ? randomizerOf(1) : slow, RECORD, OWN);
      assert.deepEqual(
        [outcome.status, outcome.error?.code, outcome.id],
        [expected.status, expected.code, idOf(1)],
        when,
      );
      assert.equal(calls.length, when === "between attempts" ? 1 : 0);
      const [kept, ...others] = await device.all();
      assert.deepEqual(others, []);
      if (outcome.error) assert.deepEqual(kept, { ...entry, ...state }, "as the other tab left it");
    }
  }
});

test("an answer that nothing is to be sent again keeps what another tab has done", async () => {
  for (const state of [{ withdrawn: true, id: idOf(1) }, { id: idOf(1), status: "accepted" }]) {
    const device = newDevice();
    const entry = { ...entryOf(randomizerOf(1)), ...state };
    const { ledger } = await sending(async () => {
      await device.put(entry);
      throw expired();
    }, device);
    assert.equal((await ledger.send(randomizerOf(1), RECORD, OWN)).status, "refused");
    assert.deepEqual(await device.all(), [entry]);
  }
});

test("of two tabs at once both send the report of the first", async () => {
  const device = newDevice();
  const { calls, deliver } = aggregator();
  const tabs = await Promise.all([1, 2].map(() => openOn(device, {}, { deliver })));
  const [first, second] = [held(), held()];
  const sending = [first, second].map(({ promise }, index) =>
    tabs[index].send(slowOf(1, () => promise), RECORD, OWN),
  );
  await turns();
  second.resolve(randomizerOf(1).randomize(RECORD));
  await turns();
  const other = randomizerOf(1);
  const bytes = bytesOf(1);
  bytes[0] = 77;
  first.resolve({ ...other.randomize(RECORD), bytes });
  await assert.rejects(sending[0], { code: "argument" }, "a value that is not a report is not kept");
  assert.equal((await sending[1]).status, "accepted");
  assert.deepEqual(calls.map(({ report }) => report.bytes), [bytesOf(1)]);
  // Data that is deleted meanwhile comes back with the report.
  const lost = newDevice();
  const ledger = await openOn(lost, {}, { deliver: aggregator(() => { throw down(); }).deliver });
  const deleting = slowOf(2, (...given) => {
    lost.change = newDevice().change;
    return randomizerOf(2).randomize(...given);
  });
  assert.equal((await ledger.send(deleting, RECORD, OWN)).status, "pending");
  const kept = { ...entryOf(randomizerOf(2)), bytes: bytesOf(2), attempted: true };
  assert.deepEqual(await lost.change((entries) => entries), [kept]);
});

test("what cannot be noted does not change the outcome", async () => {
  for (const [verdict, status] of [
    [accepted, "accepted"],
    [() => { throw expired(); }, "refused"],
  ]) {
    const device = newDevice();
    const { ledger } = await sending(() => {
      device.change = () => Promise.reject(failure("storage", "full"));
      return verdict();
    }, device);
    assert.equal((await ledger.send(randomizerOf(1), RECORD, OWN)).status, status);
  }
});

test("sending takes three writes, and the last is on the disk before the outcome is reported", async () => {
  for (const [verdict, state] of [
    [accepted, "sent"],
    [() => { throw expired(); }, "refused"],
  ]) {
    const device = newDevice();
    const { change } = device;
    let writes = 0;
    // As slow as a disk.
    device.change = async (edit) => {
      await turns(2);
      return change((entries, { put }) => edit(entries, { put: (entry) => ((writes += 1), put(entry)) }));
    };
    const ledger = await openOn(device, {}, { deliver: aggregator(verdict).deliver });
    await ledger.send(randomizerOf(1), RECORD, OWN);
    const [{ bytes, refused }] = await device.all();
    assert.deepEqual(
      [writes, bytes !== undefined, refused !== undefined],
      [3, state === "refused", state === "refused"],
    );
  }
});

test("one tab at a time sends a task's report, where there are locks; without its turn it sends in the end", async (t) => {
  let patience = 20;
  const asked = signals(t, (milliseconds) => (milliseconds === 5000 ? patience : milliseconds));
  const requests = [];
  let turn = (options, send) => send();
  instead(t, "navigator", {
    locks: { request: (name, options, send) => (requests.push([name, Object.keys(options)]), turn(options, send)) },
  });
  const { calls, deliver } = aggregator();
  const ledger = await openOn(newDevice(), { name: "of-mine" }, { deliver });
  const { taskDigest } = randomizerOf(1);
  assert.deepEqual(await ledger.send(randomizerOf(1), RECORD, OWN), { taskDigest, id: idOf(1), status: "accepted" });
  assert.deepEqual(requests, [[`of-mine/${taskDigest}`, ["signal"]]]);
  assert.deepEqual([asked, calls.length], [[60_000, 5000], 1]);
  // Another tab keeps its turn.
  turn = aborted;
  assert.equal((await ledger.send(randomizerOf(2), RECORD, OWN)).status, "accepted");
  assert.equal(calls.length, 2);
  // Nobody waits for it any more, or there is no turn for another reason.
  patience = 600_000;
  const controller = new AbortController();
  const left = ledger.send(randomizerOf(3), RECORD, { ...OWN, signal: controller.signal });
  await turns();
  controller.abort("no");
  assert.equal(await left.catch((reason) => reason), "no");
  turn = () => Promise.reject(new TypeError("no locks here"));
  await assert.rejects(ledger.send(randomizerOf(4), RECORD, OWN), { message: "no locks here" });
  assert.equal(calls.length, 2);
  // A ledger that forgets is of one tab.
  const denying = { openDatabase: () => Promise.reject("none") };
  const forgetful = await openOn(denying, { onStorageDenied: () => true }, { deliver });
  assert.equal(forgetful.persistent, false);
  await forgetful.send(randomizerOf(1), RECORD, OWN);
  assert.deepEqual([requests.length, calls.length], [4, 3]);
  // On a host with a navigator and no locks.
  delete globalThis.navigator.locks;
  assert.equal((await ledger.send(randomizerOf(5), RECORD, OWN)).status, "accepted");
});

test("when the device is back online a ledger flushes if its page wants that, until it is closed", async (t) => {
  const page = new EventTarget();
  instead(t, "addEventListener", page.addEventListener.bind(page));
  let works = false;
  const { calls, deliver } = aggregator(() => {
    if (!works) throw down();
    return accepted();
  });
  const device = newDevice();
  const flushed = [];
  const still = await openOn(device, {}, { deliver });
  const onFlush = (outcomes) => flushed.push(outcomes);
  const ledger = await openOn(device, { flushOnline: true, onFlush }, { deliver });
  const unasked = await openOn(device, { flushOnline: false, onFlush }, { deliver });
  assert.equal((await ledger.send(randomizerOf(1), RECORD, OWN)).retryOn, "online");
  assert.equal((await unasked.flush())[0].retryOn, "flush");
  calls.length = 0;
  works = true;
  page.dispatchEvent(new Event("online"));
  await turns();
  assert.deepEqual(flushed, [[{ taskDigest: digestOf(1), id: idOf(1), status: "accepted" }]]);
  assert.equal(calls.length, 1);
  // The storage's later failure is nobody's error.
  const { change } = device;
  device.change = () => Promise.reject(failure("storage", "gone"));
  page.dispatchEvent(new Event("online"));
  await turns();
  device.change = change;
  assert.deepEqual(flushed.length, 1);
  assert.equal(device.closed, 0);
  ledger.close();
  assert.equal(device.closed, 1);
  page.dispatchEvent(new Event("online"));
  await turns();
  assert.deepEqual(flushed.length, 1);
  still.close();
  assert.equal(device.closed, 2);
});

test("where storage is denied the page is asked, with the error, and only a plain yes opens one for the page", async () => {
  const asked = [];
  const cause = new TypeError("no storage here");
  const denying = { openDatabase: (name) => (asked.push(name), Promise.reject(cause)) };
  const remedy = "(let this site store data, or give onStorageDenied)";
  const words = `the ledger has no storage: TypeError: no storage here ${remedy}`;
  await rejects(openOn(denying), "storage", words, { cause });
  const errors = [];
  for (const answer of [false, undefined, "yes", 1]) {
    const onStorageDenied = async (error) => (errors.push(error), answer);
    await assert.rejects(openOn(denying, { onStorageDenied, name: "mine" }), (error) => error === errors.at(-1));
  }
  const ledger = await openOn(denying, { onStorageDenied: async () => true }, { deliver: aggregator().deliver });
  assert.equal(ledger.persistent, false);
  assert.equal((await ledger.send(randomizerOf(9), RECORD, OWN)).status, "accepted");
  ledger.close();
  assert.deepEqual(asked, ["ldp-pca", ...Array(4).fill("mine"), "ldp-pca"]);
  const again = await openOn(denying, { onStorageDenied: () => true }, { deliver: () => assert.fail("sent twice") });
  assert.equal((await again.send(randomizerOf(9), RECORD, OWN)).status, "duplicate");
  // Without words of its own.
  const silent = openOn({ openDatabase: () => Promise.reject(undefined) });
  await rejects(silent, "storage", `the ledger has no storage: the browser gave it up ${remedy}`);
  const own = failure("storage", "as it is");
  assert.equal(await openOn({ openDatabase: () => Promise.reject(own) }).catch((error) => error), own);
  assert.ok(await openOn(newDevice(), { onStorageDenied: () => assert.fail("there is storage") }));
  await assert.rejects(PrivacyLedger.open({ maxEpsilon: 1 }), { code: "storage", message: /indexedDB/ });
});
