// The page in Firefox: every part that computes does so there too.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { launchFirefox } from "./firefox.js";
import { eventually, SECTIONS, servePage } from "./page-tools.js";
import { openPage } from "./pages.js";

let browser;
let server;

before(async () => {
  server = await servePage();
  browser = await launchFirefox();
});

after(async () => {
  await browser?.close();
  await server?.close();
});

test("the page works in Firefox, part by part", async () => {
  const { page, errors } = await openPage(browser, server.url);
  const text = (selector) =>
    page.evaluate((selector) => document.querySelector(selector)?.textContent.replace(/\s+/g, " ").trim() ?? "", selector);
  const click = (selector) => page.evaluate((selector) => document.querySelector(selector).click(), selector);

  const first = await eventually(() => text("#one-report-bytes"), (bytes) => /^4c 44 50 52/.test(bytes));
  await click("#one-report-again");
  assert.notEqual(await text("#one-report-bytes"), first);
  assert.match(await text("#one-report-guarantee"), /factor of at most 7\.39/);

  for (const section of SECTIONS) {
    await page.evaluate((section) => document.getElementById(section).scrollIntoView(), section);
  }
  await eventually(
    () => page.evaluate(() => document.querySelector("#sparse-fantope canvas").getAttribute("aria-label")),
    (label) => /heat map of 40 by 40/.test(label),
    30_000,
  );
  await eventually(() => text("#take-part-status"), (status) => status === "No aggregator here.");
  assert.deepEqual(
    errors.filter((message) => !message.includes("404")),
    [],
  );
});
