// Taking part: the page, served by the real aggregator, and what several tabs of it see.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";

import { init, Randomizer, Task } from "../../pkg/inline.js";
import { Aggregator, Demo } from "./aggregator.js";
import { launchChromium } from "./chromium.js";
import {
  assertAccessible, assertFits, closePages, colors, DIST, openPage, pagePolicy, QUIET, screenshot, servePage, VIEWS,
} from "./page-tools.js";

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
      { name: "plan", type: "categorical", values: ["free", "paid"], unseen: "zero" },
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
  aggregator = new Aggregator(TASK, DIST);
  await aggregator.start();
  browser = await launchChromium();
  await init();
});

afterEach(() => closePages(browser));

after(async () => {
  await browser?.close();
  await aggregator?.remove();
});

/** The page with its aggregator. */
async function open(options) {
  const opened = await openPage(browser, aggregator.url, { hash: `#take-part&${QUIET}`, ...options });
  await opened.page.getByText("The aggregator is here").waitFor();
  return opened;
}

/** The status with so many reports, as the page says it. */
function here(count) {
  return `The aggregator is here: ${count.toLocaleString("en")} ${count === 1 ? "report" : "reports"} so far.`;
}

/** The section. */
const section = (page) => page.locator("#take-part");

/** The field of a column. Other labels may contain its name too. */
const field = (page, name) => section(page).getByLabel(name, { exact: true });

/** Sends the reports of people who differ most in how much they like sports. */
async function collect(count) {
  const task = Task.parse(TASK);
  const randomizer = new Randomizer(task, { maxEpsilon: 4 });
  const ids = await aggregator.ids(task.digest, count);
  const reports = ids.map((id, index) => {
    const sport = 20 * Math.sin(index);
    const record = {
      running: sport + 1,
      cycling: sport,
      swimming: sport - 1,
      gaming: 2 * Math.cos(index),
      streaming: 1,
      reading: 0.5,
      plan: index % 2 ? "free" : "paid",
      device: "phone",
      cooking: 3,
    };
    return randomizer.randomize(record, { id }).bytes;
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
  const { page, trouble } = await open();
  assert.equal(await section(page).getByText("through the relay").isVisible(), false);

  // Everything is reached by its label, and an example is filled in.
  await field(page, "running").fill("50");
  await field(page, "plan").selectOption("paid");
  await field(page, "device").selectOption("no answer");
  assert.equal(await field(page, "cooking").isVisible(), false);
  await section(page).getByText("1 more column").click();
  await field(page, "cooking").fill("2");
  assert.equal(await field(page, "comment").count(), 0, "an ignored column is not asked for");
  const send = section(page).getByRole("button", { name: "Send this report" });
  assert.equal(await send.isDisabled(), true, "there is nothing to send yet");

  // By keyboard: Enter in a field randomizes.
  await field(page, "cooking").press("Enter");
  const bytes = page.getByLabel("The report, all 35 bytes of it");
  const first = await bytes.textContent();
  assert.match(first, /^4c 44 50 52 01( [0-9a-f]{2}){30}$/);
  const own = section(page).getByRole("img", { name: /^Your record: heat map of 11 by 11/ });
  const read = section(page).getByRole("img", {
    name: /^What the aggregator reads from your report: heat map of 11 by 11/,
  });
  const [ownBefore, readBefore] = [await own.getAttribute("aria-label"), await read.getAttribute("aria-label")];
  assert.match(ownBefore, /The largest: running with itself/);
  assert.match(
    await page.locator("#take-part-guarantee").textContent(),
    /finds at most 54\.6 % .*ε\u00a0=\u00a04, δ\u00a0=\u00a00/,
  );

  // The id stays, so one in twenty draws is the same index: twenty in a row come once in 10^26 runs.
  for (let draw = 0; draw < 20 && (await bytes.textContent()) === first; draw++) {
    await section(page).getByRole("button", { name: "Randomize again" }).click();
  }
  assert.notEqual(await bytes.textContent(), first);
  assert.equal(await own.getAttribute("aria-label"), ownBefore);
  assert.notEqual(await read.getAttribute("aria-label"), readBefore);

  const before = await recordsCounted();
  await send.click();
  await page.getByText("Counted.").waitFor();
  assert.equal(await recordsCounted(), before + 1);
  await page.getByText(here(before + 1)).waitFor();
  assert.equal(await send.isDisabled(), true, "a report is sent once");
  assert.match(await page.locator("#take-part-summary").textContent(), /^Not yet: there (is 1 report|are \d+ reports)/);
  assert.deepEqual(trouble, []);
});

test("a question may be skipped", async () => {
  const { page } = await open();
  await field(page, "running").fill("");
  await field(page, "plan").selectOption("no answer");
  await section(page).getByRole("button", { name: "Randomize", exact: true }).click();
  assert.match(await page.getByLabel("The report, all 35 bytes of it").textContent(), /^4c 44 50 52 01/);
});

test("a field that holds no number has a note, and is a question that was skipped", async () => {
  const { page } = await open();
  const alert = section(page).getByRole("alert");
  const own = section(page).getByRole("img", { name: /^Your record: heat map of 11 by 11/ });
  await field(page, "running").fill("");
  const skipped = await own.getAttribute("aria-label");
  await field(page, "running").press("-");
  assert.equal(await alert.textContent(), "No number, and so as if skipped: “running”.");
  assert.equal(await own.getAttribute("aria-label"), skipped);
  await section(page).getByRole("button", { name: "Randomize", exact: true }).click();
  assert.match(await page.getByLabel("The report, all 35 bytes of it").textContent(), /^4c 44 50 52 01/);
  assert.equal(await alert.isVisible(), true);

  await field(page, "running").fill("1");
  assert.equal(await alert.isVisible(), false);
  await field(page, "running").fill("1e309");
  assert.equal(await alert.isVisible(), true);
  await section(page).getByRole("button", { name: "Randomize", exact: true }).click();
  assert.equal(await section(page).getByRole("button", { name: "Send this report" }).isDisabled(), false);
});

test("components appear once there are enough reports, and follow the choice of their number", async () => {
  const { page } = await open();
  await collect(400);
  await page.getByRole("heading", { name: "Pattern 3" }).waitFor();
  const { tasks } = await aggregator.get("/tasks");
  const { variances } = await aggregator.get(`/tasks/${tasks[0]}/recovery?rank=3`);
  const strengths = await page.locator("#take-part-components .strength").allTextContents();
  assert.deepEqual(
    strengths.map((text) => text.endsWith("no stronger than noise")),
    variances.map((variance) => variance === null),
  );
  assert.ok(variances[0] > 0, "the first pattern is sure after so many reports");
  await page.getByLabel("Number of patterns").selectOption("1");
  await page.getByRole("heading", { name: "Pattern 2" }).waitFor({ state: "detached" });
  const names = await page.locator("#take-part-components li .name").allTextContents();
  assert.equal(names.length, 8);
  assert.deepEqual(names.slice(0, 3).sort(), ["cycling", "running", "swimming"]);
  const values = await page.locator("#take-part-components li .value").allTextContents();
  const sizes = values.map((value) => Math.abs(Number(value.replace("−", "-"))));
  assert.deepEqual(sizes, sizes.toSorted((a, b) => b - a));
});

test("when the aggregator goes away the page says so, keeps what it had, and comes back with it", async () => {
  await collect(200);
  const { page } = await open();
  await page.getByRole("heading", { name: "Pattern 1" }).waitFor();
  await section(page).getByRole("button", { name: "Randomize", exact: true }).click();
  const shown = page.getByLabel("The report, all 35 bytes of it");
  const bytes = await shown.textContent();
  const records = await recordsCounted();

  await aggregator.stop();
  await page.getByText("No valid answer from the aggregator: the connection is lost. What you see is from").waitFor();
  assert.equal(await page.getByRole("heading", { name: "Pattern 1" }).isVisible(), true);
  const send = section(page).getByRole("button", { name: "Send this report" });
  await send.click();
  await page.getByText("Your report is kept; try again.").waitFor();
  assert.equal(await shown.textContent(), bytes);

  await aggregator.start();
  await page.getByText(here(records)).waitFor();
  await send.click();
  await page.getByText("Counted.").waitFor();
  assert.equal(await recordsCounted(), records + 1);
  await page.getByText(here(records + 1)).waitFor();
});

test("two tabs take part, and both see the count and the components move", async () => {
  await collect(100);
  const context = await browser.newContext();
  const [first, second] = await Promise.all([open({ context }), open({ context })]);
  const before = await recordsCounted();
  for (const { page } of [first, second]) await page.getByText(here(before)).waitFor();
  const strengths = await second.page.locator("#take-part-components .strength").allTextContents();

  let expected = before;
  for (const { page } of [first, second, first]) {
    await section(page).getByRole("button", { name: /^Randomize/ }).first().click();
    await section(page).getByRole("button", { name: "Send this report" }).click();
    expected += 1;
    for (const tab of [first, second]) await tab.page.getByText(here(expected)).waitFor();
  }
  assert.equal(await recordsCounted(), expected);
  // Reports of others are seen too, and what they change, without a hand on the page.
  await collect(300);
  for (const { page } of [first, second]) {
    await page.getByText(here(expected + 300)).waitFor();
    await page.waitForFunction(
      (before) =>
        [...document.querySelectorAll("#take-part-components .strength")].map((p) => p.textContent).join() !== before,
      strengths.join(),
    );
  }
  assert.deepEqual([...first.trouble, ...second.trouble], []);
  await context.close();
});

test("a tab that nobody sees holds no connection, and is up to date when it is seen again", async () => {
  const { page } = await open();
  const hide = (state) =>
    page.evaluate((state) => {
      Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, state);
  const before = await recordsCounted();
  await hide("hidden");
  const { page: seen } = await open();
  await collect(5);
  await seen.getByText(here(before + 5)).waitFor();
  assert.equal(await page.locator("#take-part-status").textContent(), here(before));
  await hide("visible");
  await page.getByText(here(before + 5)).waitFor();
});

test("a visitor of a demo with a relay sends through it, or directly, and both count", async () => {
  const demo = new Demo();
  try {
    await demo.start(DIST);
    const { page, trouble } = await openPage(browser, demo.url, { hash: `#take-part&${QUIET}` });
    await page.getByText("The aggregator is here").waitFor();
    const sent = [];
    page.on("request", (request) => request.method() === "POST" && sent.push(new URL(request.url()).pathname));
    const status = async () => {
      const { tasks } = await (await fetch(`${demo.url}/tasks`)).json();
      return (await fetch(`${demo.url}/tasks/${tasks[0]}/status`)).json();
    };
    const { records } = await status();
    await section(page).getByText("it hides nobody").waitFor();
    await section(page).getByRole("button", { name: "Randomize", exact: true }).click();
    await section(page).getByRole("button", { name: "Send this report" }).click();
    await page.getByText("Left with the relay: it counts when its batch is full.").waitFor();
    assert.deepEqual(sent, ["/relay/reports"]);
    // Simulated users fill its batch.
    await page.waitForFunction((before) => {
      const [digits] = document.getElementById("take-part-status").textContent.match(/[\d,]+(?= reports)/) ?? ["0"];
      return Number(digits.replaceAll(",", "")) >= before;
    }, records + 10);
    await assertAccessible(page, "#take-part");

    await section(page).getByLabel("Send through the relay").uncheck();
    await section(page).getByRole("button", { name: "Randomize again" }).click();
    await section(page).getByRole("button", { name: "Send this report" }).click();
    await page.getByText("Counted.").waitFor();
    assert.deepEqual(sent.slice(1), [`/tasks/${(await status()).task}/reports`]);
    assert.deepEqual(trouble, []);
  } finally {
    await demo.remove();
  }
});

test("a host of files says that this part needs an aggregator, and how to start one", async () => {
  const server = await servePage();
  const { page, trouble } = await openPage(browser, server.url, { hash: `#take-part&${QUIET}` });
  await page.getByText("This part needs an aggregator, and this host has none").waitFor();
  assert.equal(await page.getByText("make demo").isVisible(), true);
  assert.equal(await page.locator("#take-part-record").isVisible(), false);
  // It is asked once, and again when somebody asks for it.
  const asked = () => trouble.filter((text) => text.includes("/tasks")).length;
  assert.equal(asked(), 1);
  await page.getByRole("button", { name: "Look again" }).click();
  await page.getByText("No aggregator here.").waitFor();
  assert.equal(asked(), 2);
  assert.deepEqual(trouble.filter((text) => !text.includes("/tasks")), []);
  await server.close();
});

test("the aggregator's policy is the page's own, and forbids framing too", async () => {
  const header = (await fetch(`${aggregator.url}/`)).headers.get("content-security-policy");
  assert.equal(header, `${pagePolicy()}; frame-ancestors 'none'`);
  assert.doesNotMatch(header, /unsafe-inline|unsafe-eval(?<!wasm-unsafe-eval)|\*/);
});

for (const [view, options] of Object.entries(VIEWS)) {
  test(`it fits, is painted, and axe finds nothing: ${view}`, async () => {
    const { page } = await open(options);
    await section(page).getByRole("button", { name: "Randomize", exact: true }).click();
    await page.getByLabel("The report, all 35 bytes of it").waitFor();
    await page.getByRole("heading", { name: "Pattern 3" }).waitFor();
    await screenshot(page, "take-part", view);
    await assertFits(page);
    await assertAccessible(page, "#take-part");
    for (const canvas of await page.locator("#take-part .map canvas").all()) assert.ok((await colors(canvas)) > 10);
  });
}
