// The ledger on Chromium's own IndexedDB and locks, with tabs that race, die and go offline.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { serveAnswers } from "../js/answers.js";
import { RECORD, TASK } from "../js/task.js";
import { Aggregator } from "./aggregator.js";
import { launchChromium } from "./chromium.js";
import { serve } from "./serve.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const EMPTY = '<!doctype html><link rel="icon" href="data:,"><title>empty</title>';
const SHARED = { task: TASK, other: { ...TASK, folds: 2 }, record: RECORD };

let aggregator;
let browser;
let server;
let stalled;

before(async () => {
  aggregator = new Aggregator(TASK);
  await aggregator.start();
  // Takes a request and says nothing, until it is told what to say.
  stalled = await serveAnswers([(request, response) => stalled.answer?.(request, response)]);
  const policy = `default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src data:; connect-src 'self' ${aggregator.url} ${stalled.url}`;
  server = await serve(ROOT, { "/": EMPTY }, policy);
  browser = await launchChromium();
});

after(async () => {
  await browser?.close();
  await server?.close();
  await stalled?.close();
  await aggregator?.remove();
});

/** A profile of its own: tabs opened in it share their storage and their locks. */
async function profile(t) {
  const context = await browser.newContext();
  t.after(() => context.close());
  return context;
}

/** A tab with the package loaded, as `window.api`, and what the tests share, as `window.shared`. */
async function openTab(context) {
  const page = await context.newPage();
  await page.goto(`${server.url}/`);
  await page.evaluate(
    async ([url, shared]) => {
      const api = await import("/pkg/index.js");
      await api.init();
      const task = api.Task.parse(shared.task);
      const other = api.Task.parse(shared.other);
      const [randomizer, second] = [task, other].map((each) => new api.Randomizer(each, { maxEpsilon: 2 }));
      const hex = (report) => report.toJSON().bytes;
      const codeOf = (promise) => promise.then(String, (error) => `${error.name} ${error.code}`);
      Object.assign(window, { api, codeOf, hex, randomizer, second, record: shared.record, task, url });
    },
    [aggregator.url, SHARED],
  );
  return page;
}

async function records() {
  const { tasks } = await aggregator.get("/tasks");
  return (await aggregator.get(`/tasks/${tasks[0]}/status`)).records;
}

for (const [how, spoil] of [
  ["with locks", () => {}],
  ["without locks", () => Object.defineProperty(Navigator.prototype, "locks", { value: undefined })],
]) {
  test(`two tabs that race 100 times make and send one report each time, ${how}`, async (t) => {
    const context = await profile(t);
    await context.addInitScript(spoil);
    const tabs = [await openTab(context), await openTab(context)];
    const before = await records();
    const start = Date.now() + 500;
    const race = async ([start, races]) => {
      const ledgers = await Promise.all(
        Array.from({ length: races }, (_, index) => api.PrivacyLedger.open({ name: `race-${index}`, maxEpsilon: 2 })),
      );
      const until = (time) => new Promise((resolve) => setTimeout(resolve, time - Date.now()));
      const reports = ledgers.map(async (ledger, index) => {
        await until(start + 10 * index);
        return hex(await ledger.report(randomizer, record, { url }));
      });
      const made = await Promise.all(reports);
      const outcomes = await Promise.all(ledgers.map((ledger) => ledger.flush()));
      return { made, sent: outcomes.flat().map(({ status }) => status) };
    };
    const [first, second] = await Promise.all(tabs.map((tab) => tab.evaluate(race, [start, 100])));
    assert.deepEqual(first.made, second.made);
    assert.equal(new Set(first.made).size, 100);
    assert.equal(await records(), before + 100);
    const sent = [...first.sent, ...second.sent];
    assert.equal(sent.filter((status) => status === "accepted").length, 100);
    assert.ok(sent.every((status) => ["accepted", "duplicate"].includes(status)));
    // In turn, the second tab finds nothing left to send.
    if (how === "with locks") assert.equal(sent.length, 100);
  });
}

test("a tab killed between randomizing and sending leaves its report, and the next tab sends the same bytes", async (t) => {
  const context = await profile(t);
  const tab = await openTab(context);
  const before = await records();
  const bytes = await tab.evaluate(async () => {
    const ledger = await api.PrivacyLedger.open({ maxEpsilon: 2 });
    return hex(await ledger.report(randomizer, record, { url }));
  });
  await kill(context, tab);
  assert.equal(await records(), before);

  const next = await openTab(context);
  const bodies = [];
  next.on("request", (request) => request.method() === "POST" && bodies.push(request.postDataBuffer().toString("hex")));
  const found = await next.evaluate(async () => {
    const ledger = await api.PrivacyLedger.open({ maxEpsilon: 2 });
    const pending = (await ledger.status()).reports.map((report) => report.pending);
    const again = hex(await ledger.report(randomizer, { height: 1, plan: "free" }, { url }));
    const [{ status }] = await ledger.flush();
    const left = await ledger.flush();
    const late = await codeOf(ledger.report(randomizer, record, { url }));
    return { pending, again, status, left, late, after: await ledger.status() };
  });
  assert.deepEqual(found.pending, [true]);
  assert.equal(found.again, bytes, "the report that waits is the one report, whatever the record is now");
  assert.deepEqual(bodies, [bytes]);
  assert.equal(found.status, "accepted");
  assert.deepEqual(found.left, []);
  assert.equal(found.late, "LedgerError spent");
  assert.equal(found.after.reports[0].pending, false);
  assert.equal(found.after.epsilon, 2);
  assert.equal(await records(), before + 1);
});

test("a tab killed while its report is on the way: it counts once, from the same bytes", async (t) => {
  const context = await profile(t);
  const tab = await openTab(context);
  const before = await records();
  // The report arrives and is counted, but the tab does not live to hear of it.
  stalled.answer = (request, response) => {
    if (request.method === "OPTIONS") return allow(response).end();
    return undefined;
  };
  await tab.evaluate(async (url) => {
    const ledger = await api.PrivacyLedger.open({ maxEpsilon: 2 });
    await ledger.report(randomizer, record, { url });
    void ledger.flush();
  }, stalled.url);
  const arrived = async () => stalled.requests.filter(({ method }) => method === "POST").map(({ body }) => body);
  while ((await arrived()).length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  const [lost] = await arrived();
  await kill(context, tab);
  const path = stalled.requests.at(-1).url;
  const headers = { "content-type": "application/vnd.ldp-pca.reports" };
  const counted = await fetch(aggregator.url + path, { method: "POST", headers, body: lost });
  assert.equal((await counted.json()).accepted, 1);

  stalled.answer = async (request, response) => {
    if (request.method === "OPTIONS") return allow(response).end();
    const answer = await fetch(aggregator.url + path, { method: "POST", headers, body: stalled.requests.at(-1).body });
    return allow(response, { "content-type": "application/json" }).end(await answer.text());
  };
  const outcomes = await (await openTab(context)).evaluate(async () => {
    const ledger = await api.PrivacyLedger.open({ maxEpsilon: 2 });
    return ledger.flush();
  });
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ["duplicate"],
  );
  const [first, second, ...others] = await arrived();
  assert.deepEqual([second, others], [first, []]);
  assert.equal(await records(), before + 1);
});

test("a report waits while the device is offline, and goes out by itself when it is back", async (t) => {
  const context = await profile(t);
  const tab = await openTab(context);
  const before = await records();
  await context.setOffline(true);
  const failed = await tab.evaluate(async () => {
    window.flushed = new Promise((resolve) => (window.onFlush = resolve));
    window.ledger = await api.PrivacyLedger.open({ maxEpsilon: 2, onFlush });
    await ledger.report(randomizer, record, { url });
    const [{ error }] = await ledger.flush({ retries: 1, delay: 1 });
    return [error.name, error.code, (await ledger.status()).reports[0].pending];
  });
  assert.deepEqual(failed, ["SubmitError", "network", true]);
  await context.setOffline(false);
  const outcomes = await tab.evaluate(() => flushed);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ["accepted"],
  );
  assert.equal(await records(), before + 1);
});

test("what cannot be delivered stays, with its error", async (t) => {
  const tab = await openTab(await profile(t));
  const found = await tab.evaluate(async () => {
    const ledger = await api.PrivacyLedger.open({ maxEpsilon: 8 });
    // The aggregator does not have the other task.
    await ledger.report(second, record, { url });
    await ledger.report(randomizer, record, { url });
    const outcomes = await ledger.flush();
    const { reports } = await ledger.status();
    const stopped = await ledger.flush({ signal: AbortSignal.abort("enough") }).catch((reason) => reason);
    return {
      outcomes: Object.fromEntries(outcomes.map(({ taskDigest, status, error }) => [taskDigest, status ?? error.code])),
      pending: Object.fromEntries(reports.map(({ taskDigest, pending }) => [taskDigest, pending])),
      digests: [randomizer.taskDigest, second.taskDigest],
      stopped,
    };
  });
  const [good, unknown] = found.digests;
  assert.deepEqual(found.outcomes, { [good]: "accepted", [unknown]: "not-found" });
  assert.deepEqual(found.pending, { [good]: false, [unknown]: true });
  assert.equal(found.stopped, "enough");
});

test("the budget is for all tasks, survives a reload, and is not spent by what fails", async (t) => {
  const context = await profile(t);
  let tab = await openTab(context);
  const failures = await tab.evaluate(async () => {
    const { PrivacyLedger } = api;
    const ledger = await PrivacyLedger.open({ maxEpsilon: 3.5 });
    return [
      await codeOf(PrivacyLedger.open()),
      await codeOf(PrivacyLedger.open({ maxEpsilon: Number.NaN })),
      await codeOf(PrivacyLedger.open({ maxEpsilon: 2, maxDelta: -1 })),
      await codeOf(ledger.report(randomizer, { ...record, plan: "gratis" }, { url })),
      await codeOf(ledger.report(randomizer, record)),
      await codeOf(ledger.report(randomizer, record, { url: "https://" })),
      await codeOf(ledger.report(undefined, record, { url })),
      JSON.stringify(await ledger.status()),
    ];
  });
  assert.deepEqual(failures, [
    "ArgumentError argument",
    "ArgumentError argument",
    "ArgumentError argument",
    "RecordError schema",
    "ArgumentError argument",
    "ArgumentError argument",
    "ArgumentError argument",
    '{"epsilon":0,"delta":0,"reports":[]}',
  ]);
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
          result.transaction("reports").objectStore("reports").getAll().onsuccess = ({ target }) => resolve(target.result);
        };
      });
    const waiting = await all();
    const same = waiting[0].bytes.join() === report.bytes.join();
    await ledger.flush();
    return { same, waiting: waiting.map(Object.keys), sent: (await all()).map(Object.keys) };
  });
  assert.equal(stored.same, true);
  assert.deepEqual(stored.waiting, [["taskDigest", "guarantee", "url", "bytes"]]);
  assert.deepEqual(stored.sent, [["taskDigest", "guarantee"]]);
});

test("where the browser denies storage there is no ledger, unless the visitor agrees to one that forgets", async (t) => {
  // As in the settings of the browser: no site may keep data.
  const folder = mkdtempSync(join(tmpdir(), "ldp-pca-profile-"));
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  mkdirSync(join(folder, "Default"));
  const preferences = { profile: { default_content_setting_values: { cookies: 2 } } };
  writeFileSync(join(folder, "Default/Preferences"), JSON.stringify(preferences));
  const context = await launchChromium({ profile: folder });
  t.after(() => context.close());
  const tab = await openTab(context);
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

test("data that is deleted meanwhile is an error, and not a second budget in the same page", async (t) => {
  const tab = await openTab(await profile(t));
  const found = await tab.evaluate(async () => {
    const ledger = await api.PrivacyLedger.open({ maxEpsilon: 2 });
    await ledger.report(randomizer, record, { url });
    await new Promise((resolve) => (indexedDB.deleteDatabase("ldp-pca").onsuccess = resolve));
    return [await codeOf(ledger.report(randomizer, record, { url })), await codeOf(ledger.flush())];
  });
  assert.deepEqual(found, ["LedgerError storage", "LedgerError storage"]);
});

/** Ends a tab's process, as a crash or the system would: nothing in it runs any more. */
async function kill(context, tab) {
  const crashed = tab.waitForEvent("crash");
  const session = await context.newCDPSession(tab);
  // It never answers.
  session.send("Page.crash").catch(() => {});
  await crashed;
  await tab.close();
}

/** An answer that pages of any origin may read. */
function allow(response, headers = {}) {
  const cors = { "access-control-allow-origin": "*", "access-control-allow-headers": "content-type" };
  return response.writeHead(200, { ...cors, ...headers });
}
