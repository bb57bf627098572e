// The ledger on the browsers' own IndexedDB and locks, with tabs that race, die and go offline.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import { serveAnswers } from "../js/answers.js";
import { RECORD, secondWave, TASK } from "../js/task.js";
import { Aggregator, OWN_IDS } from "./aggregator.js";
import { asked } from "./asked.js";
import { launchChromium } from "./chromium.js";
import { launchFirefox } from "./firefox.js";
import { EMPTY, PATIENCE, policyFor, ROOT } from "./pages.js";
import { serve } from "./serve.js";

const SHARED = { task: TASK, other: { ...TASK, folds: 2 }, record: RECORD };

let aggregator;
let relay;
let server;

before(async () => {
  aggregator = new Aggregator(TASK, undefined, OWN_IDS);
  await aggregator.start();
  relay = await serveAnswers([passOn]);
  server = await serve(ROOT, { "/": EMPTY }, policyFor(aggregator.url, relay.url));
});

after(async () => {
  await server?.close();
  await relay?.close();
  await aggregator?.remove();
});

/** Hands a request on to the aggregator, and the answer back, unless answers are to be lost. */
async function passOn(request, response) {
  const cors = { "access-control-allow-origin": "*", "access-control-allow-headers": "content-type" };
  if (request.method === "OPTIONS") return response.writeHead(204, cors).end();
  const body = relay.requests.at(-1).body;
  const answer = await fetch(aggregator.url + request.url, { method: "POST", body });
  const text = await answer.text();
  relay.verdict = JSON.parse(text);
  if (relay.losing) return undefined;
  return response.writeHead(answer.status, { ...cors, "content-type": "application/json" }).end(text);
}

/** The bodies of the reports that came by the relay, since it was last asked. */
function relayed() {
  const posted = relay.requests.filter(({ method }) => method === "POST");
  relay.requests.length = 0;
  return posted.map(({ body }) => body.toString("hex"));
}

/** A tab with the package loaded, as `window.api`, and what the tests share. */
async function openTab(context) {
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  await page.goto(`${server.url}/`);
  await page.evaluate(async ([url, relay, shared]) => {
    const api = await import("/pkg/index.js");
    await api.init();
    const task = api.Task.parse(shared.task);
    const other = api.Task.parse(shared.other);
    const [randomizer, second] = [task, other].map((each) => new api.Randomizer(each, { maxEpsilon: 2 }));
    const hex = (report) => report.toJSON().bytes;
    const codeOf = (promise) => promise.then(String, (error) => `${error.name} ${error.code}`);
    Object.assign(window, { api, codeOf, hex, randomizer, relay, second, record: shared.record, url });
  }, [aggregator.url, relay.url, SHARED]);
  return page;
}

/** The digest of the aggregator's task. */
const digestOf = async () => (await aggregator.get("/tasks")).tasks[0];

const records = async () => (await aggregator.get(`/tasks/${await digestOf()}/status`)).records;

const BROWSERS = asked({
  Chromium: {
    launch: launchChromium,
    newProfile: (browser) => browser.newContext(),
    kill: crash,
    // As in the settings of the browser: no site may keep data.
    launchWithoutStorage(profile) {
      mkdirSync(join(profile, "Default"));
      const preferences = { profile: { default_content_setting_values: { cookies: 2 } } };
      writeFileSync(join(profile, "Default/Preferences"), JSON.stringify(preferences));
      return launchChromium({ profile });
    },
  },
  Firefox: {
    launch: launchFirefox,
    newProfile: (browser) => browser.createBrowserContext(),
    kill: (tab) => tab.close(),
    launchWithoutStorage: () => launchFirefox({ extraPrefsFirefox: { "network.cookie.cookieBehavior": 2 } }),
  },
});

for (const [name, browser] of Object.entries(BROWSERS)) describe(name, () => ledgerTests(name, browser));

function ledgerTests(name, { launch, newProfile, kill, launchWithoutStorage }) {
  let browser;

  before(async () => (browser = await launch()));

  after(() => browser?.close());

  /** Tabs opened in it share their storage and their locks, with no others. */
  async function profile(t) {
    const context = await newProfile(browser);
    t.after(() => context.close());
    return context;
  }

  for (const how of ["with locks", "without locks"]) {
    test(`two tabs that race 100 times make and send one report each time, ${how}`, async (t) => {
      const context = await profile(t);
      const tabs = [await openTab(context), await openTab(context)];
      const before = await records();
      for (const tab of tabs) {
        await tab.evaluate(async ([races, locks]) => {
          // All hundred wait for one storage and one network: on a busy machine their turns and limits would pass.
          const [limit, timer] = [AbortSignal.timeout.bind(AbortSignal), setTimeout];
          AbortSignal.timeout = (time) => limit(Math.max(time, 600_000));
          window.setTimeout = (end, time, ...more) => timer(end, time >= 10_000 ? 600_000 : time, ...more);
          if (!locks) Object.defineProperty(navigator, "locks", { value: undefined });
          const open = (_, index) => api.PrivacyLedger.open({ name: `race-${index}`, maxEpsilon: 2 });
          window.ledgers = await Promise.all(Array.from({ length: races }, open));
          window.made = [];
          window.make = (index) => (made[index] = ledgers[index].report(randomizer, record, { url }));
          window.channel = new BroadcastChannel("races");
          channel.onmessage = ({ data: index }) => make(index);
        }, [100, how === "with locks"]);
      }
      // The first tab gives the signal, and starts at the same time or a little later.
      await tabs[0].evaluate(async () => {
        for (const index of ledgers.keys()) {
          channel.postMessage(index);
          if (index % 2) await ledgers[0].status();
          await make(index);
        }
      });
      const collect = async () => {
        while (Object.keys(made).length < ledgers.length) await new Promise((resolve) => setTimeout(resolve, 10));
        return (await Promise.all(made)).map((report) => hex(report));
      };
      const reports = await Promise.all(tabs.map((tab) => tab.evaluate(collect)));
      assert.deepEqual(reports[0], reports[1]);
      assert.equal(new Set(reports[0]).size, 100);
      const flush = async () => (await Promise.all(ledgers.map((ledger) => ledger.flush()))).flat();
      const outcomes = (await Promise.all(tabs.map((tab) => tab.evaluate(flush)))).flat();
      assert.equal(await records(), before + 100);
      const accepted = outcomes.filter(({ status }) => status === "accepted");
      const duplicate = outcomes.filter(({ status }) => status === "duplicate");
      assert.equal(accepted.length + duplicate.length, outcomes.length);
      assert.equal(new Set(accepted.map(({ id }) => id)).size, 100);
      // The second of two turns hears what became of the report. Tabs without turns may both send the same bytes.
      if (how === "with locks") assert.deepEqual(duplicate, []);
    });
  }

  test("a tab killed between randomizing and sending leaves its report: the next sends the same bytes", async (t) => {
    const context = await profile(t);
    const tab = await openTab(context);
    const before = await records();
    relayed();
    const bytes = await tab.evaluate(async () => {
      const ledger = await api.PrivacyLedger.open({ maxEpsilon: 2 });
      return hex(await ledger.report(randomizer, record, { url: relay }));
    });
    await kill(tab);
    assert.deepEqual(relayed(), []);

    const found = await (await openTab(context)).evaluate(async () => {
      const ledger = await api.PrivacyLedger.open({ maxEpsilon: 2 });
      const pending = (await ledger.status()).reports.map((report) => report.state);
      const again = hex(await ledger.report(randomizer, { height: 1, plan: "free" }, { url: relay }));
      const [{ status }] = await ledger.flush();
      const left = await ledger.flush();
      const late = await codeOf(ledger.report(randomizer, record, { url: relay }));
      return { pending, again, status, left, late, after: await ledger.status() };
    });
    assert.deepEqual(found.pending, ["pending"]);
    assert.equal(found.again, bytes, "the report that waits is the one report, whatever the record is now");
    assert.deepEqual(relayed(), [bytes]);
    assert.equal(found.status, "accepted");
    assert.deepEqual(found.left, []);
    assert.equal(found.late, "LedgerError spent");
    assert.equal(found.after.reports[0].state, "sent");
    assert.equal(found.after.epsilon, 2);
    assert.equal(await records(), before + 1);
  });

  test("a tab killed before it hears that its report counts: the next sends the same, counted once", async (t) => {
    const context = await profile(t);
    const tab = await openTab(context);
    const before = await records();
    relayed();
    Object.assign(relay, { losing: true, verdict: undefined });
    await tab.evaluate(async () => {
      const ledger = await api.PrivacyLedger.open({ maxEpsilon: 2 });
      await ledger.report(randomizer, record, { url: relay });
      void ledger.flush();
    });
    while (!relay.verdict) await new Promise((resolve) => setTimeout(resolve, 10));
    await kill(tab);
    assert.equal(await records(), before + 1);
    relay.losing = false;
    const outcomes = await (await openTab(context)).evaluate(async () => {
      const ledger = await api.PrivacyLedger.open({ maxEpsilon: 2 });
      return ledger.flush();
    });
    assert.deepEqual(outcomes.map(({ status }) => status), ["duplicate"]);
    const [first, second, ...others] = relayed();
    assert.deepEqual([second, others], [first, []]);
    assert.equal(await records(), before + 1);
  });

  test("what the aggregator refuses for good leaves the queue, with its error, until it is sent once more", async (t) => {
    const tab = await openTab(await profile(t));
    const found = await tab.evaluate(async () => {
      const ledger = await api.PrivacyLedger.open({ maxEpsilon: 8 });
      // The aggregator does not have the other task.
      await ledger.report(second, record, { url });
      await ledger.report(randomizer, record, { url });
      const outcomes = await ledger.flush();
      const { reports } = await ledger.status();
      const left = await ledger.flush();
      await ledger.report(second, record, { url });
      const stopped = await ledger.flush({ signal: AbortSignal.abort("enough") }).catch((reason) => reason);
      const became = ({ taskDigest, status, error }) => [taskDigest, [status, error?.code, error?.type]];
      return {
        outcomes: Object.fromEntries(outcomes.map(became)),
        states: Object.fromEntries(reports.map(({ taskDigest, state }) => [taskDigest, state])),
        left,
        digests: [randomizer.taskDigest, second.taskDigest],
        stopped,
      };
    });
    const [good, unknown] = found.digests;
    const outcomes = { [good]: ["accepted"], [unknown]: ["refused", "not-found", "unknown-task"] };
    assert.deepEqual(found.outcomes, { ...outcomes, [good]: ["accepted", undefined, undefined] });
    assert.deepEqual([found.states, found.left], [{ [good]: "sent", [unknown]: "refused" }, []]);
    assert.equal(found.stopped, "enough");
  });

  test("a report that went to the wrong place goes to the right one, as it is", async (t) => {
    const tab = await openTab(await profile(t));
    relayed();
    const found = await tab.evaluate(async () => {
      const ledger = await api.PrivacyLedger.open({ maxEpsilon: 2 });
      const first = await ledger.report(randomizer, record, { url: `${relay}/nowhere` });
      const [{ error }] = await ledger.flush();
      const second = await ledger.report(randomizer, record, { url: relay });
      const [{ status }] = await ledger.flush();
      return { code: error.code, made: [hex(first), hex(second)], status };
    });
    assert.equal(found.code, "not-found");
    assert.equal(found.status, "accepted");
    assert.deepEqual([...found.made, ...relayed()], Array(4).fill(found.made[0]));
  });

  test("the budget is for all tasks, survives a reload, and is spent before the record is looked at", async (t) => {
    const context = await profile(t);
    let tab = await openTab(context);
    const booked = await tab.evaluate(async () => {
      const ledger = await api.PrivacyLedger.open({ maxEpsilon: 3.5 });
      const code = await codeOf(ledger.report(randomizer, null, { url }));
      const { epsilon, reports: [{ state }] } = await ledger.status();
      return [code, epsilon, state];
    });
    assert.deepEqual(booked, ["RecordError record", 2, "booked"]);
    await tab.evaluate(async () => {
      await (await api.PrivacyLedger.open({ maxEpsilon: 3.5 })).report(randomizer, record, { url });
    });
    await tab.close();
    tab = await openTab(context);
    const found = await tab.evaluate(async () => {
      const open = (maxEpsilon) => api.PrivacyLedger.open({ maxEpsilon });
      const tight = await open(3.5);
      const refused = await tight.report(second, record, { url }).catch((error) => error);
      const wide = await open(4);
      await wide.report(second, record, { url });
      return { code: refused.code, message: refused.message, epsilon: (await wide.status()).epsilon };
    });
    assert.equal(found.code, "budget");
    assert.match(found.message, /would spend epsilon 4, and this page allows 3\.5/);
    assert.equal(found.epsilon, 4);
  });

  test("the ledger holds the report and never the record", async (t) => {
    const tab = await openTab(await profile(t));
    const stored = await tab.evaluate(async () => {
      const ledger = await api.PrivacyLedger.open({ maxEpsilon: 2 });
      const report = await ledger.report(randomizer, record, { url });
      const all = () =>
        new Promise((resolve) => {
          indexedDB.open("ldp-pca").onsuccess = ({ target: { result } }) => {
            const store = result.transaction("reports").objectStore("reports");
            store.getAll().onsuccess = ({ target }) => resolve(target.result);
          };
        });
      const waiting = await all();
      const same = waiting[0].bytes.join() === report.bytes.join();
      await ledger.flush();
      return { same, waiting: waiting.map(Object.keys), sent: (await all()).map(Object.keys) };
    });
    assert.equal(stored.same, true);
    const kept = ["taskDigest", "campaign", "url", "wave", "waves", "guarantee"];
    assert.deepEqual(stored.waiting, [[...kept, "bytes", "attempted"]]);
    assert.deepEqual(stored.sent, [[...kept, "id", "status"]]);
  });

  test("whoever has a report of the first wave makes none in the second", async (t) => {
    const context = await profile(t);
    const tab = await openTab(context);
    const first = await tab.evaluate(async () => {
      const ledger = await api.PrivacyLedger.open({ maxEpsilon: 2 });
      const report = await ledger.report(randomizer, record, { url });
      ledger.close();
      return hex(report);
    });
    await tab.close();
    const next = await openTab(context);
    const found = await next.evaluate(async (refinement) => {
      const task = api.Task.parse(refinement);
      const one = new api.Randomizer(task, { maxEpsilon: 2 });
      const ledger = await api.PrivacyLedger.open({ maxEpsilon: 2 });
      const waiting = hex(await ledger.report(one, record, { url }));
      const statuses = [];
      for (let tries = 0; tries < 2; tries += 1) statuses.push((await ledger.send(one, record, { url })).status);
      const { epsilon, reports } = await ledger.status();
      const isFirst = reports.map(({ taskDigest }) => taskDigest === randomizer.taskDigest);
      const { sent } = await ledger.withdraw(task.digest);
      return { campaign: task.campaign, waiting, statuses, epsilon, isFirst, sent };
    }, secondWave(TASK, await digestOf()));
    assert.deepEqual(found, {
      campaign: await digestOf(),
      waiting: first,
      statuses: ["accepted", "duplicate"],
      epsilon: 2,
      isFirst: [true],
      sent: true,
    });
  });

  test("where the browser denies storage there is no ledger, unless the visitor wants one that forgets", async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "ldp-pca-profile-"));
    t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
    const closed = await launchWithoutStorage(folder);
    t.after(() => closed.close());
    const tab = await openTab(closed);
    const found = await tab.evaluate(async () => {
      const { PrivacyLedger } = api;
      const asked = [];
      const answer = (agreed) => (error) => asked.push(`${error.name} ${error.code}`) && agreed;
      const refused = [
        await codeOf(PrivacyLedger.open({ maxEpsilon: 2 })),
        await codeOf(PrivacyLedger.open({ maxEpsilon: 2, onStorageDenied: answer(false) })),
        await codeOf(PrivacyLedger.open({ maxEpsilon: 2, onStorageDenied: async () => undefined })),
      ];
      const ledger = await PrivacyLedger.open({ maxEpsilon: 2, onStorageDenied: async (error) => answer(true)(error) });
      const made = await Promise.all([1, 2, 3].map(() => ledger.report(randomizer, record, { url })));
      const [{ status }] = await ledger.flush();
      return {
        asked,
        refused,
        persistent: ledger.persistent,
        different: new Set(made.map(hex)).size,
        status,
        late: await codeOf(ledger.report(randomizer, record, { url })),
      };
    });
    assert.deepEqual(found, {
      asked: ["LedgerError storage", "LedgerError storage"],
      refused: Array(3).fill("LedgerError storage"),
      persistent: false,
      different: 1,
      status: "accepted",
      late: "LedgerError spent",
    });
  });

  test("storage that does not answer is an error with a code", async (t) => {
    const tab = await openTab(await profile(t));
    const message = await tab.evaluate(async () => {
      // Keeps its connection even if somebody wants to delete the data; an opener then waits for that.
      window.kept = await new Promise((resolve) =>
        (indexedDB.open("ldp-pca").onsuccess = ({ target }) => resolve(target.result)),
      );
      const deleting = indexedDB.deleteDatabase("ldp-pca");
      await new Promise((resolve) => (deleting.onblocked = resolve));
      const timer = setTimeout;
      window.setTimeout = (end, time) => timer(end, time === 10_000 ? 100 : time);
      return api.PrivacyLedger.open({ maxEpsilon: 2 }).catch(({ code, message }) => `${code}: ${message}`);
    });
    assert.match(message, /^storage: .*it took over 10000 ms/);
  });

  test("a page that only opens the ledger sends nothing when the device comes back online, unless it says so", async (t) => {
    const context = await profile(t);
    const tab = await openTab(context);
    relayed();
    await tab.evaluate(async () => {
      window.ledger = await api.PrivacyLedger.open({ maxEpsilon: 2 });
      await ledger.report(randomizer, record, { url: relay });
      dispatchEvent(new Event("online"));
      await ledger.status();
    });
    const willing = await openTab(context);
    assert.deepEqual(relayed(), []);
    const outcomes = await willing.evaluate(async () => {
      const flushed = new Promise((onFlush) =>
        api.PrivacyLedger.open({ maxEpsilon: 2, flushOnline: true, onFlush }).then(() =>
          dispatchEvent(new Event("online")),
        ),
      );
      return (await flushed).map(({ status }) => status);
    });
    assert.deepEqual([outcomes, relayed().length], [["accepted"], 1]);
  });

  test("data that is deleted meanwhile is not a second budget in the same page, nor sent by itself", async (t) => {
    const tab = await openTab(await profile(t));
    const found = await tab.evaluate(async () => {
      const ledger = await api.PrivacyLedger.open({ maxEpsilon: 2 });
      const first = hex(await ledger.report(randomizer, record, { url }));
      await new Promise((resolve) => (indexedDB.deleteDatabase("ldp-pca").onsuccess = resolve));
      const flushed = await ledger.flush();
      const other = await codeOf(ledger.report(second, record, { url }));
      const same = hex(await ledger.report(randomizer, record, { url })) === first;
      return { flushed, other, same, status: (await ledger.send(randomizer, record, { url })).status };
    });
    assert.deepEqual(found, { flushed: [], other: "LedgerError budget", same: true, status: "accepted" });
  });

  if (name !== "Chromium") return;

  test("a database that the browser closes is opened again", async (t) => {
    const tab = await openTab(await profile(t));
    await tab.evaluate(async () => {
      window.ledger = await api.PrivacyLedger.open({ maxEpsilon: 2 });
      await ledger.status();
    });
    const session = await tab.context().newCDPSession(tab);
    const clear = () => session.send("Storage.clearDataForOrigin", { origin: server.url, storageTypes: "indexeddb" });
    const send = () => tab.evaluate(async () => (await ledger.send(randomizer, record, { url, id: undefined })).status);
    await clear();
    assert.deepEqual(await tab.evaluate(() => ledger.status()), { epsilon: 0, delta: 0, reports: [] });
    await clear();
    assert.equal(await send(), "accepted");
    await clear();
    assert.equal(await send(), "duplicate");
    await clear();
    const left = () => Promise.all([ledger.flush(), ledger.withdraw(randomizer.taskDigest)]);
    const [flushed, { sent }] = await tab.evaluate(left);
    assert.deepEqual([flushed, sent], [[], true]);
  });

  test("a report waits while the device is offline, and goes out by itself afterwards", async (t) => {
    const context = await profile(t);
    const tab = await openTab(context);
    const before = await records();
    await context.setOffline(true);
    const failed = await tab.evaluate(async () => {
      window.flushed = new Promise((resolve) => (window.onFlush = resolve));
      window.ledger = await api.PrivacyLedger.open({ maxEpsilon: 2, flushOnline: true, onFlush });
      await ledger.report(randomizer, record, { url });
      const [{ status, error, retryOn }] = await ledger.flush({ retries: 1, delay: 1 });
      return [status, error.name, error.code, retryOn, (await ledger.status()).reports[0].state];
    });
    assert.deepEqual(failed, ["pending", "SubmitError", "network", "online", "pending"]);
    await context.setOffline(false);
    const outcomes = await tab.evaluate(() => flushed);
    assert.deepEqual(outcomes.map(({ status }) => status), ["accepted"]);
    assert.equal(await records(), before + 1);
  });
}

/** Ends a tab's process, as a crash or the system would: nothing in it runs any more. */
async function crash(tab) {
  const crashed = tab.waitForEvent("crash");
  const session = await tab.context().newCDPSession(tab);
  // It never answers.
  session.send("Page.crash").catch(() => {});
  await crashed;
  await tab.close();
}
