// The owner's pages of an aggregator: the list of collections, and a result.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after } from "node:test";

import { run } from "../js/command-line.js";
import { scratchFolder } from "../js/folder.js";
import { inTurn } from "../js/hooks.js";
import { Aggregator, OWN_IDS } from "./aggregator.js";
import { inChromium, isAsked } from "./asked.js";
import { launchChromium } from "./chromium.js";
import { assertAccessible, assertFits, openPage, VIEWS } from "./page-tools.js";
import { ROOT } from "./pages.js";

const TASK = join(ROOT, "examples/task.json");
const folder = scratchFolder();
const aggregator = Aggregator.forTests(JSON.parse(readFileSync(TASK, "utf8")), undefined, OWN_IDS);
let browser;

inTurn(async () => {
  const reports = join(folder, "reports.ldpr");
  const records = [join(ROOT, "examples/survey.csv"), "--insecure-seed", "1", "--output", reports];
  run("randomize", "--task", TASK, ...records);
  run("submit", reports, "--task", TASK, "--url", aggregator.url);
  if (isAsked("Chromium")) browser = await launchChromium();
});

after(() => browser?.close());

const views = { ...VIEWS, "printed, of a dark screen": { ...VIEWS.dark, media: "print" } };
for (const [view, { media, ...options }] of Object.entries(views)) {
  inChromium(`the list of collections and a result fit, and axe finds nothing: ${view}`, async () => {
    const { page, trouble } = await openPage(browser, aggregator.url, { hash: "tasks", ...options });
    if (media) await page.emulateMedia({ media });
    const check = async () => {
      await assertFits(page);
      await assertAccessible(page);
    };
    await check();
    await page.getByRole("link", { name: "Result" }).click();
    await page.getByRole("heading", { level: 1, name: /stand out of 5,000 reports/ }).waitFor();
    await check();
    assert.deepEqual(trouble, []);
    await page.close();
  });
}
