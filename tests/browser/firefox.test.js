// What depends on the browser more than the arithmetic does: storage, locks and workers, in Firefox. The tests of the
// ledger and of the worker in Chromium go further.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { RECORD, TASK } from "../js/task.js";
import { Aggregator } from "./aggregator.js";
import { launchFirefox } from "./firefox.js";
import { serve } from "./serve.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const VECTORS = join(ROOT, "tests/vectors/v1");
const EMPTY = '<!doctype html><link rel="icon" href="data:,"><title>empty</title>';
const SCRIPTS = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src data:";

let aggregator;
let browser;
let digest;
let server;

before(async () => {
  aggregator = new Aggregator(TASK);
  await aggregator.start();
  [digest] = (await aggregator.get("/tasks")).tasks;
  server = await serve(ROOT, { "/": EMPTY }, `${SCRIPTS}; connect-src 'self' ${aggregator.url}`);
  browser = await launchFirefox();
});

after(async () => {
  await browser?.close();
  await server?.close();
  await aggregator?.remove();
});

for (const file of readdirSync(VECTORS)) {
  test(`${file}: the same bytes from a worker in Firefox as natively`, async () => {
    const page = await browser.newPage();
    await page.goto(`${server.url}/`);
    const differences = await page.evaluate(
      async (vectors) => {
        const api = await import("/pkg/worker.js");
        const { differences } = await import("/tests/js/vectors.js");
        await api.init();
        return differences(api, vectors);
      },
      JSON.parse(readFileSync(join(VECTORS, file), "utf8")),
    );
    assert.deepEqual(differences, []);
  });
}

/** A tab with the package loaded; `window.ledgerOf(name)` opens a ledger. Tabs of one context share their storage. */
async function openTab(context) {
  const page = await context.newPage();
  await page.goto(`${server.url}/`);
  await page.evaluate(
    async ([url, document, record]) => {
      const { init, PrivacyLedger, Randomizer, Task } = await import("/pkg/index.js");
      await init();
      const randomizer = new Randomizer(Task.parse(document), { maxEpsilon: 2 });
      const ledgerOf = (name) => PrivacyLedger.open({ name, maxEpsilon: 2 });
      const report = async (name) => (await (await ledgerOf(name)).report(randomizer, record, { url })).toJSON().bytes;
      const code = (promise) => promise.catch((error) => `${error.name} ${error.code}`);
      Object.assign(window, { code, ledgerOf, report });
    },
    [aggregator.url, TASK, RECORD],
  );
  return page;
}

async function records() {
  return (await aggregator.get(`/tasks/${digest}/status`)).records;
}

test("tabs that race in Firefox make one report, and send it once", async (t) => {
  const context = await browser.createBrowserContext();
  t.after(() => context.close());
  const tabs = [await openTab(context), await openTab(context)];
  for (let round = 0; round < 20; round += 1) {
    const before = await records();
    const name = `race ${round}`;
    const [one, other] = await Promise.all(tabs.map((tab) => tab.evaluate((name) => window.report(name), name)));
    assert.equal(one, other);
    const flush = async (name) => (await (await window.ledgerOf(name)).flush()).map(({ status }) => status);
    const outcomes = await Promise.all(tabs.map((tab) => tab.evaluate(flush, name)));
    assert.deepEqual(outcomes.flat(), ["accepted"]);
    assert.equal(await records(), before + 1);
  }
});

test("a report outlives the tab that made it in Firefox, and afterwards there is no other", async (t) => {
  const context = await browser.createBrowserContext();
  t.after(() => context.close());
  const before = await records();
  const first = await openTab(context);
  const made = await first.evaluate(() => window.report("reload"));
  await first.close();

  const second = await openTab(context);
  assert.equal(await second.evaluate(() => window.report("reload")), made);
  const outcomes = await second.evaluate(async () => (await window.ledgerOf("reload")).flush());
  assert.deepEqual(outcomes, [{ taskDigest: digest, status: "accepted" }]);
  await second.close();

  const third = await openTab(context);
  assert.equal(await third.evaluate(() => window.code(window.report("reload"))), "LedgerError spent");
  assert.equal(await records(), before + 1);
});

test("where Firefox denies storage there is no ledger", async (t) => {
  // What the setting that blocks all cookies and site data sets.
  const strict = await launchFirefox({ extraPrefsFirefox: { "network.cookie.cookieBehavior": 2 } });
  t.after(() => strict.close());
  const page = await openTab(strict);
  assert.equal(await page.evaluate(() => window.code(window.ledgerOf("denied"))), "LedgerError storage");
});
