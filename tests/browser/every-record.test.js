// Every record has a report in every browser, whatever it holds, from the page and from its worker.

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { asked } from "./asked.js";
import { BROWSERS, EMPTY, inEachBrowser, PATIENCE, policyFor, ROOT, served } from "./pages.js";
import { launchWebKit, withoutWebKit } from "./webkit.js";

const ENTRIES = ["/pkg/index.js", "/pkg/worker.js"];

const server = served(ROOT, { "/": EMPTY }, policyFor());
const WEBKIT = asked({ WebKit: { launch: launchWebKit, skip: withoutWebKit() } });

inEachBrowser((name, browser) => {
  let page;

  before(async () => {
    page = await (name === "WebKit" ? await browser().newContext() : browser()).newPage();
    page.setDefaultTimeout?.(PATIENCE);
    await page.goto(`${server.url}/`);
  });

  for (const entry of ENTRIES) {
    test(`through ${entry} a record of any content has a report, and the console no value of it`, async () => {
      const { wrong, warned } = await page.evaluate(async (entry) => {
        const api = await import(entry);
        const { refusals } = await import("/tests/js/any-record.js");
        await api.init();
        const warned = [];
        console.warn = (...words) => warned.push(words.join(" "));
        const seeded = entry === "/pkg/index.js";
        return { wrong: await refusals(api, { seed: 20_261_129, tasks: 60, seeded }), warned };
      }, entry);
      assert.deepEqual(wrong, []);
      for (const text of warned) assert.doesNotMatch(text, /s3cret|spring|xxx/);
    });
  }
}, { ...BROWSERS, ...WEBKIT });
