// Devices that take part through a relay by random schedules: they send, leave, come back, flush, withdraw, while the
// network fails. The relay and the aggregator are the real ones, behind a server that sees all that comes to them.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { init, Randomizer, Task } from "../../pkg/inline.js";
import { Aggregator, OWN_IDS, Relay } from "../browser/aggregator.js";
import { until } from "../browser/pages.js";
import { bodyOf, listen } from "./answers.js";
import { inTurn } from "./hooks.js";
import { newDevice, openOn } from "./ledger-tools.js";
import { LIMITS, RECORD, TASK } from "./task.js";

const SEED = 50;
const SCHEDULES = 200;
const STEPS = 10;
/** Schedules at once: each depends on its own number alone. */
const LANES = 8;

const aggregator = Aggregator.forTests(TASK, undefined, OWN_IDS);
/** What came to the relay, by device, and how the network treats the device. */
const devices = Array.from({ length: SCHEDULES }, () => ({ network: "works", posts: [], acknowledged: 0 }));
/** Reports that came to the aggregator unsealed. */
const plain = [];
/** Requests that are on their way. */
const underWay = new Set();
/** The server before the relay and the aggregator. */
const front = {};
let randomizer;

inTurn(async () => {
  // Without turns: left pages keep none, and tabs meet more often.
  Object.defineProperty(globalThis, "navigator", { value: undefined, configurable: true });
  await init();
  randomizer = new Randomizer(Task.parse(TASK), LIMITS);
  const passing = await listen((request, response) => {
    const one = pass(request, response).finally(() => underWay.delete(one));
    underWay.add(one);
  });
  Object.assign(front, passing);
});

after(() => front.close?.());

const relay = Relay.forTests(front, SCHEDULES);

async function pass(request, response) {
  const content = await bodyOf(request);
  const body = request.method === "POST" ? content : undefined;
  const [, number, path] = request.url.match(/^\/(\d+)(\/.*)$/) ?? [];
  if (/\/tasks\/.*\/(reports|seeds)$/.test(request.url)) plain.push(request.url);
  const device = devices[number] ?? { network: "works", posts: [] };
  const { network, posts } = device;
  if (body) posts.push(body.toString("hex"));
  if (network === "down") return response.destroy();
  if (network === "busy") return response.writeHead(503).end();
  const target = number ? relay.url + path : aggregator.url + request.url;
  const type = request.headers["content-type"];
  const answer = await fetch(target, { method: request.method, body, headers: type ? { "content-type": type } : {} });
  if (answer.status === 202) device.acknowledged += 1;
  const told = Buffer.from(await answer.arrayBuffer());
  if (network === "lost") return response.destroy();
  response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" }).end(told);
}

/** Whole numbers below a bound (a linear congruence, of which the upper bits are good). */
function randomsFrom(seed) {
  let state = BigInt(seed);
  return (bound) => {
    state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
    return Number(((state >> 33n) * BigInt(bound)) >> 31n);
  };
}

/** A page with the device's ledger, which is left at the write with the number `moments`, before or after it. */
async function openPage(device, moments = Infinity, before = false) {
  const leaving = new AbortController();
  const never = new Promise(() => {});
  let resolveLeft;
  const left = new Promise((resolve) => (resolveLeft = resolve));
  const leave = () => {
    leaving.abort("left");
    resolveLeft("left");
    return never;
  };
  const change = async (edit) => {
    if (leaving.signal.aborted) return never;
    moments -= 1;
    if (moments <= 0 && before) return leave();
    const result = await device.change(edit);
    return moments <= 0 ? leave() : result;
  };
  const ledger = await openOn({ openDatabase: async () => ({ change, close() {} }) });
  const options = { retries: 1, delay: 0, signal: leaving.signal };
  // Of a page that was left nobody hears any more.
  const until = (outcome) => Promise.race([outcome.catch((error) => error), left]);
  return { ledger, until, options };
}

/** One device's schedule; gives what was answered, to be compared with what came. */
async function live(number) {
  const random = randomsFrom(SEED * SCHEDULES + number);
  const device = newDevice();
  const at = devices[number];
  const to = `${front.url}/${number}`;
  const answers = [];
  let page = await openPage(device);
  const send = ({ ledger, options, until }) => until(ledger.send(randomizer, RECORD, { ...options, relay: to }));
  const flush = ({ ledger, options, until }) => until(ledger.flush(options));
  const withdraw = async ({ ledger, until }, isAmongOthers = false) => {
    const { sent } = await until(ledger.withdraw(randomizer.taskDigest));
    const [entry] = await device.all();
    if (entry?.withdrawn || sent !== false) answers.push(["withdraw", sent]);
    // There was none, and there may be one yet.
    else assert.ok(!entry || isAmongOthers);
  };
  const note = (outcome) => {
    if (outcome?.status === "relayed") assert.ok(at.acknowledged > 0, "the relay has what it is said to have");
    answers.push(["send", outcome?.status]);
  };
  const steps = [
    async () => note(await send(page)),
    async () => note(await send(page)),
    async () => flush(page),
    async () => (page = await openPage(device)),
    async () => (at.network = ["works", "down", "busy", "lost"][random(4)]),
    async () => (at.network = ["works", "down", "busy", "lost"][random(4)]),
    async () => {
      const leaving = await openPage(device, 1 + random(5), random(2) === 1);
      await (random(2) ? send(leaving) : flush(leaving));
    },
    async () => Promise.all([send(page), send(await openPage(device))]),
    async () => {
      // The page's own attempt, if it is one, to send plainly what it owes the relay.
      if ((await device.all()).length === 0) return;
      for (const plainly of [`${to}/`, `${front.url}/`]) {
        const sent = page.ledger.send(randomizer, RECORD, { url: plainly, id: undefined });
        await assert.rejects(sent, { code: "destination" });
      }
      answers.push(["plain", "refused"]);
    },
    async () => random(3) === 0 && withdraw(page),
    async () => random(3) === 0 && Promise.all([send(await openPage(device)), withdraw(page, true)]),
  ];
  for (let step = 0; step < STEPS; step += 1) await steps[random(steps.length)]();
  at.network = "works";
  await flush(await openPage(device));
  return answers;
}

test(`${SCHEDULES} schedules: nothing comes plainly, sealed bytes stay the same, withdrawals tell the truth`, async () => {
  const answers = [];
  let next = 0;
  const lane = async () => {
    for (let number; (number = next++) < SCHEDULES; ) answers[number] = await live(number);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  while (underWay.size > 0) await Promise.all(underWay);

  for (const [number, { posts }] of devices.entries()) {
    assert.ok(new Set(posts).size <= 1, `device ${number} sent other bytes the second time`);
    for (const [what, answer] of answers[number]) {
      if (what !== "withdraw") continue;
      assert.ok(answer === false || answer === "unknown", `device ${number}: ${answer}`);
      if (answer === false) assert.deepEqual(posts, [], `device ${number}: it had left, or left later`);
    }
  }
  assert.deepEqual(plain, []);

  // The relay has each report once: with others they make one batch, all of which counts.
  const kept = devices.filter(({ acknowledged }) => acknowledged > 0);
  for (let number = kept.length; number < SCHEDULES; number += 1) {
    const other = await openOn(newDevice());
    assert.equal((await other.send(randomizer, RECORD, { relay: relay.url })).status, "relayed");
  }
  await until(async () => (await aggregator.records()) >= SCHEDULES);
  const count = (what, answer) => answers.flat().filter(([name, found]) => name === what && found === answer).length;
  const again = devices.reduce((sum, { posts }) => sum + Math.max(0, posts.length - 1), 0);
  const figures = {
    kept: kept.length,
    again,
    relayed: count("send", "relayed"),
    pending: count("send", "pending"),
    plain: count("plain", "refused"),
    never: count("withdraw", false),
    unknown: count("withdraw", "unknown"),
  };
  console.log(`${SCHEDULES} schedules: ${JSON.stringify(figures)}`);
  for (const [figure, found] of Object.entries(figures)) assert.ok(found > 5, `too few to tell: ${figure} ${found}`);
});
