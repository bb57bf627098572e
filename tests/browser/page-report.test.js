// The second page's first part: one made-up record, and what would leave of it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { address, colors, hostPage, parsed, QUIET, slide } from "./page-tools.js";

const host = hostPage();

async function open(options) {
  const opened = await host.open({ hash: `methods.html#&${QUIET}`, ...options });
  await opened.page.getByRole("img", { name: /^What a collector reads from the report: heat map/ }).waitFor();
  return opened;
}

/** The numbers of a map's table, row by row. */
async function tableOf(page, figure) {
  const table = page.locator(`#one-report-${figure} table`);
  if ((await table.count()) === 0) await page.locator(`#one-report-${figure} summary`).click();
  await table.waitFor();
  const cells = await table.locator("tbody td").allTextContents();
  return cells.map(parsed);
}

test("the record's own map is its outer product, and every report is another", async () => {
  const { page } = await open();
  for (const [name, value] of Object.entries({ running: 3, cycling: -4, gaming: 0, streaming: 0, reading: 0 })) {
    await slide(page.getByLabel(name, { exact: true }), value);
  }
  // (3, -4, 0, 0, 0) / 5 times itself.
  const own = await tableOf(page, "own");
  assert.deepEqual(own.slice(0, 7), [0.36, -0.48, 0, 0, 0, -0.48, 0.64]);
  assert.equal(own.length, 25);
  assert.deepEqual(own.slice(7).map(Math.abs), Array(18).fill(0));

  const bytes = page.locator("#one-report-bytes");
  const first = await bytes.textContent();
  assert.match(first, /^4c 44 50 52 01( [0-9a-f]{2}){30}$/);
  const read = await tableOf(page, "read");
  assert.notDeepEqual(read, own);
  await page.getByRole("button", { name: "Randomize again" }).click();
  const second = await bytes.textContent();
  assert.notEqual(second, first);
  assert.notDeepEqual(await tableOf(page, "read"), read);
  assert.deepEqual(await tableOf(page, "own"), own);
  // The collection is the same, the id is not.
  assert.equal(second.slice(0, 38), first.slice(0, 38));
  assert.notEqual(second.slice(39, 86), first.slice(39, 86));
});

test("mechanism and epsilon change the report and its promise, and are in the address", async () => {
  const { page } = await open();
  const promise = page.locator("#one-report-guarantee");
  assert.match(await promise.textContent(), /at most 74 of 1000 .*ε\u00a0=\u00a02, δ\u00a0=\u00a00\.\)/);
  await page.locator("#one-report-form").getByLabel("Mechanism").selectOption("gaussian");
  // Gaussian noise lets less be found than its epsilon alone would say.
  await page.getByText(/at most 31 of 1000/).waitFor();
  assert.match(await promise.textContent(), /ε\u00a0=\u00a02, δ\u00a0=\u00a00\.000001\.\)/);
  // 15 entries of the triangle of 5 by 5.
  const title = await page.locator("#one-report-bytes-title").textContent();
  const [, length] = title.match(/^All that leaves: (\d+) bytes$/);
  assert.ok([33 + 15, 33 + 30].includes(Number(length)), title);
  assert.equal((await page.locator("#one-report-bytes").textContent()).length, 3 * length - 1);

  await slide(page.locator("#one-report-form").getByLabel("Privacy loss ε"), 8);
  assert.match(await promise.textContent(), /at most 214 of 1000/);
  await slide(page.getByLabel("running", { exact: true }), -5);
  const parts = ["running=-5", "mechanism=gaussian", "epsilon=8"];
  await address(page, ...parts.map((part) => `one-report.${part}`));
});

test("a record of zeros explains itself, and the last good one stays", async () => {
  const { page } = await open();
  for (const name of ["cycling", "gaming", "streaming", "reading"])
    await slide(page.getByLabel(name, { exact: true }), 0);
  const own = await tableOf(page, "own");
  const running = page.getByLabel("running", { exact: true });
  await slide(running, 0);
  await page.getByText("a record of zeros has nothing to show").waitFor();
  assert.equal(await running.getAttribute("aria-invalid"), "true");
  assert.deepEqual(await tableOf(page, "own"), own);
  await slide(running, 1);
  assert.equal(await running.getAttribute("aria-invalid"), "false");
  assert.equal(await page.getByText("a record of zeros has nothing to show").isVisible(), false);
  await page.getByRole("button", { name: "Another record" }).click();
  assert.notDeepEqual(await tableOf(page, "own"), own);
});

test("the mean of many reports settles on the record, and can be stopped", async () => {
  const { page } = await open();
  const mean = page.locator("#one-report-mean");
  assert.equal(await mean.isVisible(), false);
  await page.getByRole("button", { name: "Make 2,000 reports" }).click();
  await page.getByText("The mean of 2,000 reports").waitFor();
  const [own, found] = [await tableOf(page, "own"), await tableOf(page, "mean")];
  const error = Math.sqrt(own.reduce((sum, value, at) => sum + (value - found[at]) ** 2, 0));
  // One report's deviation is about 3 in this norm at epsilon 2, so that of the mean about 0.07; the record's norm is
  // 1.
  assert.ok(error < 0.35, `${error}`);
  assert.ok(error > 1e-4, "it is an estimate");

  // Another record starts again.
  await slide(page.getByLabel("running", { exact: true }), -2);
  assert.equal(await mean.isVisible(), false);
  // Both in one turn of the page, so that nothing can end in between.
  await page.evaluate(() => {
    document.getElementById("one-report-many").click();
    document.getElementById("one-report-stop").click();
  });
  const caption = mean.locator("figcaption");
  const stopped = await caption.textContent();
  assert.ok(Number(stopped.match(/^The mean of ([\d,]+) reports?/)[1].replace(",", "")) < 2000, stopped);
  await page.waitForTimeout(200);
  assert.equal(await caption.textContent(), stopped);
  assert.equal(await page.getByRole("button", { name: "Stop" }).isVisible(), false);
});

test("maps are read by keyboard, in all maps at once", async () => {
  const { page } = await open();
  const reader = page.getByRole("application", { name: /^The record: arrow keys/ });
  await reader.focus();
  const readout = page.locator("#one-report-own .readout");
  await page.keyboard.press("ArrowRight");
  assert.match(await readout.textContent(), /^running with itself: 0\.\d+$/);
  await page.keyboard.press("ArrowRight");
  assert.match(await readout.textContent(), /^running and cycling: /);
  await page.keyboard.press("End");
  await page.keyboard.press("PageDown");
  assert.match(await readout.textContent(), /^reading with itself: /);
  assert.equal(await readout.getAttribute("aria-live"), "polite");
  assert.match(await page.locator("#one-report-read .readout").textContent(), /^reading with itself: /);
  await page.keyboard.press("ArrowDown");
  assert.match(await readout.textContent(), /^reading with itself: /, "it stays within");
  await page.keyboard.press("Escape");
  assert.equal(await readout.textContent(), "");
  const canvas = page.getByRole("img", {
    name: /^The record: heat map of 5 by 5 numbers\. The largest: cycling with itself/,
  });
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + 0.5 * box.width, box.y + 0.1 * box.height);
  assert.match(await readout.textContent(), /^running and gaming: −/);
  assert.equal(await readout.getAttribute("aria-live"), "off");
});

test("entries below zero are struck through, so that maps need no colour", async () => {
  const { page } = await open({ forcedColors: "none" });
  const canvas = page.getByRole("img", { name: /^The record: heat map/ });
  const before = await colors(canvas);
  // All of one sign: one colour a square, and no strokes.
  for (const name of ["gaming", "streaming"]) await slide(page.getByLabel(name, { exact: true }), 1);
  const after = await colors(canvas);
  assert.ok(after <= 15 && before > after, `${before} colours with entries below zero, ${after} without`);
});
