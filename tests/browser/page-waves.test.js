// The page's curve of two waves, when a visitor asks for it.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  assertAccessible, assertFits, enter, eventually, hostPage, inEveryView, keepBack, parsed, saved,
  screenshot, tableOf, VIEWS,
} from "./page-tools.js";

/** The page's own records, and little to simulate. */
const STATE = "error.measure=error&error.mechanisms=double-cap&error.trials=1";
const WEAK = "the first wave finds too little to refine \\(its weakest component is off by more than 0\\.2\\)";
const GAIN = "too little is gained";
const MORE = " \\(the error of one wave may be less than 1\\.2 times that of two\\)";
const NOTES = {
  epsilon: new RegExp(
    `^Two waves are not worth it up to ε ≈ 1\\.\\d, where ${WEAK} or ${GAIN}${MORE}, ` +
      `and from ε ≈ [23](\\.\\d)? on, where ${GAIN}\\.$`,
  ),
  records: new RegExp(`^Two waves are not worth it up to n ≈ [\\d,]{5,6}, where ${WEAK} or ${GAIN}${MORE}\\.$`),
};

const host = hostPage();

const note = (page, axis) => page.locator(`#error-${axis}-waves`);

async function predicted(page) {
  for (const [axis, words] of Object.entries(NOTES)) await note(page, axis).getByText(words).waitFor();
}

const box = (page) => page.getByLabel("Predict two waves of double-cap");

/** The predictions of the series at each place of a chart's table. */
async function column(page, axis, series) {
  const rows = await tableOf(page, `error-${axis}-chart`);
  return new Map(rows.filter(([, name]) => name === series).map((row) => [row[0], row.at(-1)]));
}

test("it is there with its gaps, in the legend, the table and in words", async () => {
  const { page } = await host.open({ hash: `methods.html#error&${STATE}`, ...VIEWS.light });
  const status = page.locator("#error-status");
  await status.getByText(/^Predicted/).waitFor();
  await page.locator("#error-run").click();
  await status.getByText(/^Done: /).waitFor();
  const legend = page.locator("#error-epsilon-chart .legend");
  assert.doesNotMatch(await legend.textContent(), /Two waves/);
  const asked = [];
  page.on("request", (request) => asked.push(request.url().split("/").at(-1)));
  await box(page).check();
  await predicted(page);
  assert.equal(asked.filter((file) => /^on-demand-.*\.wasm$/.test(file)).length, 1, "once, for all workers");
  assert.match(await status.textContent(), /^Done: /, "the simulation does not start again");
  await legend.getByText("Two waves").waitFor();
  assert.equal(await legend.locator(".green path").count(), 1, "a curve, and nothing simulated");

  const found = await column(page, "epsilon", "Two waves");
  assert.equal(found.get("0.25"), "not worth it");
  assert.equal(found.get("5.6"), "not worth it");
  assert.equal((await column(page, "records", "Two waves")).get("1,000"), "not worth it");
  const one = await column(page, "epsilon", "Double-cap");
  for (const place of ["1.4", "2"]) {
    assert.ok(1.2 * parsed(found.get(place)) < parsed(one.get(place)), `${place}: ${found.get(place)}`);
  }

  const stage = page.getByRole("slider", { name: /^Error against ε/ });
  await stage.focus();
  await page.keyboard.press("Home");
  const spoken = () => stage.getAttribute("aria-valuetext");
  assert.match(await spoken(), /; Two waves not worth it; /);
  for (let step = 0; step < 6; step += 1) await page.keyboard.press("ArrowRight");
  assert.match(await spoken(), new RegExp(`^ε = 2: .*; Two waves predicted ${found.get("2")}; `));
  const plot = page.locator("#error-epsilon-chart .plot");
  const label = await eventually(() => plot.getAttribute("aria-label"), (label) => /Two waves: pred/.test(label));
  assert.match(label, /Two waves: predicted from [\d.]+ at ε = 1\.\d+ to [\d.]+ at ε = [23][\d.]*\. Two waves are /);

  await inEveryView(page, async (view) => {
    await screenshot(page, "error", `waves-${view}`);
    await assertFits(page);
    await assertAccessible(page, "#error");
  });
  await box(page).uncheck();
  await eventually(() => legend.textContent(), (text) => !text.includes("Two waves"));
  assert.equal(await note(page, "epsilon").textContent(), "");
});

test("its files have the places where it is worth it", async () => {
  const { page } = await host.open({ hash: `methods.html#error&${STATE}&waves.curve=two` });
  await predicted(page);
  const { bytes } = await saved(page, page.locator("#error-epsilon-chart").getByRole("button", { name: "CSV" }));
  const lines = bytes.toString("utf8").split("\r\n");
  const places = lines.map((line) => line.split(",")).filter(([name]) => name === "Two waves");
  assert.ok(places.length > 10 && places.every(([, x]) => Number(x) > 1 && Number(x) < 4), `${places}`);
});

test("gaps between parts of the curve are said, and open in a picture", async () => {
  // The numbers of candidates are whole, so the gain is no smooth function of epsilon.
  const hash = `methods.html#error&${STATE}&error.dimension=4&error.rank=2&waves.curve=two`;
  const { page } = await host.open({ hash });
  const said = /^Two waves .* from ε ≈ 2\.\d to ε ≈ 2\.\d, .*, and from ε ≈ 3\.\d on, where /;
  await note(page, "epsilon").getByText(said).waitFor();
  const { bytes } = await saved(page, page.locator("#error-epsilon-chart").getByRole("button", { name: "SVG" }));
  const picture = bytes.toString("utf8");
  const curves = picture.match(/<path [^>]*stroke="#1d6b45"[^>]*stroke-dasharray[^>]*>/g);
  assert.equal(curves?.length, 3, `two parts, and the sample in the legend: ${picture}`);
});

test("a link has it, it is cancelled with the rest, and other settings predict it again", async () => {
  const { page } = await host.open();
  const module = await keepBack(page, /on-demand-.*\.wasm$/);
  await page.goto(`${host.url}/methods.html#error&${STATE}0&waves.curve=two`);
  await eventually(() => module.asked, (asked) => asked === 1);
  assert.equal(await box(page).isChecked(), true);
  assert.equal(await note(page, "records").textContent(), "Two waves are being predicted …");
  // Without a way to the button, on which the simulation may be done.
  await page.evaluate(() => document.getElementById("error-cancel").click());
  await note(page, "records").getByText("Two waves are not predicted: cancelled.").waitFor();
  module.release();
  await enter(page.locator("#error-trials"), "1");
  await predicted(page);
  assert.equal(module.asked, 1);
  await enter(page.locator("#error-records"), "100,000");
  // More people: the first wave finds enough of them at a smaller epsilon.
  await note(page, "epsilon").getByText(/up to ε ≈ 0\.\d+, where/).waitFor();
});

test("a module that does not arrive says so in the curve's place, and is asked for again", async () => {
  const expected = ["404 (Not Found)", "503"];
  const { page } = await host.open({ hash: `methods.html#error&${STATE}`, expected });
  await page.route(/on-demand-.*\.wasm$/, (route) => route.fulfill({ status: 503 }), { times: 1 });
  await box(page).check();
  await note(page, "epsilon").getByText(/^Two waves are not predicted: the host answers 503 /).waitFor();
  await box(page).uncheck();
  await box(page).check();
  await predicted(page);
});
