// The page in Firefox: every part that computes does so there too.

import assert from "node:assert/strict";
import { after, before } from "node:test";

import { numericColumns, TASK } from "../js/task.js";
import { Aggregator } from "./aggregator.js";
import { inFirefox } from "./asked.js";
import { launchFirefox } from "./firefox.js";
import { click, DIST, eventually, pagePolicy, said, saying, scrollAll } from "./page-tools.js";
import { openPage, served, until } from "./pages.js";

const server = served(DIST, {}, pagePolicy);
let browser;

before(async () => (browser = await launchFirefox()));

after(() => browser?.close());

inFirefox("every part of the first page computes in Firefox", async () => {
  const { page, errors } = await openPage(browser, server.url);
  await saying(page, "#map-share", /^With 1 person: \d+ % of the structure$/);
  await page.evaluate(() => {
    const slider = document.getElementById("map-people");
    slider.value = slider.max;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
  });
  // The reports are random: 1 run of 10,000 finds 99.5 % or more, and hardly any less than 90 %.
  await saying(page, "#map-share", /^With 20,000 people: (9\d|100) % of the structure$/);
  await saying(page, "#error-status", /^Predicted/);
  await click(page, "#error-run");
  await saying(page, "#error-status", /simulations? done|^Done/);
  await scrollAll(page, "");
  await saying(page, "#planner-answer", /people find 90 % of the structure/);
  await saying(page, "#take-part-status", /^No aggregator here\.$/);
  await click(page, "#take-part-send");
  await saying(page, "#take-part-bytes", /^4c 44 50 52/);
  await saying(page, "#take-part-scores", /hiking/);
  assert.deepEqual(errors.filter((message) => !message.includes("404")), []);
  await page.close();
});

inFirefox("every part of the second page computes in Firefox", async () => {
  const { page, errors } = await openPage(browser, server.url, "/methods.html");
  const first = await saying(page, "#one-report-bytes", /^4c 44 50 52/);
  await click(page, "#one-report-again");
  assert.notEqual(await said(page, "#one-report-bytes"), first);
  assert.match(await said(page, "#one-report-guarantee"), /at most 74 of 1000/);
  await saying(page, "#error-status", /^Predicted/);
  await click(page, "#waves-form input");
  await saying(page, "#error-records-waves", /^Two waves are not worth it up to n ≈ [\d,]+, where /);
  await scrollAll(page, "methods.html");
  await click(page, "#sparse-run");
  const label = (selector) =>
    page.evaluate((selector) => document.querySelector(selector).getAttribute("aria-label") ?? "", selector);
  await eventually(() => label("#sparse-fantope canvas"), (label) => /heat map of 40 by 40/.test(label));
  await eventually(() => label("#trust-chart .plot"), (label) => /Local: predicted from/.test(label));
  assert.deepEqual(errors.filter((message) => !message.includes("404")), []);
  await page.close();
});

inFirefox("a report from Firefox counts, and the count comes back by itself", async (t) => {
  const aggregator = await Aggregator.during(t, { ...TASK, schema: { columns: numericColumns(2) } }, DIST);
  const { page, errors } = await openPage(browser, aggregator.url);
  await saying(page, "#take-part-status", /^The aggregator is here: 0 reports so far\.$/);
  await click(page, "#take-part-send");
  const agree = () => {
    const dialog = document.querySelector("ldp-pca-consent")?.shadowRoot?.querySelector("dialog[open]");
    dialog?.querySelector("button:last-child").click();
    return dialog !== undefined && dialog !== null;
  };
  await until(() => page.evaluate(agree));
  await saying(page, "#take-part-sent", /^Counted\./);
  await saying(page, "#take-part-status", /^The aggregator is here: 1 report so far\.$/);
  await aggregator.stop();
  await saying(page, "#take-part-status", /^No valid answer from the aggregator/);
  await aggregator.start();
  await saying(page, "#take-part-status", /^The aggregator is here: 1 report so far\.$/);
  // Firefox writes down that connections were lost.
  assert.deepEqual(errors.filter((message) => !/40[14]|connection|Loading failed/i.test(message)), []);
  await page.close();
});
