// The page's sparse recovery: three methods on the same simulated reports, and the penalty between them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { colors, enter, eventually, hostPage, parsed, QUIET, slide } from "./page-tools.js";

const host = hostPage();

/** The section of the page, with everything in it computed, on request. */
async function open({ state = "", hash = `#sparse&${QUIET}${state}`, ...options } = {}) {
  const opened = await host.open({ hash: `methods.html${hash}`, ...options });
  assert.equal(await opened.page.locator("#sparse-results").isVisible(), false, "no empty maps");
  await opened.page.locator("#version").getByText(/./).waitFor();
  await opened.page.locator("#sparse-run").click();
  await done(opened.page);
  return opened;
}

/** Waits until the records are drawn and the penalties known. */
async function done(page) {
  await page.waitForFunction(() => !document.getElementById("sparse-step").disabled);
}

/** The findings of each method in the table: `{ "Fantope": ["90.3 %", "0.18", "✓ 8 of 8", …], … }`. */
async function found(page) {
  const rows = await page.locator("#sparse-found tbody tr").all();
  const entries = rows.map(async (row) => [
    await row.locator("th").textContent(),
    await row.locator("td").allTextContents(),
  ]);
  return Object.fromEntries(await Promise.all(entries));
}

const change = (page, label, value) => enter(page.locator("#sparse-form").getByLabel(label), value);

test("sparse methods beat plain components on the default records, and the picture says so", async () => {
  const { page } = await open();
  const table = await found(page);
  const errors = Object.fromEntries(Object.entries(table).map(([method, [, error]]) => [method, parsed(error)]));
  assert.ok(errors.Fantope < errors["Plain components"], JSON.stringify(errors));
  assert.match(table["Plain components"][2], /^✓ 8 of 8$/);
  assert.match(table.Fantope[2], /^✓ [5678] of 8$/);
  assert.match(table.Fantope[3], /^○ (none|\d: \d+)/);
  for (const title of ["The truth", "Plain components", "Soft-thresholding", "Fantope"]) {
    const canvas = page.getByRole("img", { name: new RegExp(`^${title}: heat map of 40 by 40 numbers`) });
    assert.ok((await colors(canvas)) > 10);
  }
  // The certificate is in the words, and small.
  const certificate = await page.locator("#sparse-certificate").textContent();
  const gap = parsed(certificate.match(/no other is better by more than ([^o]+) of/)[1]);
  assert.ok(gap <= 1e-3, certificate);

  // The same seed gives the same numbers, another seed others.
  const { page: again } = await open();
  assert.deepEqual(await found(again), table);
  await again.getByRole("button", { name: "Other records" }).click();
  await eventually(() => found(again), (other) => other.Fantope[1] !== table.Fantope[1]);
  assert.equal(await again.locator("#sparse-form").getByLabel("Seed").inputValue(), "2");
});

test("the penalty goes from all features to few, and is in the address", async () => {
  const { page } = await open();
  const slider = page.getByLabel("Penalty on features");
  const automatic = await found(page);
  const kept = async () =>
    Number((await page.locator("#sparse-certificate").textContent()).match(/keeps (\d+) feature/)[1]);
  const last = await slider.getAttribute("max");
  const before = await kept();

  // The address follows a moment later.
  const address = (differs) =>
    eventually(() => page.evaluate(() => location.hash), (hash) => hash.includes("sparse.penalty=") && differs(hash));

  await slide(slider, 0);
  await eventually(kept, (count) => count > before);
  const least = await address(() => true);
  await slide(slider, last);
  const fewest = await eventually(kept, (count) => count < before);
  assert.ok(fewest >= 2 && fewest <= 8, `${fewest} features`);
  const hash = await address((hash) => hash !== least);
  const extreme = await found(page);
  const { page: other } = await open({ hash });
  assert.deepEqual(await found(other), extreme);
  assert.equal(await other.getByLabel("Penalty on features").inputValue(), last);

  // By keyboard, with words for those who hear it.
  await slider.focus();
  await page.keyboard.press("ArrowLeft");
  await eventually(() => slider.getAttribute("aria-valuetext"), (text) => /^0\.\d+$/.test(text));
  await page.getByRole("button", { name: "Automatic penalty" }).click();
  await eventually(() => found(page), (table) => JSON.stringify(table) === JSON.stringify(automatic));
  await eventually(() => page.evaluate(() => location.hash), (hash) => !hash.includes("sparse.penalty="));

  // A hand that moves fast: what is shown in the end is where it stopped.
  await slider.evaluate((input) => {
    for (let step = 0; step <= Number(input.max); step += 1) {
      input.value = String(step);
      input.dispatchEvent(new Event("input", { bubbles: true }));
    }
  });
  await eventually(() => found(page), (table) => JSON.stringify(table) === JSON.stringify(extreme));
});

test("a run that is cancelled while its penalties are sought leaves no penalty to choose", async () => {
  const { page } = await open();
  await page.evaluate(() => {
    const shown = new MutationObserver(() => {
      shown.disconnect();
      document.getElementById("sparse-cancel").click();
    });
    shown.observe(document.getElementById("sparse-found"), { childList: true, subtree: true });
  });
  await change(page, "Users", "6000");
  await page.getByText("Cancelled. What you see is from before.").waitFor();
  // Its worker has ended.
  for (const name of ["sparse-step", "sparse-automatic"]) assert.ok(await page.locator(`#${name}`).isDisabled(), name);
  await page.locator("#sparse-run").click();
  await done(page);
  const before = await found(page);
  await slide(page.getByLabel("Penalty on features"), 0);
  await eventually(() => found(page), (table) => table.Fantope[1] !== before.Fantope[1]);
});

test("other mechanisms and sizes", async () => {
  const { page } = await open({
    state: "&sparse.dimension=20&sparse.rank=1&sparse.sparsity=4&sparse.mechanism=gaussian",
  });
  assert.equal(await page.getByRole("img", { name: /^Fantope: heat map of 20 by 20 numbers/ }).count(), 1);
  const gaussian = await found(page);
  assert.match(gaussian.Fantope[2], / of 4$/);
  await page.locator("#sparse-form").getByLabel("Mechanism").selectOption("double-cap");
  await eventually(() => found(page), (table) => table["Plain components"][1] !== gaussian["Plain components"][1]);
});
