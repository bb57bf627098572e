// Second waves: the client takes part in one where its page asked for the first, and nobody answers both.

import assert from "node:assert/strict";
import { afterEach, before, test } from "node:test";

import { asked, campaigns } from "../../pkg/checks.js";
import { init, PrivacyLedger, Randomizer, Task } from "../../pkg/inline.js";
import { Aggregator, OWN_IDS, Relay } from "../browser/aggregator.js";
import { until } from "../browser/pages.js";
import { answersUntilEnd } from "./answers.js";
import {
  aborted, accepted, bytesOf, digestOf, down, expired, idOf, newDevice, openOn, OWN, randomizerOf, slowOf, url,
} from "./ledger-tools.js";
import { LIMITS, RECORD, secondWave, SIGNED_CAP, TASK } from "./task.js";

/** The task of a second wave after `first`, with changes. */
function refining(first, { mechanism, ...changes } = {}) {
  const second = secondWave(first, Task.parse(first).digest);
  return { ...second, mechanism: { ...SIGNED_CAP, ...mechanism }, ...changes };
}

before(() => init());

/** A server of these documents, under their digests; `refined` is the header that comes with each. */
async function serving(t, documents, refined = {}) {
  const known = new Map(documents.map((document) => [Task.parse(document).digest, document]));
  const server = await answersUntilEnd(t, ({ url: path }, response) => {
    const [, digest] = path.match(/^\/survey\/tasks\/([^/]*)$/) ?? [];
    if (!known.has(digest)) return response.writeHead(404).end();
    response.setHeader("content-type", "application/json");
    if (refined[digest]) response.setHeader("refined-by", refined[digest]);
    response.end(JSON.stringify(known.get(digest)));
  });
  const asked = () => server.requests.splice(0).map((request) => request.url.split("/").pop());
  return { asked, of: (digest) => `${server.url}/survey/tasks/${digest}`, server };
}

/** A first and a second wave on a server, and their digests. */
async function waves(t, first, second) {
  const digests = [first, second].map((document) => Task.parse(document).digest);
  const [one, two] = digests;
  return { digests, ...(await serving(t, [first, second], { [one]: two, [two]: two })) };
}

test("a page that asks for the first wave gets the second when it is open, and no other page does", async (t) => {
  const { asked, digests: [one, two], of } = await waves(t, TASK, refining(TASK));
  const task = await Task.fetch(of(one), { digest: one });
  assert.deepEqual([task.digest, task.campaign, task.toJSON().mechanism], [two, one, SIGNED_CAP]);
  assert.deepEqual(asked(), [one, two]);
  assert.equal(new Randomizer(task, LIMITS).randomize(RECORD).taskDigest, two);
  for (const [found, ...options] of [[one], [one, {}], [two], [two, {}]]) {
    const { campaign, digest } = await Task.fetch(new URL(of(found)), ...options);
    assert.deepEqual([digest, campaign, asked()], [found, found === two ? one : undefined, [found]]);
  }
  // Of a smaller epsilon, too.
  const smaller = await waves(t, TASK, refining(TASK, { mechanism: { epsilon: 1.5 } }));
  const [first] = smaller.digests;
  assert.equal((await Task.fetch(smaller.of(first), { digest: first })).guarantee.epsilon, 1.5);
  // The page's limits hold for it.
  assert.throws(() => new Randomizer(task, { maxEpsilon: 1.9 }), { code: "max-epsilon" });
});

test("a second wave that is not one of the task that was asked for is refused, and the rule is named", async (t) => {
  const other = { ...TASK, folds: 2 };
  const renamed = structuredClone(TASK);
  renamed.schema.columns[0].label = "Your height";
  const refinement = refining(TASK);
  const rule = /does not refine .*parent, schema, bounding and folds/;
  for (const [name, first, second, code = "digest", part = rule] of [
    ["another parent", TASK, refining(other, { folds: 1 })],
    ["no refinement", TASK, other],
    ["another schema", TASK, refining(TASK, { schema: renamed.schema })],
    ["another bounding", TASK, refining(TASK, { bounding: { type: "clip", radius: 1 } })],
    ["another period", TASK, refining(TASK, { period: "2026-W48" })],
    ["other folds", TASK, refining(TASK, { folds: 2 })],
    ["centring in the first", { ...TASK, centring: { weight: 0.5 } }, undefined],
    ["a third wave", refinement, refining(refinement)],
    ["another one of the same", refinement, refining(TASK, { mechanism: { epsilon: 1 } })],
    [
      "a larger epsilon",
      TASK,
      refining(TASK, { mechanism: { epsilon: 2.000001 } }),
      "max-epsilon",
      /^the second wave asks for epsilon 2\.000001, and this page allows 2$/,
    ],
  ]) {
    // Centring cannot be in the second.
    const { refinement, ...rest } = second ?? refining(first);
    const { centring, ...kept } = rest;
    const { asked, digests, of } = await waves(t, first, refinement ? { ...kept, refinement } : kept);
    const [one, two] = digests;
    const refused = Task.fetch(of(one), { digest: one });
    await assert.rejects(refused, { name: "TaskError", code, message: part }, name);
    assert.deepEqual(asked(), [one, two], name);
  }
});

test("a second wave that is missing, or another than its name, is refused, and no other server is asked", async (t) => {
  const other = await serving(t, [refining(TASK)]);
  const { digest } = Task.parse(TASK);
  const second = Task.parse(refining(TASK)).digest;
  for (const [header, code] of [
    ["0".repeat(64), "fetch"],
    [second.toUpperCase(), "fetch"],
    [other.of(second), "fetch"],
    [`//${other.of(second).slice(7)}`, "fetch"],
    [`../tasks/${second}`, "digest"],
    [`${second}?`, "digest"],
    [digest, "digest"],
  ]) {
    const { of } = await serving(t, [TASK, refining(TASK)], { [digest]: header });
    await assert.rejects(Task.fetch(of(digest), { digest }), { name: "TaskError", code }, header);
  }
  assert.deepEqual(other.asked(), []);
  // Another task under the second's name.
  const headers = { "content-type": "application/json", "refined-by": second };
  const named = { headers, body: JSON.stringify(TASK) };
  const lying = await answersUntilEnd(t, named);
  const wrong = new RegExp(`the task is ${digest}, and ${second} was meant`);
  await assert.rejects(Task.fetch(lying.url, { digest }), { code: "digest", message: wrong });
  assert.equal(lying.requests.length, 2);
  // A signal stops it between both.
  const stop = new AbortController();
  const slow = await answersUntilEnd(t, named, () => stop.abort("no"));
  assert.equal(await Task.fetch(slow.url, { digest, signal: stop.signal }).catch((reason) => reason), "no");
});

/** Three waves of one collection: 1 is the first, and 2 and 3 refine it. */
const WAVES = [1, 2, 3];
const CAMPAIGN = digestOf(1);

/** As if their tasks had been read on the page, or on no page. */
function known(are = true) {
  for (const wave of [2, 3]) {
    delete campaigns[digestOf(wave)];
    if (are) campaigns[digestOf(wave)] = CAMPAIGN;
  }
}

before(() => known());
afterEach(() => known());

/** How an entry of each state comes about, by its randomizer. */
const STATES = {
  booked: (ledger, one) =>
    ledger.report({ ...one, randomize: () => Promise.reject(down()) }, {}, { url }).catch(() => {}),
  pending: (ledger, one) => ledger.report(one, {}, { url }),
  refused: (ledger, one) => ledger.send(one, {}, OWN),
  sent: (ledger, one) => ledger.send(one, {}, OWN),
  withdrawn: async (ledger, one) => {
    await ledger.report(one, {}, { url });
    await ledger.withdraw(one.taskDigest);
  },
};

/** A device with an entry of a wave in this state; `verdict` is how its aggregator answers, `sent` what came to it. */
async function device(state, wave, epsilon = 1, limits = {}) {
  const sent = [];
  const network = { verdict: state === "refused" ? expired : undefined };
  const deliver = async (report) => {
    if (network.verdict) throw network.verdict();
    sent.push([report.taskDigest, report.bytes, report.guarantee.epsilon]);
    return accepted();
  };
  const storage = newDevice();
  const ledger = await openOn(storage, limits, { deliver });
  await STATES[state](ledger, randomizerOf(wave, epsilon));
  network.verdict = undefined;
  sent.length = 0;
  return { ledger, sent, storage, deliver };
}

test("whoever answered, booked or has a report of one wave has no second one in another", async () => {
  for (const answered of WAVES) {
    for (const asked of WAVES.filter((wave) => wave !== answered)) {
      const [one, two] = [digestOf(answered), digestOf(asked)];
      const first = { taskDigest: one, id: idOf(answered) };
      const bytes = [[one, bytesOf(answered), 1]];
      for (const [state, outcome, made, sent] of [
        ["booked", { taskDigest: two, id: idOf(asked), status: "accepted" }, 1, [[two, bytesOf(asked), 1]]],
        ["pending", { ...first, status: "accepted" }, 0, bytes],
        ["refused", { ...first, status: "accepted" }, 0, bytes],
        ["sent", { ...first, status: "duplicate" }, 0, []],
        ["withdrawn", { ...first, status: "refused" }, 0, []],
      ]) {
        const name = `${state}, ${answered}, ${asked}`;
        const { ledger, sent: came, storage } = await device(state, answered);
        assert.equal((await ledger.status()).reports[0].state, state, name);
        const randomizer = randomizerOf(asked);
        const { error, ...found } = await ledger.send(randomizer, {}, OWN);
        assert.deepEqual([found, error?.code], [outcome, state === "withdrawn" ? "spent" : undefined], name);
        assert.deepEqual([came, randomizer.made.length], [sent, made], name);
        // The entry is that of the collection, by whose digest the page knows it.
        const { epsilon, reports } = await ledger.status();
        const after = state === "withdrawn" ? state : "sent";
        assert.deepEqual(
          [epsilon, reports.map(({ taskDigest, state }) => [taskDigest, state])],
          [1, [[CAMPAIGN, after]]],
          name,
        );
        assert.equal((await storage.all()).length, 1);
        // Asked again, it is the same.
        for (const wave of WAVES) {
          const again = await ledger.send(randomizerOf(wave), {}, OWN);
          assert.equal(again.taskDigest, outcome.taskDigest, name);
          assert.match(again.status, /^(duplicate|refused)$/);
          await assert.rejects(ledger.report(randomizerOf(wave), {}, { url }), { code: "spent" });
        }
        assert.deepEqual(came, sent, name);
        // Another collection is another.
        await ledger.send(randomizerOf(4), {}, OWN);
        assert.equal((await ledger.status()).epsilon, 2, name);
      }
    }
  }
});

test("what is booked counts as the larger of the waves that were asked, once, and within the limits", async () => {
  for (const [first, second, most] of [[1, 2, 2], [2, 1, 2], [1.5, 1.5, 1.5]]) {
    const { ledger, sent } = await device("booked", 1, first, { maxEpsilon: 2 });
    await ledger.send(randomizerOf(2, second), {}, OWN);
    assert.equal((await ledger.status()).epsilon, most);
    assert.deepEqual(sent, [[digestOf(2), bytesOf(2), most]]);
    // What is left is for others.
    const left = randomizerOf(5, 2 - most || 2 ** -52);
    if (most < 2) await ledger.report(left, {}, { url });
    else await assert.rejects(ledger.report(left, {}, { url }), { code: "budget" });
  }
  const { ledger, sent } = await device("booked", 1, 1, { maxEpsilon: 1.9 });
  await assert.rejects(ledger.send(randomizerOf(2, 2), {}, OWN), { code: "budget", message: /spend epsilon 2,/ });
  const { epsilon, reports } = await ledger.status();
  assert.deepEqual([epsilon, reports[0].state], [1, "booked"], "nothing has changed");
  assert.equal((await ledger.send(randomizerOf(1), {}, OWN)).taskDigest, digestOf(1));
  assert.deepEqual(sent, [[digestOf(1), bytesOf(1), 1]]);
  // Deltas, too.
  const deltas = await openOn(newDevice(), { maxDelta: 3e-6 }, {});
  const failing = (...of) => STATES.booked(deltas, randomizerOf(...of));
  await failing(1, 1, 2e-6);
  await failing(2, 2, 0);
  await failing(3, 1, 1e-6);
  const { epsilon: all, delta } = await deltas.status();
  assert.deepEqual([all, delta], [2, 2e-6]);
});

test("a refinement of a refinement is a campaign of its own, and the budget counts it, whatever was read before", async (t) => {
  // Wave 4 refines wave 2, which refines CAMPAIGN.
  campaigns[digestOf(4)] = digestOf(2);
  t.after(() => delete campaigns[digestOf(4)]);
  for (const order of [[2, 4], [4, 2], [1, 4]]) {
    for (const are of [true, false]) {
      known(true);
      const { deliver, sent } = await device("booked", 9);
      const ledger = await openOn(newDevice(), { maxEpsilon: 2 }, { deliver });
      for (const wave of order) await ledger.send(randomizerOf(wave), {}, OWN);
      known(are);
      assert.equal((await ledger.status()).epsilon, 2);
      assert.deepEqual(sent, order.map((wave) => [digestOf(wave), bytesOf(wave), 1]));
      await assert.rejects(ledger.send(randomizerOf(6), {}, OWN), { code: "budget" });
    }
  }
});

test("of two waves that are asked at once, in two tabs, one has the report, and the larger epsilon counts", async () => {
  for (const quicker of [0, 1]) {
    const { deliver, sent, storage } = await device("booked", 9, 1);
    const tabs = [1, 2].map(() => openOn(storage, {}, { deliver }));
    const made = [];
    const answers = [1, 2].map(async (wave, index) => {
      const one = randomizerOf(wave, wave);
      const slow = async (record) => {
        await new Promise((resolve) => (made[index] = resolve));
        return one.randomize(record);
      };
      return (await tabs[index]).send({ ...one, randomize: slow }, {}, OWN);
    });
    await until(() => made[0] && made[1]);
    made[quicker]();
    await until(() => sent.length > 0);
    made[1 - quicker]();
    const outcomes = await Promise.all(answers);
    const wave = quicker + 1;
    assert.deepEqual(outcomes.map(({ taskDigest }) => taskDigest), Array(2).fill(digestOf(wave)));
    assert.deepEqual(outcomes.map(({ status }) => status).sort(), ["accepted", "accepted"]);
    assert.deepEqual(sent, [[digestOf(wave), bytesOf(wave), 2]]);
    assert.equal((await (await tabs[0]).status()).epsilon, 1 + 2);
  }
});

test("a wave's report is withdrawn by the digest of any wave, also where only the ledger knows of it", async () => {
  for (const answered of WAVES) {
    for (const asked of WAVES) {
      const { ledger, sent } = await device("pending", answered);
      const withdrawal = await ledger.withdraw(digestOf(asked));
      assert.deepEqual(withdrawal, { taskDigest: digestOf(answered), id: idOf(answered), sent: false });
      assert.deepEqual([await ledger.flush(), sent], [[], []]);
    }
    // In the next visit nothing has been read yet.
    for (const asked of [1, answered]) {
      const { ledger } = await device("pending", answered);
      known(false);
      assert.equal((await ledger.withdraw(digestOf(asked))).id, idOf(answered));
      assert.equal((await ledger.status()).reports[0].state, "withdrawn");
      known();
    }
    // One that is under way is cut off.
    const { storage } = await device("pending", answered);
    let under;
    const hangs = (_, options) => ((under = true), aborted(options));
    const ledger = await openOn(storage, {}, { deliver: hangs });
    known(false);
    const flushed = ledger.flush();
    await until(() => under);
    assert.equal((await ledger.withdraw(digestOf(answered))).sent, "unknown");
    const [{ status, taskDigest, error }] = await flushed;
    assert.deepEqual([status, taskDigest, error.code], ["refused", digestOf(answered), "spent"]);
    known();
  }
});

/** Two servers, and task 4, whose author names the first wave of another server's collection as its parent. */
const HONEST = { url: "https://honest.example/of/it", id: undefined };
const HOSTILE = { url: "https://hostile.example/", id: undefined };
const CLAIMING = 4;
const originOf = ({ url }) => new URL(url).origin;

/** A device on which `came` notes what was sent, and where to; `verdicts` are how servers answer, by their URL. */
async function betweenTwo(t) {
  campaigns[digestOf(CLAIMING)] = CAMPAIGN;
  t.after(() => delete campaigns[digestOf(CLAIMING)]);
  const came = [];
  const verdicts = {};
  const deliver = async (report, { url }) => {
    if (verdicts[url]) throw verdicts[url]();
    came.push([url, report.taskDigest]);
    return accepted();
  };
  const storage = newDevice();
  const ledger = await openOn(storage, {}, { deliver });
  return { came, ledger, storage, verdicts };
}

/** Puts a task's report into a state at one of the servers. */
async function reach(state, { came, ledger, verdicts }, wave, to) {
  const one = randomizerOf(wave);
  const failing = slowOf(wave, () => Promise.reject(down()));
  if (state === "booked") return ledger.send(failing, {}, to).catch(() => {});
  verdicts[to.url] = { pending: down, refused: expired, withdrawn: down }[state];
  await ledger.send(one, {}, to);
  if (state === "withdrawn") await ledger.withdraw(one.taskDigest);
  delete verdicts[to.url];
  came.length = 0;
}

test("whoever names another's campaign gets neither its report nor its place, and the budget counts both", async (t) => {
  for (const state of ["booked", "pending", "refused", "sent", "withdrawn"]) {
    for (const answered of [1, 2]) {
      const device = await betweenTwo(t);
      const { came, ledger, storage } = device;
      await reach(state, device, answered, HONEST);
      const [before] = await storage.all();
      const outcome = await ledger.send(randomizerOf(CLAIMING), {}, HOSTILE);
      const name = `${state}, ${answered}`;
      assert.deepEqual([outcome.status, outcome.taskDigest], ["accepted", digestOf(CLAIMING)], name);
      assert.deepEqual(came, [[HOSTILE.url, digestOf(CLAIMING)]], name);
      const [kept, own, ...others] = await storage.all();
      assert.deepEqual([kept, others], [before, []], name);
      assert.equal(own.url, HOSTILE.url);
      const { epsilon, reports } = await ledger.status();
      assert.deepEqual([epsilon, reports.map(({ origin }) => origin)], [2, [HONEST, HOSTILE].map(originOf)], name);
      // What waits goes where it was promised.
      const flushed = await ledger.flush();
      assert.deepEqual(flushed.map(({ status }) => status), state === "pending" ? ["accepted"] : [], name);
      assert.deepEqual(came.slice(1), state === "pending" ? [[HONEST.url, digestOf(answered)]] : [], name);
    }
  }
});

test("whoever names another's campaign first does not keep its waves from their one report", async (t) => {
  for (const state of ["booked", "pending", "refused", "sent", "withdrawn"]) {
    for (const [first, second] of [[1, 2], [2, 1]]) {
      const device = await betweenTwo(t);
      const { came, ledger } = device;
      await reach(state, device, CLAIMING, HOSTILE);
      const name = `${state}, ${first}`;
      const outcome = await ledger.send(randomizerOf(first), {}, HONEST);
      assert.deepEqual([outcome.status, outcome.taskDigest], ["accepted", digestOf(first)], name);
      const again = await ledger.send(randomizerOf(second), {}, HONEST);
      assert.deepEqual([again.status, again.taskDigest], ["duplicate", digestOf(first)], name);
      assert.deepEqual(came, [[HONEST.url, digestOf(first)]], name);
      const { epsilon, reports } = await ledger.status();
      // A page knows its own by the origin.
      assert.deepEqual(reports.map(({ taskDigest }) => taskDigest), [CAMPAIGN, CAMPAIGN], name);
      const own = reports.filter(({ origin }) => origin === originOf(HONEST));
      assert.deepEqual([epsilon, own.map(({ state }) => state)], [2, ["sent"]], name);
    }
  }
});

test("a task at another origin than its report was promised to is refused, and told which", async (t) => {
  for (const state of ["booked", "pending", "refused", "sent", "withdrawn"]) {
    const device = await betweenTwo(t);
    const { came, ledger, storage } = device;
    await reach(state, device, 1, HONEST);
    const before = await storage.all();
    const elsewhere = { code: "destination", message: /promised to https:\/\/honest\.example\/of\/it: / };
    for (const url of [HOSTILE.url, "https://honest.example:444/", "http://honest.example/"]) {
      await assert.rejects(ledger.send(randomizerOf(1), {}, { ...OWN, url }), elsewhere);
      await assert.rejects(ledger.report(randomizerOf(1), {}, { url }), elsewhere);
    }
    assert.deepEqual([await storage.all(), came], [before, []]);
    // Another path is another address of the same server.
    const moved = { ...HONEST, url: "https://honest.example/moved" };
    const { status } = await ledger.send(randomizerOf(1), {}, moved);
    assert.equal(status, { sent: "duplicate", withdrawn: "refused" }[state] ?? "accepted");
    assert.deepEqual(came, status === "accepted" ? [[moved.url, digestOf(1)]] : []);
  }
});

test("a withdrawal is of all that claims to be of the campaign, and says of none that left that it did not", async (t) => {
  const device = await betweenTwo(t);
  const { came, ledger } = device;
  await reach("booked", device, 2, HONEST);
  await reach("sent", device, CLAIMING, HOSTILE);
  const { taskDigest, sent } = await ledger.withdraw(CAMPAIGN);
  assert.deepEqual([taskDigest, sent], [digestOf(CLAIMING), true]);
  assert.deepEqual((await ledger.status()).reports.map(({ state }) => state), ["withdrawn", "sent"]);
  assert.deepEqual([await ledger.flush(), came], [[], []]);
});

test("a report that waits since the first wave is sent in the second, to its own task, by the real client", async (t) => {
  const aggregator = await Aggregator.during(t, TASK, undefined, OWN_IDS);
  const document = refining(TASK);
  const [first, second] = [TASK, document].map((json) => Task.parse(json));
  await aggregator.put(second.digest, document, {});
  const count = ({ digest }) => aggregator.records(digest);
  let devices = 0;
  const open = () =>
    PrivacyLedger.open({ name: `device ${(devices += 1)}`, maxEpsilon: 2, onStorageDenied: () => true });
  const to = { url: aggregator.url, id: undefined };
  // As in an app that wraps it.
  const wrapped = (task) => {
    const real = new Randomizer(task, LIMITS);
    const { guarantee, taskDigest } = real;
    return { guarantee, taskDigest, randomize: (...given) => real.randomize(...given) };
  };
  const ledger = await open();
  const waiting = await ledger.report(wrapped(first), RECORD, to);
  const { taskDigest, id, status } = await ledger.send(wrapped(second), RECORD, to);
  assert.deepEqual([taskDigest, id, status], [first.digest, waiting.id, "accepted"]);
  assert.deepEqual([await count(first), await count(second)], [1, 0]);
  // Somebody who comes for the second wave only.
  const other = await open();
  const sent = await other.send(wrapped(second), RECORD, to);
  assert.deepEqual([sent.taskDigest, sent.status], [second.digest, "accepted"]);
  assert.equal((await other.send(wrapped(first), RECORD, to)).status, "duplicate");
  assert.deepEqual([await count(first), await count(second)], [1, 1]);
  // And through a relay, in a batch with the next one's, on a page that has fetched neither.
  asked.clear();
  const relay = await Relay.during(t, aggregator, 2);
  for (const next of [await open(), await open()]) {
    assert.equal((await next.send(wrapped(second), RECORD, { relay: relay.url })).status, "relayed");
  }
  await until(async () => (await count(second)) >= 3);
  assert.deepEqual([await count(first), await count(second)], [1, 3]);
});
