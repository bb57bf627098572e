// Taking part: the page, served by the real aggregator, and what several tabs of it see.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";

import { init, Randomizer, Task } from "../../pkg/inline.js";
import { TASK as SMALL } from "../js/task.js";
import { Aggregator, Demo } from "./aggregator.js";
import { launchChromium } from "./chromium.js";
import {
  assertAccessible, assertFits, closePages, colors, DIST, eventually, openPage, pagePolicy, QUIET, screenshot,
  slide, VIEWS,
} from "./page-tools.js";
import { serveUntilEnd } from "./serve.js";

// More columns than the page shows at first, of all kinds.
const TASK = {
  ...SMALL,
  schema: {
    columns: [
      ...[
        ...["running", "cycling", "swimming", "gaming", "streaming"],
        ...["reading", "chess", "crafts", "walking", "music"],
      ].map((name) => ({ name, type: "numeric", offset: 0, scale: 5 })),
      { name: "comment", type: "ignored" },
      { name: "plan", type: "categorical", values: ["free", "paid"], unseen: "zero" },
      { name: "device", type: "categorical", values: ["phone", "desktop"], unseen: "zero" },
      { name: "cooking", type: "numeric", offset: 1, scale: 4 },
    ],
  },
  mechanism: { type: "double-cap", epsilon: 4, candidates: 256, cap: 9 },
};

const aggregator = Aggregator.forTests(TASK, DIST);
let browser;

before(async () => {
  browser = await launchChromium();
  await init();
});

afterEach(() => closePages(browser));

after(() => browser?.close());

/** An aggregator that publishes no components says so, and the browser logs it. */
const NO_COMPONENTS = ["/components"];

/** The page with its aggregator. */
async function open(options) {
  const hash = `#take-part&${QUIET}`;
  const opened = await openPage(browser, aggregator.url, { hash, expected: NO_COMPONENTS, ...options });
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

const takePart = (page) => section(page).getByRole("button", { name: "Take part …" });

/** Takes part, and agrees in the dialog. */
async function agree(page) {
  await takePart(page).click();
  await page.getByRole("dialog").getByRole("button").last().click();
}

/** Sends the reports of people who differ most in how much they like sports. */
async function collect(count) {
  const task = Task.parse(TASK);
  const randomizer = new Randomizer(task, { maxEpsilon: 4 });
  const ids = await aggregator.ids(task.digest, count);
  const reports = ids.map((id, index) => {
    const sport = 20 * Math.sin(index);
    const hobbies = { gaming: 2 * Math.cos(index), streaming: 1, reading: 0.5, cooking: 3 };
    const none = { chess: 0, crafts: 0, walking: 0, music: 0 };
    const categories = { plan: index % 2 ? "free" : "paid", device: "phone" };
    const record = { running: sport + 1, cycling: sport, swimming: sport - 1, ...hobbies, ...none, ...categories };
    return randomizer.randomize(record, { id }).bytes;
  });
  const response = await fetch(`${aggregator.url}/tasks/${task.digest}/reports`, {
    method: "POST",
    headers: { "content-type": "application/vnd.ldp-pca.reports" },
    body: Buffer.concat(reports),
  });
  assert.equal(response.status, 200);
}

test("a visitor fills in a record, is asked, and sends its one report, whatever the tab", async () => {
  const context = await browser.newContext();
  const [{ page, trouble }, other] = [await open({ context }), await open({ context })];
  assert.equal(await section(page).getByText("through the relay").isVisible(), false);

  // Everything is reached by its label, and an example is filled in.
  await field(page, "running").fill("50");
  await field(page, "plan").selectOption("paid");
  await field(page, "device").selectOption("no answer");
  assert.equal(await field(page, "cooking").isVisible(), false);
  await section(page).getByText("1 more column").click();
  await field(page, "cooking").fill("2");
  assert.equal(await field(page, "comment").count(), 0, "an ignored column is not asked for");
  // A slider over the scale is beside each number.
  const slider = section(page).locator(".on-scale", { hasText: "reading" }).locator("[type=range]");
  assert.deepEqual(await slider.evaluate(({ min, max }) => [min, max]), ["-5", "5"]);
  await slide(slider, 3.5);
  assert.equal(await field(page, "reading").inputValue(), "3.5");
  await field(page, "reading").fill("-2");
  assert.equal(await slider.inputValue(), "-2");

  // By keyboard: Enter in a field asks. Who declines sends nothing, and may be asked again.
  const before = await aggregator.records();
  const sent = [];
  page.on("request", (request) => request.method() === "POST" && sent.push(request.url()));
  await field(page, "cooking").press("Enter");
  const dialog = page.getByRole("dialog");
  assert.match(await dialog.innerText(), /at most 546 of 1000/);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  assert.deepEqual(sent, []);
  await agree(page);
  await page.getByText(/^Counted\. This device has one report here/).waitFor();
  assert.equal(await aggregator.records(), before + 1);
  await page.getByText(here(before + 1)).waitFor();
  const bytes = page.getByLabel("The report, all 35 bytes of it");
  assert.match(await bytes.textContent(), /^4c 44 50 52 01( [0-9a-f]{2}){30}$/);
  const own = section(page).getByRole("img", { name: /^Your record: heat map of 15 by 15/ });
  assert.match(await own.getAttribute("aria-label"), /The largest: running with itself/);
  const read = { name: /^What an aggregator reads from your report: heat map of 15 by 15/ };
  await section(page).getByRole("img", read).waitFor();
  assert.equal(await takePart(page).isDisabled(), true, "a report is sent once");
  assert.match(await page.locator("#take-part-summary").textContent(), /^Not yet: there (is 1 report|are \d+ reports)/);
  assert.equal(await page.locator("#take-part-place").isVisible(), false, "no published components, no word of them");

  // Another tab is the same device, and so is a reload.
  await agree(other.page);
  await other.page.getByText(/^Counted already/).waitFor();
  await page.reload();
  await page.getByText("This device has taken part: its one report counts.").waitFor();
  assert.equal(await takePart(page).isDisabled(), true);
  assert.equal(await aggregator.records(), before + 1);
  assert.deepEqual([...trouble, ...other.trouble], []);
});

test("the visitor's own place among published patterns is computed on the device", async () => {
  const { page } = await open();
  const { tasks: [task] } = await aggregator.get("/tasks");
  const { schema, bounding } = await aggregator.get(`/tasks/${task}`);
  const feature_names = schema.columns.flatMap(({ name, type, values = [] }) =>
    type === "numeric" ? name : values.map((value) => `${name}=${value}`),
  );
  const loadings = feature_names.map((name) => (name === "running" ? -0.8 : name === "gaming" ? 0.6 : 0));
  const components = [{ loadings, variance: 0.2 }];
  const document = { version: 1, task, schema, bounding, feature_names, records: 5, noise_edge: 0.1, components };
  await page.route(`**/tasks/${task}/components`, (route) => route.fulfill({ json: document }));
  await section(page).getByText("1 more column").click();
  for (const name of [...schema.columns].filter(({ type }) => type === "numeric").map(({ name }) => name)) {
    await field(page, name).fill({ running: "3", cooking: "1" }[name] ?? "0");
  }
  for (const name of ["plan", "device"]) await field(page, name).selectOption("no answer");
  await agree(page);
  const score = page.locator("#take-part-scores li");
  await score.waitFor();
  assert.match(await score.textContent(), /^running, against gaming0\.80$/);
  // It follows the sliders, and nothing is sent for it.
  const sent = [];
  page.on("request", (request) => sent.push(request.url()));
  await field(page, "running").fill("0");
  await field(page, "gaming").fill("5");
  assert.match(await score.textContent(), /−0\.60$/);
  assert.deepEqual(sent, []);
});

test("a question may be skipped, and a field that holds no number is one, with a note", async () => {
  const { page } = await open();
  const alert = section(page).locator("#take-part-problem");
  await field(page, "running").fill("");
  await field(page, "running").press("-");
  assert.equal(await alert.textContent(), "No number, and so as if skipped: “running”.");
  await field(page, "running").fill("1");
  assert.equal(await alert.isVisible(), false);
  await field(page, "running").fill("1e309");
  assert.equal(await alert.isVisible(), true);
  await field(page, "plan").selectOption("no answer");
  await agree(page);
  await page.getByText(/^Counted\./).waitFor();
  assert.match(await page.getByLabel("The report, all 35 bytes of it").textContent(), /^4c 44 50 52 01/);
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
  const records = await aggregator.records();
  // The report gets its number, and then no answer.
  await page.route("**/reports", (route) => route.abort());
  await agree(page);
  await page.getByText(/^Not sent: .* Your report is kept; try again\.$/).waitFor();
  const shown = page.getByLabel("The report, all 35 bytes of it");
  const bytes = await shown.textContent();

  await aggregator.stop();
  await page.getByText("No valid answer from the aggregator: the connection is lost. What you see is from").waitFor();
  assert.equal(await page.getByRole("heading", { name: "Pattern 1" }).isVisible(), true);

  await aggregator.start();
  await page.getByText(here(records)).waitFor();
  await page.unroute("**/reports");
  // Who has agreed is not asked again, and the bytes are the same.
  await section(page).getByRole("button", { name: "Send it again" }).click();
  await page.getByText(/^Counted\./).waitFor();
  assert.equal(await shown.textContent(), bytes);
  assert.equal(await aggregator.records(), records + 1);
  await page.getByText(here(records + 1)).waitFor();
});

test("a tab that nobody sees holds no connection, and is up to date when it is seen again", async () => {
  const { page } = await open();
  const hide = (state) =>
    page.evaluate((state) => {
      Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, state);
  const before = await aggregator.records();
  await hide("hidden");
  const { page: seen } = await open();
  await collect(5);
  await seen.getByText(here(before + 5)).waitFor();
  assert.equal(await page.locator("#take-part-status").textContent(), here(before));
  await hide("visible");
  await page.getByText(here(before + 5)).waitFor();
});

test("a visitor of a demo with a relay sends through it, or directly, and both count", async (t) => {
  const demo = await Demo.during(t, DIST);
  const visit = async () => {
    const hash = `#take-part&${QUIET}`;
    const { page, trouble } = await openPage(browser, demo.url, { hash, expected: NO_COMPONENTS });
    await page.getByText("The aggregator is here").waitFor();
    await section(page).getByText("it hides nobody").waitFor();
    const sent = [];
    page.on("request", (request) => request.method() === "POST" && sent.push(new URL(request.url()).pathname));
    return { page, sent, trouble };
  };
  const status = async () => {
    const { tasks } = await (await fetch(`${demo.url}/tasks`)).json();
    return (await fetch(`${demo.url}/tasks/${tasks[0]}/status`)).json();
  };
  const { records } = await status();
  const { page, sent, trouble } = await visit();
  await agree(page);
  await page.getByText(/^Left with the relay: it counts when its batch is full\./).waitFor();
  assert.deepEqual(sent, ["/relay/reports"]);
  // Simulated users fill its batch.
  await page.waitForFunction((before) => {
    const [digits] = document.getElementById("take-part-status").textContent.match(/[\d,]+(?= reports)/) ?? ["0"];
    return Number(digits.replaceAll(",", "")) >= before;
  }, records + 10);
  await assertAccessible(page, "#take-part");

  const direct = await visit();
  await section(direct.page).getByLabel("Send through the relay").uncheck();
  await agree(direct.page);
  await direct.page.getByText(/^Counted\./).waitFor();
  assert.equal(direct.sent.at(-1), `/tasks/${(await status()).task}/reports`);
  assert.deepEqual([...trouble, ...direct.trouble], []);
});

test("on a host of files nothing is sent, and a visitor still sees what would be, and their place", async (t) => {
  const server = await serveUntilEnd(t, DIST, {}, pagePolicy());
  const { page, trouble } = await openPage(browser, server.url, { hash: `#take-part&${QUIET}` });
  await page.getByText("This host only serves files, so nothing is sent.").waitFor();
  const sent = [];
  page.on("request", (request) => request.method() === "POST" && sent.push(request.url()));
  await section(page).getByRole("button", { name: "Randomize", exact: true }).click();
  assert.match(await page.getByLabel("The report, all 35 bytes of it").textContent(), /^4c 44 50 52 01/);
  assert.match(await page.locator("#take-part-guarantee").textContent(), /at most 74 of 1000/);
  // The patterns are those of the first screen, once all its people are counted.
  await page.locator("#take-part-scores li").first().waitFor();
  // So much hiking that the other answers, which are an example, do not matter: its loading, which is 0.49 ± 0.03. In 3
  // of 100 runs the second pattern names it too.
  await field(page, "hiking").fill("5000");
  const score = page.locator("#take-part-scores li", { hasText: "hiking" }).first();
  await eventually(() => score.textContent(), (text) => /0\.[3-9]\d$/.test(text));
  assert.deepEqual(sent, []);

  // An aggregator is asked for once, and again when somebody asks for it.
  const asked = () => trouble.filter((text) => text.includes("/tasks")).length;
  assert.equal(asked(), 1);
  await section(page).getByText("Start an aggregator").click();
  assert.equal(await page.getByText("make demo").isVisible(), true);
  await page.getByRole("button", { name: "Look again" }).click();
  await eventually(asked, (count) => count === 2);
  await page.getByText("No aggregator here.").waitFor();
  assert.deepEqual(trouble.filter((text) => !text.includes("/tasks")), []);
});

test("the aggregator's policy is the page's own, and forbids framing too", async () => {
  const header = (await fetch(`${aggregator.url}/`)).headers.get("content-security-policy");
  assert.equal(header, `${pagePolicy()}; frame-ancestors 'none'`);
  assert.doesNotMatch(header, /unsafe-inline|unsafe-eval(?<!wasm-unsafe-eval)|\*/);
});

for (const [view, options] of Object.entries(VIEWS)) {
  test(`it fits, is painted, and axe finds nothing: ${view}`, async () => {
    const { page } = await open(options);
    await agree(page);
    await page.getByLabel("The report, all 35 bytes of it").waitFor();
    await page.getByRole("heading", { name: "Pattern 3" }).waitFor();
    await screenshot(page, "take-part", view);
    await assertFits(page);
    await assertAccessible(page, "#take-part");
    for (const canvas of await page.locator("#take-part .map canvas").all()) assert.ok((await colors(canvas)) > 10);
  });
}
