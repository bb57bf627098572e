// Visits from "agree" to "counted" in real browsers, with everything that can go wrong and depends on the browser. They
// check that the page learns the truth about its report: it is counted once, never, or later, as the page was told. The
// table that this file prints is in research/docs/visits.md, without the times and with like visits in one row. What
// servers refuse, and what is withdrawn, is the same in every browser: tests/js/submit*.test.js and ledger-*.test.js.

import assert from "node:assert/strict";
import { request as send } from "node:http";
import { after, before, test } from "node:test";

import { init, PrivacyLedger, Randomizer, Task } from "../../pkg/inline.js";
import { serveAnswers } from "../js/answers.js";
import { numericColumns, RECORD, TASK } from "../js/task.js";
import { Aggregator, Relay } from "./aggregator.js";
import { asked } from "./asked.js";
import { launchChromium } from "./chromium.js";
import { launchFirefox } from "./firefox.js";
import { inEachBrowser, milliseconds, PATIENCE, policyFor, ROOT, until } from "./pages.js";
import { serve } from "./serve.js";
import { launchWebKit, withoutWebKit } from "./webkit.js";

const LATENCY = 1500;
const FORM = '<!doctype html><link rel="icon" href="data:,"><title>survey</title><button disabled>I agree</button>';
const SURVEY = `${FORM}<script type="module" src="/tests/browser/visit.js"></script>`;
/** Quick attempts, where a visit is about something else. */
const QUICK = { retries: 1, delay: 1 };
const LARGE = { columns: numericColumns(400) };
const BROWSERS = asked({
  Chromium: { launch: launchChromium, newProfile: (browser) => browser.newContext(), concurrency: 2 },
  // It loses profiles that are opened while others are closed.
  Firefox: { launch: launchFirefox, newProfile: (browser) => browser.createBrowserContext(), concurrency: 1 },
  // Not every system has one.
  WebKit: { launch: launchWebKit, newProfile: (browser) => browser.newPart(), concurrency: 2, skip: withoutWebKit() },
});

const aggregator = Aggregator.forTests(TASK);
/** What stands before the aggregator, and before a real relay, whose batches are of two. */
let relay;
const shuffler = Relay.forTests(aggregator, 2);
let elsewhere;
let policy;
/** The network's treatment of a task's requests, by its digest: gets the request, and `forward`, which answers it. */
const networks = new Map();
/** The answers, by task: what the network keeps back would keep a connection of the browser. */
const answers = new Map();
/** The requests, by task: methods and paths in their order. */
const came = new Map();
let numbers = 0;

before(async () => {
  await init();
  relay = await serveAnswers([pass]);
  policy = policyFor(relay.url, "http://127.0.0.1:9");
  elsewhere = await newSite();
});

after(() => Promise.all([elsewhere, relay].map((server) => server?.close())));

const newSite = () => serve(ROOT, { "/": SURVEY, "/elsewhere": FORM }, policy);

function pass(request, response) {
  const { body } = relay.requests.at(-1);
  const [, way, digest, what] = request.url.match(/^\/(tasks|relay)\/([0-9a-f]{64})\/?(\w*)$/);
  answers.set(digest, [...(answers.get(digest) ?? []), response]);
  const sealed = way === "relay" && request.method === "POST";
  came.set(digest, [...(came.get(digest) ?? []), `${request.method} ${sealed ? body.toString("hex") : what}`]);
  const forward = (answer = (from) => from.pipe(response.writeHead(from.statusCode, from.headers))) => {
    const { method, url, headers } = request;
    const target = way === "relay" ? `${shuffler.url}/${what}` : aggregator.url + url;
    send(target, { method, headers }, answer).end(body);
  };
  (networks.get(digest) ?? good)({ what, request, response, forward });
}

const good = ({ forward }) => forward();
/** Of a request that the browser has given up meanwhile nothing arrives. */
const slow = ({ request, forward }) => setTimeout(() => request.socket.destroyed || forward(), LATENCY);
const hung = () => {};
const broken = ({ response }) => response.destroy();
/** Of reports alone: ids come as they should. */
const only = (network) => (exchange) => (exchange.what === "reports" ? network : good)(exchange);
const busy = only(({ response }) => response.writeHead(503, { "access-control-allow-origin": "*" }).end());
/**
 * A visitor's reports, or `which` requests, arrive once what this gives is called: of what the browser has given up
 * by then nothing does, unless it is too late for that.
 */
function gate(visitor, { which = only, tooLate = false } = {}) {
  let open;
  const opened = new Promise((resolve) => (open = resolve));
  const held = ({ request, forward }) => opened.then(() => (tooLate || !request.socket.destroyed) && forward());
  visitor.network = which(held);
  return open;
}
const all = (network) => network;
/** A browser that gives up a request has done so. */
const givenUp = () => milliseconds(300);

/** A visitor with a browser profile, or a part of one, a survey's site, and a task of their own. */
class Visitor {
  usable = [];
  #context;

  static async of(browser, newProfile, { schema = TASK.schema, throughRelay = false, ...about }) {
    const visitor = new Visitor();
    visitor.#context = await newProfile(browser);
    visitor.site = await newSite();
    numbers += 1;
    const gaussian = { type: "gaussian", delta: 1e-6, calibration: "analytic" };
    const mechanism = { ...(schema === LARGE ? gaussian : TASK.mechanism), epsilon: 2 - numbers / 1e6 };
    visitor.task = { ...TASK, schema, mechanism };
    visitor.digest = Task.parse(visitor.task).digest;
    await aggregator.put(visitor.digest, visitor.task, throughRelay ? { issued_ids: false } : {});
    visitor.about = {
      entry: "/pkg/index.js",
      url: relay.url,
      relay: throughRelay && `${relay.url}/relay/${visitor.digest}`,
      record: schema === LARGE ? Array(400).fill(1) : RECORD,
      options: {},
      ...about,
    };
    return visitor;
  }

  set network(network) {
    networks.set(this.digest, network);
  }

  get came() {
    return came.get(this.digest) ?? [];
  }

  /** The sealed reports that came to the relay. */
  get sealed() {
    return this.came.filter((request) => /^POST [0-9a-f]{100}/.test(request));
  }

  /** A tab in which the form can be used. */
  async open(more = {}, from = this.site) {
    const tab = await this.#context.newPage();
    tab.setDefaultTimeout?.(PATIENCE);
    const about = { task: this.task, ...this.about, ...more };
    await tab.goto(`${from.url}/#${encodeURIComponent(JSON.stringify(about))}`);
    await this.form(tab);
    return tab;
  }

  /** The form of a tab that starts again. */
  async form(tab) {
    const usable = await until(() => tab.evaluate(() => window.usable).catch(() => undefined));
    this.usable.push(usable);
    const [[begun]] = await tab.evaluate(() => window.events);
    assert.equal(begun, "usable", "the form does not wait for what is sent");
    return tab;
  }

  /** A tab in which the form can be used, and whose report has its id. */
  async withId() {
    const tab = await this.open();
    await tab.evaluate(() => id);
    return tab;
  }

  offline = (offline) => this.#context.setOffline(offline);
  leave = (tab) => tab.goto(`${this.site.url}/elsewhere`);
  agree = (tab, more = {}) => tab.evaluate((more) => agree(more), more);
  /** Agrees, and does not wait. */
  begin = (tab, more = {}) => tab.evaluate((more) => void (window.outcome = agree(more)), more);
  outcome = (tab) => tab.evaluate(() => window.outcome);
  states = (tab) => tab.evaluate(() => states());
  withdraw = (tab) => tab.evaluate(async () => (await ledger.withdraw(digest)).sent);
  records = () => aggregator.records(this.digest);

  /** Another visit, later: what it sends behind the form. */
  async later() {
    const tab = await this.open();
    const outcomes = await tab.evaluate(() => window.flushed);
    return { tab, statuses: outcomes.map(({ status }) => status), states: await this.states(tab) };
  }

  async close() {
    await this.#context.close();
    for (const answer of answers.get(this.digest) ?? []) if (!answer.writableEnded) answer.destroy();
    await this.site.close();
  }
}

const of = ({ status, error }) => (error ? `${status} (${error})` : status);
/** A tab whose visitor has agreed, and whose report the network holds until `open` is called. */
async function onItsWay(visitor, how) {
  const tab = await visitor.withId();
  const open = gate(visitor, how);
  await visitor.begin(tab);
  await until(() => visitor.came.includes("POST reports"));
  return { tab, open };
}

/** A limit of so many milliseconds passes sooner in a tab, until it is `patient` again. */
function shorten(tab, limit, sooner) {
  return tab.evaluate(([limit, sooner]) => {
    const real = AbortSignal.timeout.bind(AbortSignal);
    AbortSignal.timeout = (time) => real(time === limit ? sooner : time);
    window.patient = () => (AbortSignal.timeout = real);
  }, [limit, sooner]);
}

/** That a later visit finds and sends what it should: what is known of the report is what became of it. */
async function sentLater(visitor, statuses = ["accepted"]) {
  const later = await visitor.later();
  assert.deepEqual([later.statuses, later.states, await visitor.records()], [statuses, ["sent"], 1]);
  return `counted at the next visit: ${statuses}`;
}

/**
 * The fate of a report about which the page learned nothing: it counts now, or the next visit sends it or says that
 * there is none.
 */
async function whatever(visitor) {
  const { statuses, states } = await visitor.later();
  const counted = await visitor.records();
  if (states[0] === "sent") {
    assert.equal(counted, 1);
    return `counted at the next visit: ${statuses}`;
  }
  assert.deepEqual([statuses, counted], [[], 0]);
  assert.ok(states.length === 0 || states[0] === "booked", `${states}`);
  return states.length === 0 ? "the ledger is empty" : "booked: the form says so, and takes the answers again";
}

/** A visit that is left in such a way while its report is on its way, which counts all the same. */
function leaving(leave, afterwards) {
  return async (visitor) => {
    const { tab, open } = await onItsWay(visitor);
    await leave(tab, visitor);
    await givenUp();
    open();
    await until(async () => (await visitor.records()) === 1);
    return [{ status: "nothing" }, 1, await afterwards(visitor)];
  };
}

/**
 * The visits: their names, what is special about them, and what happens, which ends with what the page was told, how
 * often the report counts then, and what comes afterwards.
 */
const VISITS = [
  ["stays", {}, async (visitor) => {
    const tab = await visitor.open();
    const outcome = await visitor.agree(tab);
    assert.match(outcome.id, /^[0-9a-f]{32}$/);
    return [outcome, 1];
  }],
  [
    "stays, with the worker",
    { entry: "/pkg/worker.js" },
    async (visitor) => [await visitor.agree(await visitor.open()), 1],
  ],
  ["left in the same breath as \"agree\"", {}, async (visitor) => {
    const tab = await visitor.withId();
    const open = gate(visitor);
    await tab.evaluate(() => { void agree(); location.href = "/elsewhere"; }).catch(() => {});
    await until(() => tab.evaluate(() => location.pathname === "/elsewhere").catch(() => false));
    await givenUp();
    open();
    return [{ status: "nothing" }, await visitor.records(), await whatever(visitor)];
  }],
  ["left while the report is on its way", {}, leaving((tab, visitor) => visitor.leave(tab), whatever)],
  ["tab closed while the report is on its way", {}, leaving((tab) => tab.close(), (visitor) =>
    sentLater(visitor, ["duplicate"]))],
  ["reloaded while the report is on its way", {}, async (visitor) => {
    const { tab, open } = await onItsWay(visitor);
    await tab.reload();
    await visitor.form(tab);
    open();
    const [outcome] = await tab.evaluate(() => window.flushed);
    return [outcome, 1];
  }],
  ["agrees again after a reload", {}, async (visitor) => {
    const tab = await visitor.open();
    await visitor.agree(tab);
    await tab.reload();
    await visitor.form(tab);
    return [await visitor.agree(tab), 1];
  }],
  ["offline at \"agree\"", { options: QUICK }, async (visitor) => {
    const tab = await visitor.withId();
    visitor.network = broken;
    const outcome = await visitor.agree(tab);
    assert.equal(outcome.retryOn, "flush");
    visitor.network = good;
    return [outcome, 0, await sentLater(visitor)];
  }],
  ["offline, back online, page sends then", { options: QUICK, open: { flushOnline: true } }, async (visitor) => {
    const tab = await visitor.withId();
    await visitor.offline(true);
    const outcome = await visitor.agree(tab);
    assert.equal(outcome.retryOn, "online");
    const counted = await visitor.records();
    await visitor.offline(false);
    const found = await until(() => tab.evaluate(() => events.find(([name]) => name === "online")));
    return [outcome, counted, `counted when it is back: ${found[1][0].status}`];
  }, ["Chromium"]],
  ["hung server, left and back while it hangs", {}, async (visitor) => {
    const { tab } = await onItsWay(visitor, { which: all });
    await visitor.leave(tab);
    // The form does not wait. What it sends is over before the network is good: it hangs, or is given up on its way.
    const back = await visitor.open({ options: { deadline: 500 } });
    await back.evaluate(() => window.flushed);
    await givenUp();
    await back.close();
    visitor.network = good;
    return [{ status: "nothing" }, 0, await sentLater(visitor)];
  }],
  ["two tabs at once", {}, async (visitor) => {
    const tabs = [await visitor.open(), await visitor.open()];
    const outcomes = await Promise.all(tabs.map((tab) => visitor.agree(tab)));
    assert.equal(outcomes[0].id, outcomes[1].id);
    const told = outcomes.map(({ status }) => status).sort();
    assert.ok(["accepted,accepted", "accepted,duplicate"].includes(`${told}`), `${told}`);
    return [{ status: `${told.join(" and ")}` }, 1];
  }],
  ["two tabs, the first one hangs", { options: { deadline: 600_000 } }, async (visitor) => {
    const other = await visitor.open();
    const { tab } = await onItsWay(visitor, { which: all });
    const outcome = await visitor.agree(other, { deadline: 100 });
    visitor.network = good;
    await tab.close();
    return [outcome, 0, await sentLater(visitor)];
  }],
  ["a page that was left keeps its turn", {}, async (visitor) => {
    const left = await visitor.open();
    await left.evaluate(() => void navigator.locks.request(`ldp-pca/${digest}`, () => new Promise(() => {})));
    const tab = await visitor.open();
    await shorten(tab, 5000, 100);
    return [await visitor.agree(tab), 1];
  }],
  ["another tab keeps the storage", {}, async (visitor) => {
    const busy = await visitor.open();
    await busy.evaluate(() => {
      indexedDB.open("ldp-pca").onsuccess = ({ target }) => {
        const store = target.result.transaction("reports", "readwrite").objectStore("reports");
        const goOn = () => window.enough || (window.kept = store.count()).addEventListener("success", goOn);
        goOn();
      };
    });
    await until(() => busy.evaluate(() => window.kept !== undefined));
    const tab = await visitor.open();
    await shorten(tab, 10_000, 300);
    const outcome = await visitor.agree(tab);
    await busy.evaluate(() => void (window.enough = true));
    await tab.evaluate(() => void patient());
    const again = await visitor.agree(tab);
    assert.deepEqual([again.status, await visitor.records()], ["accepted", 1]);
    return [outcome, 0, "\"agree\" again, when it is free: accepted"];
  }],
  ["worker dead at \"agree\"", { entry: "/pkg/worker.js" }, async (visitor) => {
    const tab = await visitor.open();
    await tab.evaluate(async () => {
      // Then it owes no answer to an earlier call, whose checks would go on as they began.
      await api.version();
      workers[0].terminate();
      const real = setInterval;
      window.setInterval = (check) => real(check, 20);
      window.patient = () => (window.setInterval = real);
    });
    const outcome = await visitor.agree(tab);
    await tab.evaluate(() => void patient());
    // Nothing of it keeps another tab waiting.
    const other = await visitor.open();
    assert.deepEqual(await visitor.states(other), ["booked"]);
    const again = await visitor.agree(tab);
    assert.deepEqual([again.status, await visitor.records()], ["accepted", 1]);
    return [outcome, 0, "\"agree\" again, in the same page: accepted"];
  }],
  ["worker dead, agrees in a second tab", { entry: "/pkg/worker.js", init: { timeout: 30_000 } }, async (visitor) => {
    const tab = await visitor.open();
    await tab.evaluate(() => workers[0].terminate());
    await visitor.begin(tab);
    return [await visitor.agree(await visitor.open()), 1];
  }],
  ["no room on the disk", {}, async (visitor) => {
    const tab = await visitor.open();
    const session = await tab.context().newCDPSession(tab);
    await session.send("Storage.overrideQuotaForOrigin", { origin: visitor.site.url, quotaSize: 1 });
    const outcome = await visitor.agree(tab);
    assert.match(outcome.message, /no storage: QuotaExceededError/);
    await session.send("Storage.overrideQuotaForOrigin", { origin: visitor.site.url });
    return [outcome, 0, await whatever(visitor)];
  }, ["Chromium"]],
  ["site's data deleted while the form is open", {}, async (visitor) => {
    const tab = await visitor.open();
    await tab.evaluate(() => new Promise((resolve) => (indexedDB.deleteDatabase("ldp-pca").onsuccess = resolve)));
    return [await visitor.agree(tab), 1];
  }],
  ["site's data deleted while the report waits", { options: QUICK }, async (visitor) => {
    visitor.network = busy;
    const tab = await visitor.open();
    const outcome = await visitor.agree(tab);
    await tab.evaluate(() => new Promise((resolve) => (indexedDB.deleteDatabase("ldp-pca").onsuccess = resolve)));
    visitor.network = good;
    return [outcome, 0, await whatever(visitor)];
  }],
  ["left and back by the history (bfcache, where the browser has it)", {}, async (visitor) => {
    const { tab, open } = await onItsWay(visitor);
    await visitor.leave(tab);
    await tab.goBack();
    await visitor.form(tab);
    open();
    return [await visitor.agree(tab), 1];
  }],
  ["withdraws while it is on its way, too late to break it off", {}, async (visitor) => {
    const { tab, open } = await onItsWay(visitor, { tooLate: true });
    assert.equal(await visitor.withdraw(tab), "unknown");
    const outcome = await visitor.outcome(tab);
    open();
    await until(async () => (await visitor.records()) === 1);
    const later = await visitor.later();
    assert.deepEqual([later.statuses, later.states], [[], ["withdrawn"]]);
    return [{ ...outcome, status: `${outcome.status}; withdrawn, sent: "unknown"` }, 1, "nothing is sent any more"];
  }],
  ["page of an origin that the task does not know", { options: QUICK }, async (visitor) => {
    const tab = await visitor.open();
    const id = await tab.evaluate(() => id);
    await aggregator.put(visitor.digest, visitor.task, { origins: [visitor.site.url] });
    const outcome = await visitor.agree(await visitor.open({}, elsewhere), { id });
    return [outcome, 0, "nothing is taken from there"];
  }],
  ["large report (80 kB), left while it is on its way", { schema: LARGE }, async (visitor) => {
    const { tab, open } = await onItsWay(visitor);
    await visitor.leave(tab);
    await givenUp();
    open();
    return [{ status: "nothing" }, await visitor.records(), await whatever(visitor)];
  }],
];

/** Visits to a page whose reports go through a relay. The aggregator must get nothing from their devices. */
const RELAYED = [
  ["through a relay", {}, async (visitor) => {
    const tab = await visitor.open();
    const outcome = await visitor.agree(tab);
    assert.deepEqual([await visitor.states(tab), await visitor.withdraw(tab)], [["relayed"], "unknown"]);
    await countsInBatch(visitor);
    const again = await visitor.agree(tab);
    assert.deepEqual([again.status, again.id, visitor.sealed.length], ["relayed", outcome.id, 1]);
    return [outcome, 1];
  }],
  ["through a relay, with the worker", { entry: "/pkg/worker.js" }, async (visitor) => {
    const outcome = await visitor.agree(await visitor.open());
    await countsInBatch(visitor);
    return [outcome, 1];
  }],
  ["left while the relay's keys are on their way", {}, async (visitor) => {
    visitor.network = hung;
    const tab = await visitor.open();
    await visitor.begin(tab);
    await until(() => visitor.came.includes("GET keys"));
    await visitor.leave(tab);
    visitor.network = good;
    return [{ status: "nothing" }, 0, await relayedLater(visitor)];
  }],
].map(([name, about, go, browsers]) => [name, { ...about, throughRelay: true }, async (visitor) => {
  const found = await go(visitor);
  assert.ok(!visitor.came.some((request) => ["POST reports", "POST seeds"].includes(request)), `${visitor.came}`);
  return found;
}, browsers]);

/** That the report counts, once another one, of a device elsewhere, completes its batch. */
async function countsInBatch(visitor) {
  // Ledgers of one name are one, without a storage too.
  const own = { name: globalThis.crypto.randomUUID(), maxEpsilon: 4, onStorageDenied: () => true };
  const ledger = await PrivacyLedger.open(own);
  const other = new Randomizer(Task.parse(TASK), { maxEpsilon: 4 });
  assert.equal((await ledger.send(other, RECORD, { relay: shuffler.url })).status, "relayed");
  await until(async () => (await visitor.records()) === 1);
}

/** That a later visit leaves the report with the relay, so that it counts. */
async function relayedLater(visitor) {
  const { statuses, states } = await visitor.later();
  assert.deepEqual([statuses, states], [["relayed"], ["relayed"]]);
  await countsInBatch(visitor);
  return `counted after the next visit: ${statuses}`;
}

VISITS.push(...RELAYED);
const table = new Map(VISITS.map(([name]) => [name, {}]));

inEachBrowser((name, browser, { newProfile }) => {
  for (const [visit, about, go, browsers] of VISITS) {
    if (browsers && !browsers.includes(name)) continue;
    test(visit, async () => {
      const visitor = await Visitor.of(browser(), newProfile, about);
      try {
        const [told, counted, afterwards = ""] = await go(visitor);
        if (!afterwards) assert.equal(await visitor.records(), counted);
        assert.ok(!visitor.came.some((request) => request.startsWith("OPTIONS")), "no browser asked beforehand");
        table.get(visit)[name] = { told: of(told), counted: `${counted}`, afterwards, usable: visitor.usable };
      } finally {
        await visitor.close();
      }
    });
  }

  // A page is left as soon as its first request is out: nothing has been answered, and nothing is until 1.5 s later.
  test("left right after \"agree\", latency 1.5 s: 20 of 20 arrive", async () => {
    const visitor = await Visitor.of(browser(), newProfile, {});
    visitor.network = only(slow);
    const visitors = [];
    const times = [];
    for (let number = 0; number < 20; number += 1) {
      const one = await Visitor.of(browser(), newProfile, {});
      visitors.push(one);
      const tab = await one.open({ task: visitor.task });
      await tab.evaluate(() => id);
      const before = visitor.came.length;
      const agreed = performance.now();
      await one.begin(tab);
      await until(() => visitor.came.length > before);
      times.push(Math.round(performance.now() - agreed));
      await one.leave(tab);
    }
    await until(async () => (await visitor.records()) === 20);
    console.log(
      `${name}: 20 of 20 that were left right after "agree" arrived; the first request was out after ` +
        `${times.join(", ")} ms`,
    );
    await Promise.all([visitor, ...visitors].map((one) => one.close()));
  });
}, BROWSERS);

after(() => {
  const names = Object.keys(BROWSERS);
  console.log(
    "| visit | outcome in the page | counted | afterwards | form usable after / the ledger's part " +
      `(${names.join(", ")}) |\n|---|---|---|---|---|`,
  );
  for (const [visit, found] of table) {
    const each = (key) => [...new Set(names.flatMap((name) => (found[name] ? [found[name][key]] : [])))].join("; ");
    const longest = (times, which) => Math.round(Math.max(...times.map((time) => time[which])));
    const timesOf = ({ usable }) => `${[0, 1].map((which) => longest(usable, which)).join(" / ")} ms`;
    const usable = names.map((name) => (found[name] ? timesOf(found[name]) : "–")).join(", ");
    console.log(`| ${visit} | ${each("told")} | ${each("counted")} | ${each("afterwards")} | ${usable} |`);
  }
});
