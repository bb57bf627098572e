// The ledger on the browsers' own IndexedDB and locks: tabs that race, a tab that dies, and storage that goes away.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { scratchFolder } from "../js/folder.js";
import { RECORD, TASK } from "../js/task.js";
import { Aggregator, OWN_IDS } from "./aggregator.js";
import { asked } from "./asked.js";
import { launchChromium } from "./chromium.js";
import { launchFirefox } from "./firefox.js";
import { EMPTY, inEachBrowser, PATIENCE, policyFor, ROOT, served } from "./pages.js";

const aggregator = Aggregator.forTests(TASK, undefined, OWN_IDS);
const server = served(ROOT, { "/": EMPTY }, () => policyFor(aggregator.url));

/** A tab with the package loaded, as `window.api`, and what the tests share. */
async function openTab(context) {
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  await page.goto(`${server.url}/`);
  await page.evaluate(async ([url, task, record]) => {
    const api = await import("/pkg/index.js");
    await api.init();
    const randomizer = new api.Randomizer(api.Task.parse(task), { maxEpsilon: 2 });
    const hex = (report) => report.toJSON().bytes;
    const codeOf = (promise) => promise.then(String, (error) => `${error.name} ${error.code}`);
    Object.assign(window, { api, codeOf, hex, randomizer, record, url });
  }, [aggregator.url, TASK, RECORD]);
  return page;
}

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

inEachBrowser(ledgerTests, BROWSERS);

function ledgerTests(name, browser, { newProfile, kill, launchWithoutStorage }) {
  /** Tabs opened in it share their storage and their locks, with no others. */
  async function profile(t) {
    const context = await newProfile(browser());
    t.after(() => context.close());
    return context;
  }

  for (const how of ["with locks", "without locks"]) {
    test(`two tabs that race 100 times make and send one report each time, ${how}`, async (t) => {
      const context = await profile(t);
      const tabs = [await openTab(context), await openTab(context)];
      const before = await aggregator.records();
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
      assert.equal(await aggregator.records(), before + 100);
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
    const before = await aggregator.records();
    const bytes = await tab.evaluate(async () => {
      const ledger = await api.PrivacyLedger.open({ maxEpsilon: 2 });
      return hex(await ledger.report(randomizer, record, { url }));
    });
    await kill(tab);
    assert.equal(await aggregator.records(), before);

    const found = await (await openTab(context)).evaluate(async () => {
      const ledger = await api.PrivacyLedger.open({ maxEpsilon: 2 });
      const pending = (await ledger.status()).reports.map((report) => report.state);
      const again = hex(await ledger.report(randomizer, { height: 1, plan: "free" }, { url }));
      const sent = (await ledger.flush()).map(({ id, status }) => [id, status]);
      const late = await codeOf(ledger.report(randomizer, record, { url }));
      return { pending, again, sent, late, epsilon: (await ledger.status()).epsilon };
    });
    const sent = [[bytes.slice(26, 58), "accepted"]];
    const late = "LedgerError spent";
    assert.deepEqual(found, { pending: ["pending"], again: bytes, sent, late, epsilon: 2 });
    assert.equal(await aggregator.records(), before + 1);
  });

  test("where the browser denies storage there is no ledger, unless the visitor wants one that forgets", async (t) => {
    // What comes after a test comes in the order that is said: while it runs, the browser writes into the folder.
    let closed;
    t.after(() => closed?.close());
    closed = await launchWithoutStorage(scratchFolder(t));
    const tab = await openTab(closed);
    const found = await tab.evaluate(async () => {
      const open = (options) => api.PrivacyLedger.open({ maxEpsilon: 2, ...options });
      const refused = await codeOf(open());
      const ledger = await open({ onStorageDenied: async ({ code }) => code === "storage" });
      const made = await Promise.all([1, 2, 3].map(() => ledger.report(randomizer, record, { url })));
      const [{ status }] = await ledger.flush();
      const late = await codeOf(ledger.report(randomizer, record, { url }));
      return { refused, persistent: ledger.persistent, different: new Set(made.map(hex)).size, status, late };
    });
    assert.deepEqual(found, {
      refused: "LedgerError storage",
      persistent: false,
      different: 1,
      status: "accepted",
      late: "LedgerError spent",
    });
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
