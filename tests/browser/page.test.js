// The demo page, built and served by the real aggregator.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { init, Randomizer, Task } from "../../pkg/node.js";
import { Aggregator } from "./aggregator.js";
import { launchChromium } from "./chromium.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SCREENSHOTS = join(ROOT, "tests/browser/screenshots");

// More columns than the page shows at first, of all kinds.
const TASK = {
  version: 1,
  schema: {
    columns: [
      ...["running", "cycling", "swimming", "gaming", "streaming", "reading"].map((name) => ({
        name,
        type: "numeric",
        offset: 0,
        scale: 5,
      })),
      { name: "comment", type: "ignored" },
      { name: "plan", type: "categorical", values: ["free", "paid"], unseen: "error" },
      { name: "device", type: "categorical", values: ["phone", "desktop"], unseen: "zero" },
      { name: "cooking", type: "numeric", offset: 1, scale: 4 },
    ],
  },
  bounding: { type: "unit-norm" },
  mechanism: { type: "double-cap", epsilon: 4, candidates: 256, cap: 9 },
  folds: 1,
};

let aggregator;
let browser;

before(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  aggregator = new Aggregator(TASK, join(ROOT, "www/dist"));
  await aggregator.start();
  browser = await launchChromium();
  await init();
});

after(async () => {
  await browser?.close();
  await aggregator?.remove();
});

/** The page, with what it asks other hosts for and what goes wrong in it. */
async function openPage(options) {
  const page = await browser.newPage(options);
  const trouble = [];
  page.on("pageerror", (error) => trouble.push(error.message));
  page.on("console", (message) => message.type() === "error" && trouble.push(message.text()));
  page.on("request", (request) => request.url().startsWith(`${aggregator.url}/`) || trouble.push(request.url()));
  await page.goto(`${aggregator.url}/`);
  await page.getByText("The aggregator is here").waitFor();
  return { page, trouble };
}

/** The field of a column. Other labels may contain its name too. */
function field(page, name) {
  return page.getByLabel(name, { exact: true });
}

/** Sends the reports of people who differ most in how much they like sports. */
async function collect(count) {
  const task = Task.parse(TASK);
  const randomizer = new Randomizer(task, { maxEpsilon: 4 });
  const reports = Array.from({ length: count }, (_, index) => {
    const sport = 20 * Math.sin(index);
    const { bytes } = randomizer.randomize({
      running: sport + 1,
      cycling: sport,
      swimming: sport - 1,
      gaming: 2 * Math.cos(index),
      streaming: 1,
      reading: 0.5,
      plan: index % 2 ? "free" : "paid",
      device: "phone",
      cooking: 3,
    });
    return bytes;
  });
  const response = await fetch(`${aggregator.url}/tasks/${task.digest}/reports`, {
    method: "POST",
    headers: { "content-type": "application/vnd.ldp-pca.reports" },
    body: Buffer.concat(reports),
  });
  assert.equal(response.status, 200);
}

async function recordsCounted() {
  const { tasks } = await aggregator.get("/tasks");
  return (await aggregator.get(`/tasks/${tasks[0]}/status`)).records;
}

test("a visitor fills in a record, randomizes it, looks at it, and sends the report", async () => {
  const { page, trouble } = await openPage();

  // Everything is reached by its label, and an example is filled in.
  await field(page, "running").fill("50");
  await field(page, "plan").selectOption("paid");
  await field(page, "device").selectOption("something else");
  assert.equal(await field(page, "cooking").isVisible(), false);
  await page.getByText("1 more column").click();
  await field(page, "cooking").fill("2");
  assert.equal(await field(page, "comment").count(), 0, "an ignored column is not asked for");
  const send = page.getByRole("button", { name: "Send this report" });
  assert.equal(await send.isDisabled(), true, "there is nothing to send yet");

  // By keyboard: Enter in a field randomizes.
  await field(page, "cooking").press("Enter");
  const bytes = page.getByLabel("The report, all 35 bytes of it");
  const first = await bytes.textContent();
  assert.match(first, /^4c 44 50 52 01( [0-9a-f]{2}){30}$/);
  const own = page.getByRole("img", { name: /^Your record: heat map of 11 by 11/ });
  const read = page.getByRole("img", { name: /^What the aggregator reads from your report: heat map of 11 by 11/ });
  const [ownBefore, readBefore] = [await own.getAttribute("aria-label"), await read.getAttribute("aria-label")];
  assert.match(ownBefore, /The largest: running with itself/);
  assert.match(
    await page.locator("#guarantee").textContent(),
    /factor of at most 54\.6\. .*ε\u00a0=\u00a04, δ\u00a0=\u00a00/,
  );

  await page.getByRole("button", { name: "Randomize again" }).click();
  assert.notEqual(await bytes.textContent(), first);
  assert.equal(await own.getAttribute("aria-label"), ownBefore);
  assert.notEqual(await read.getAttribute("aria-label"), readBefore);

  const before = await recordsCounted();
  await send.click();
  await page.getByText("Counted.").waitFor();
  assert.equal(await recordsCounted(), before + 1);
  await page.getByText(`The aggregator is here: ${before + 1} report`).waitFor();
  assert.equal(await send.isDisabled(), true, "a report is sent once");
  assert.match(await page.locator("#recovery-summary").textContent(), /^Not yet: there are \d+ reports/);
  // The refusal of components is expected, and the browser logs it.
  assert.deepEqual(
    trouble.filter((text) => !text.includes("409")),
    [],
  );
});

test("records that cannot be randomized explain themselves in place", async () => {
  const { page } = await openPage();
  await field(page, "running").fill("");
  await page.getByRole("button", { name: "Randomize", exact: true }).click();
  assert.match(await page.getByRole("alert").textContent(), /“running” needs a number/);
  assert.equal(await field(page, "running").evaluate((input) => input === document.activeElement), true);

  await field(page, "running").fill("1");
  assert.equal(await page.getByRole("alert").isVisible(), false);
  // A field out of sight is brought into sight.
  await page.getByText("1 more column").click();
  await field(page, "cooking").fill("");
  await page.getByText("1 more column").click();
  await page.getByRole("button", { name: "Randomize", exact: true }).click();
  assert.equal(await field(page, "cooking").evaluate((input) => input === document.activeElement), true);
  await field(page, "cooking").fill("3");
  assert.equal(await page.getByRole("alert").isVisible(), false);
  await field(page, "running").fill("1e309");
  assert.equal(await page.getByRole("alert").isVisible(), true);
  assert.equal(await page.getByRole("button", { name: "Send this report" }).isDisabled(), true);
});

test("components appear once there are enough reports, and follow the choice of their number", async () => {
  const { page } = await openPage();
  await collect(400);
  await page.getByRole("heading", { name: "Pattern 3" }).waitFor();
  const { tasks } = await aggregator.get("/tasks");
  const { eigenvalues, noise_edge } = await aggregator.get(`/tasks/${tasks[0]}/recovery?rank=3`);
  const strengths = await page.locator("#components .strength").allTextContents();
  assert.deepEqual(
    strengths.map((text) => text.endsWith("no stronger than noise")),
    eigenvalues.map((eigenvalue) => eigenvalue <= noise_edge),
  );
  assert.ok(eigenvalues[0] > noise_edge, "the first pattern is sure after so many reports");
  await page.getByLabel("Number of patterns").selectOption("1");
  await page.getByRole("heading", { name: "Pattern 2" }).waitFor({ state: "detached" });
  const names = await page.locator("#components li .name").allTextContents();
  assert.equal(names.length, 8);
  assert.deepEqual(names.slice(0, 3).sort(), ["cycling", "running", "swimming"]);
  const values = await page.locator("#components li .value").allTextContents();
  const sizes = values.map((value) => Math.abs(Number(value.replace("−", "-"))));
  assert.deepEqual(
    sizes,
    sizes.toSorted((a, b) => b - a),
  );
});

test("when the aggregator goes away the page says so, keeps what it had, and comes back with it", async () => {
  await collect(200);
  const { page } = await openPage();
  await page.getByRole("heading", { name: "Pattern 1" }).waitFor();
  await page.getByRole("button", { name: "Randomize", exact: true }).click();
  const bytes = await page.locator("#bytes").textContent();
  const records = await recordsCounted();

  await aggregator.stop();
  await page
    .getByText("No good answer from the aggregator: the aggregator does not answer. What you see is from")
    .waitFor();
  assert.equal(await page.getByRole("heading", { name: "Pattern 1" }).isVisible(), true);
  const send = page.getByRole("button", { name: "Send this report" });
  await send.click();
  await page.getByText("Your report is kept; try again.").waitFor();
  assert.equal(await page.locator("#bytes").textContent(), bytes);

  await aggregator.start();
  await page.getByText(`The aggregator is here: ${records} reports`).waitFor();
  await send.click();
  await page.getByText("Counted.").waitFor();
  assert.equal(await recordsCounted(), records + 1);
});

const VIEWS = {
  light: { viewport: { width: 1200, height: 900 } },
  dark: { viewport: { width: 1200, height: 900 }, colorScheme: "dark" },
  phone: { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true },
};

for (const [name, options] of Object.entries(VIEWS)) {
  test(`the page fits: ${name}`, async () => {
    const { page } = await openPage(options);
    await page.getByRole("button", { name: "Randomize", exact: true }).click();
    await page.getByRole("heading", { name: "Pattern 3" }).waitFor();
    await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });
    const { content, width } = await page.evaluate(() => ({
      content: document.documentElement.scrollWidth,
      width: document.documentElement.clientWidth,
    }));
    assert.ok(content <= width, `${content} pixels of content in ${width}`);
    // The maps are painted: more than one colour in each.
    for (const canvas of await page.locator("canvas").all()) {
      const colors = await canvas.evaluate((canvas) => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return new Set(new Uint32Array(data.buffer)).size;
      });
      assert.ok(colors > 10, `${colors} colours`);
    }
  });
}
