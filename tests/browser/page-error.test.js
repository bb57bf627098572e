// The page's charts of the error: simulated live, predicted, and taken along as files.

import assert from "node:assert/strict";
import { test } from "node:test";

import { address, drawn, enter, eventually, hostPage, parsed, saved, saying, tableOf, VIEWS } from "./page-tools.js";

/** Small records, and few trials of them. */
const SMALL = "error.dimension=10&error.rank=2&error.trials=3";
/** In the measure of the library's own figures. */
const ERROR = "error.measure=error&";
const NAMES = ["Double-cap", "Gaussian", "Wang & Xu", "Not private"];

const host = hostPage();

/** The page with every mechanism, once its curves are predicted and its simulation has begun. */
async function open({ state = SMALL, ...options } = {}) {
  const hash = `methods.html#error&${ERROR}${state}`;
  const opened = await host.open({ hash, ...VIEWS.light, ...options });
  await simulate(opened.page);
  return opened;
}

async function simulate(page) {
  await page.locator("#error-status").getByText(/^Predicted/).waitFor();
  await page.locator("#error-run").click();
}

async function done(page) {
  await page.locator("#error-status").getByText(/^Done: /).waitFor();
  await drawn(page);
}

/** The input of a label that begins so. */
const input = (page, label) => page.locator("#error-form").getByLabel(label);

const change = (page, label, value) => enter(input(page, label), value);

/** The rows of a chart's table as texts. */
const rows = (page, axis) => tableOf(page, `error-${axis}-chart`);

/** The file that a button of a chart saves. */
function file(page, axis, format) {
  return saved(page, page.locator(`#error-${axis}-chart`).getByRole("button", { name: format }));
}

test("curves fill in, end complete, and are the same for the same seed", async () => {
  const { page } = await open();
  const progress = page.locator("#error-progress");
  await done(page);
  assert.equal(await progress.isVisible(), false);
  for (const axis of ["epsilon", "records"]) {
    const [head, ...body] = await rows(page, axis);
    assert.equal(head.length, 6);
    assert.equal(body.length, 10 * NAMES.length, "ten places of four series");
    for (const [where, series, median, quartiles, trials, predicted] of body) {
      const at = `${axis} ${where} ${series}`;
      const [low, high] = quartiles.split(" to ").map(parsed);
      assert.ok(low <= parsed(median) && parsed(median) <= high, `${at}: ${median} in ${quartiles}`);
      assert.equal(trials, "3", at);
      assert.equal(predicted !== "", series !== "Not private", at);
    }
    // From one end of the axis to the other the error falls, for every mechanism.
    for (const name of NAMES.slice(0, 3)) {
      const medians = body.filter(([, series]) => series === name).map(([, , median]) => parsed(median));
      assert.ok(medians.at(-1) < medians[0], `${axis} ${name}: ${medians}`);
    }
  }
  const table = await rows(page, "records");
  const { page: again } = await open();
  await done(again);
  assert.deepEqual(await rows(again, "records"), table);
  await change(again, "Seed", "2");
  await again.locator("#error-status").getByText("with seed 2").waitFor();
  await drawn(again);
  const other = await rows(again, "records");
  assert.notDeepEqual(other, table);
  // Predictions do not depend on chance.
  const predicted = (table) => table.map((row) => row.at(-1));
  assert.deepEqual(predicted(other), predicted(table));
});

test("a run is cancelled, keeps what it had, and is run again to the end", async () => {
  const { page } = await open({ state: "error.dimension=60&error.trials=100" });
  await page.locator("#error-status").getByText(/simulations? done/).waitFor();
  const cancel = page.locator("#error").getByRole("button", { name: "Cancel" });
  await cancel.focus();
  await page.keyboard.press("Enter");
  const status = page.locator("#error-status");
  await status.getByText(/^Cancelled\. /).waitFor();
  const again = page.locator("#error-run");
  assert.equal(await page.evaluate(() => document.activeElement.id), "error-run", "the keyboard stays where it is");
  const said = await status.textContent();
  const held = await rows(page, "epsilon");
  assert.ok(held.some(([, , , , trials]) => Number(trials) > 0), "what was done is kept");
  await page.waitForTimeout(500);
  assert.equal(await status.textContent(), said);
  assert.deepEqual(await rows(page, "epsilon"), held);
  // With less to do, which other controls say while nothing runs, and is started by nobody.
  await change(page, "Features d", "10");
  await change(page, "Trials", "2");
  await status.getByText(/^Predicted/).waitFor();
  await again.click();
  await done(page);
  assert.match(await status.textContent(), /^Done: 2 trials with seed 1\.$/);
  // In the turn of the page that begins it, so that it cannot be done before.
  const waits = await page.evaluate(() => {
    document.getElementById("error-run").click();
    return document.getElementById("error-progress").hidden;
  });
  assert.equal(waits, false);
  await done(page);
});

test("every control changes what is shown, and the address says so", async () => {
  const { page } = await open();
  const cases = [
    ["Components k", "4", "rank=4", /4 components/],
    ["Features that carry them", "5", "sparsity=5", /on 5 of them/],
    ["Signal strength", "30", "signal=30", /signal 30/],
    ["Users n, first chart", "3,000", "records=3000", /3,000 users/],
    ["ε, second chart", "1.5", "epsilon=1.5", null],
    ["δ, Gaussian noise", "1e-5", "delta=1e-5", /δ = 1e-5/],
    ["Trials", "2", "trials=2", null],
    ["Seed", "7", "seed=7", /seed 7/],
    ["Features d", "12", "dimension=12", /12 features/],
  ];
  for (const [label, value, state, caption] of cases) {
    await change(page, label, value);
    await address(page, `error.${state}`);
    if (caption) await saying(page, "#error-epsilon-caption", caption);
  }
  await saying(page, "#error-records-caption", /ε = 1\.5/);
  await input(page, "Wang & Xu").uncheck();
  await done(page);
  const series = new Set((await rows(page, "epsilon")).slice(1).map(([, name]) => name));
  assert.deepEqual([...series].sort(), ["Double-cap", "Gaussian", "Not private"]);

  // The link gives another visitor the same, number by number.
  const hash = await address(page, "mechanisms=");
  const { page: other } = await host.open({ hash: `methods.html${hash}`, ...VIEWS.light });
  await simulate(other);
  await done(other);
  assert.equal(await other.evaluate(() => location.hash), hash);
  for (const [label, value] of cases)
    assert.equal(parsed(await input(other, label).inputValue()), parsed(value), label);
  assert.equal(await input(other, "Wang & Xu").isChecked(), false);
  assert.deepEqual(await rows(other, "epsilon"), await rows(page, "epsilon"));
});

test("what cannot be explains itself in place, and the charts stay", async () => {
  const { page } = await open();
  await done(page);
  const before = await rows(page, "epsilon");
  const cases = [
    ["Components k", "10", "With 10 features there can be at most 9 components"],
    ["Features that carry them", "1", "2 components need at least 2 features"],
    ["Features that carry them", "11", "There are only 10 features"],
    ["ε, second chart", "-1", "Give a number from 0.05 to 16"],
    ["δ, Gaussian noise", "1", "Give a number from 1e-15 to 0.1"],
    ["Trials", "2.5", "Give a whole number from 1 to 100"],
    ["Seed", "x", "Give a whole number"],
  ];
  for (const [label, value, message] of cases) {
    const good = await input(page, label).inputValue();
    await change(page, label, value);
    const shown = page.locator("#error-form .problem").getByText(message);
    await shown.waitFor();
    // The explanation is the input's own.
    const described = await input(page, label).getAttribute("aria-describedby");
    assert.ok(described.split(" ").includes(await shown.getAttribute("id")), label);
    assert.equal(await input(page, label).getAttribute("aria-invalid"), "true");
    await change(page, label, good);
    await shown.waitFor({ state: "hidden" });
  }
  for (const name of ["Double-cap", "Gaussian"])
    await page.locator("#error-form").getByLabel(name, { exact: true }).uncheck();
  await input(page, "Wang & Xu").uncheck();
  await page.getByText("Choose at least one").waitFor();
  assert.deepEqual((await rows(page, "epsilon")).length > 1, true);
  // A link that cannot be says so too, and shows what can be.
  const { page: other } = await open({ state: `${SMALL}&error.epsilon=1e9&error.sparsity=1` });
  await other.getByText(/The link has “1e9” here/).waitFor();
  await done(other);
  assert.equal((await rows(other, "epsilon")).length, before.length);
});

test("the chart is read by keyboard, and in words", async () => {
  const { page } = await open();
  await done(page);
  const stage = page.getByRole("slider", { name: /^Error against ε/ });
  await stage.focus();
  await page.keyboard.press("Home");
  const text = () => stage.getAttribute("aria-valuetext");
  assert.match(await text(), /^ε = 0\.25: Double-cap [\d.]+ \([\d.]+ to [\d.]+\), predicted [\d.]+; Gaussian /);
  await page.keyboard.press("ArrowRight");
  assert.match(await text(), /^ε = 0\.35: /);
  await page.keyboard.press("End");
  assert.match(await text(), /^ε = 5\.6: /);
  assert.match(await page.locator("#error-epsilon-chart .readout").textContent(), /ε = 5\.6/);
  const picture = page.getByRole("img", {
    name: /^Error against ε\. error ‖sin Θ‖², against ε of one report from 0\.25 to 5\.6/,
  });
  const course = /Double-cap: simulated from .* to .* \(medians of 3 trials or more\); predicted from/;
  await eventually(() => picture.getAttribute("aria-label"), (label) => course.test(label));
});

test("the chart is read by pointer, and follows width and colours with the elements that it has", async () => {
  const { page } = await open();
  await done(page);
  const plot = page.locator("#error-epsilon-chart .plot");
  const readout = page.locator("#error-epsilon-chart .readout");
  const { width, height } = await plot.boundingBox();
  await plot.hover({ position: { x: 85, y: height / 2 } });
  assert.match(await readout.textContent(), /^ε = 0\.25/);
  await plot.hover({ position: { x: width - 35, y: height / 2 } });
  assert.match(await readout.textContent(), /^ε = 5\.6/);

  const picture = plot.locator("svg");
  await picture.evaluate((svg) => {
    globalThis.kept = [...svg.querySelectorAll("path")].slice(0, 5);
  });
  const color = () => picture.evaluate((svg) => getComputedStyle(svg.querySelector("path")).stroke);
  const light = await color();
  await page.emulateMedia({ colorScheme: "dark" });
  assert.notEqual(await color(), light);
  await page.setViewportSize(VIEWS.phone.viewport);
  // Drawn anew for the room, not scaled into it.
  await eventually(
    () => picture.evaluate((svg) => [Number(svg.getAttribute("width")), svg.getBoundingClientRect().width]),
    ([drawn, shown]) => Math.abs(drawn - shown) < 1 && drawn < 360,
  );
  assert.equal(await page.evaluate(() => globalThis.kept.every(({ isConnected }) => isConnected)), true);
});

test("the files that a chart gives are whole, and have its numbers", async () => {
  const { page } = await open();
  await done(page);
  const table = await rows(page, "records");

  const csv = await file(page, "records", "CSV");
  assert.equal(csv.name, "error-against-users.csv");
  const lines = csv.bytes.toString("utf8").split("\r\n");
  assert.equal(lines.pop(), "", "the last line ends too");
  const [head, ...body] = lines.map((line) =>
    line.match(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g).slice(0, 7).map((cell) => cell.replace(/,$/, "")),
  );
  assert.deepEqual(head, ["series", "users n", "predicted", "median", "lower quartile", "upper quartile", "trials"]);
  for (const [where, series, median, , trials] of table.slice(1)) {
    const line = body.find(([name, x]) => name === series && Number(x) === parsed(where));
    assert.ok(line, `${series} at ${where}`);
    assert.ok(Math.abs(Number(line[3]) / parsed(median) - 1) < 0.006, `${line[3]} is not ${median}`);
    assert.ok(Number(line[4]) <= Number(line[3]) && Number(line[3]) <= Number(line[5]));
    assert.equal(line[6], trials);
  }

  const svg = await file(page, "epsilon", "SVG");
  assert.equal(svg.name, "error-against-epsilon.svg");
  const source = svg.bytes.toString("utf8");
  assert.doesNotMatch(source, /NaN|Infinity|undefined/);
  const { description, paths, texts, ...picture } = await page.evaluate((source) => {
    const parsed = new DOMParser().parseFromString(source, "image/svg+xml");
    const text = (name) => parsed.querySelector(name)?.textContent;
    return {
      root: parsed.documentElement.nodeName,
      error: text("parsererror"),
      title: text("title"),
      description: text("desc"),
      paths: parsed.querySelectorAll("path").length,
      outside: parsed.querySelectorAll("script, image, foreignObject, [href]").length,
      texts: [...parsed.querySelectorAll("text")].map(({ textContent }) => textContent).join(),
    };
  }, source);
  assert.deepEqual(picture, { root: "svg", error: undefined, title: "Error against ε", outside: 0 });
  assert.match(description, /10 features, 2 components/);
  assert.ok(paths > 60, `${paths} paths`);
  for (const name of NAMES) assert.ok(texts.includes(name), name);

  // What is seen is what is saved: as many shapes of every series, in the plot and in the legend.
  const colors = { blue: "#1f5fa8", orange: "#c25a0a", purple: "#8a3f8f", grey: "#586274" };
  for (const [name, color] of Object.entries(colors)) {
    const inFile = source.match(new RegExp(`<path fill="${color}"`, "g"))?.length;
    // A band and ten marks, and in the legend one of each.
    assert.equal(inFile, 13, name);
    const seen = page.locator(`#error-epsilon-chart path[fill="var(--${name})"]`);
    await eventually(() => seen.count(), (count) => count === inFile);
  }

  const png = await file(page, "epsilon", "PNG");
  assert.equal(png.name, "error-against-epsilon.png");
  assert.deepEqual([...png.bytes.subarray(0, 8)], [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  assert.deepEqual([png.bytes.readUInt32BE(16), png.bytes.readUInt32BE(20)], [1920, 1200]);
  // Chromium reads it, and something is painted on it.
  const painted = await page.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.codePointAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    const context = canvas.getContext("2d");
    context.drawImage(bitmap, 0, 0);
    return new Set(new Uint32Array(context.getImageData(0, 0, bitmap.width, bitmap.height).data.buffer)).size;
  }, png.bytes.toString("base64"));
  assert.ok(painted > 50, `${painted} colours`);
});

test("the first page predicts at once, simulates for those who ask, and has two measures", async () => {
  const { page } = await host.open({ hash: `#error&${SMALL}`, ...VIEWS.light });
  await page.locator("#error-status").getByText(/^Predicted/).waitFor();
  const [head, ...body] = await rows(page, "epsilon");
  assert.deepEqual(head.slice(2), ["predicted"], "nothing is simulated");
  const shares = body.map((row) => parsed(row[2]));
  assert.ok(shares[0] < shares.at(-1) && shares.at(-1) > 80 && shares.at(-1) <= 100, `${shares}`);
  assert.deepEqual([...new Set(body.map(([, name]) => name))], ["Double-cap"]);

  await page.locator("#error-form").getByLabel("On both charts").selectOption("error");
  await page.getByRole("heading", { name: "Error against ε" }).waitFor();
  const errors = await eventually(
    async () => (await rows(page, "epsilon")).slice(1).map((row) => parsed(row[2])),
    (errors) => errors[0] > errors.at(-1),
  );
  // Components of one variance, of 10 features two: 1 for none of the structure, 1.6 of the error.
  shares.forEach((share, place) => assert.ok(Math.abs(1 - errors[place] / 1.6 - share / 100) < 0.01, `${share}`));
  await simulate(page);
  await done(page);
  const series = new Set((await rows(page, "epsilon")).slice(1).map(([, name]) => name));
  assert.deepEqual([...series], ["Double-cap", "Not private"]);
  // The measure is only how it is looked at.
  await page.locator("#error-form").getByLabel("On both charts").selectOption("share");
  await page.getByRole("heading", { name: "Structure found against ε" }).waitFor();
  assert.match(await page.locator("#error-status").textContent(), /^Done: /);
});

test("an answer to earlier settings is marked, and so is one beside a field that cannot be", async () => {
  const { page } = await host.open({ hash: `#error&${SMALL}`, ...VIEWS.light });
  const chart = page.locator("#error-epsilon-chart");
  const mark = () => chart.evaluate((node) => getComputedStyle(node, "::before").content);
  await page.locator("#error-epsilon-chart.answered[aria-busy=false]").waitFor();
  assert.equal(await mark(), "none");
  await change(page, "ε, second chart", "-1");
  await eventually(mark, (content) => content === '"From earlier settings"');
  // In one turn of the page, so that the next answer cannot be there before.
  const busy = await page.evaluate(() => {
    const input = document.getElementById("error-epsilon");
    input.value = "3";
    input.dispatchEvent(new Event("change", { bubbles: true }));
    return document.getElementById("error-epsilon-chart").ariaBusy;
  });
  assert.equal(busy, "true");
  await page.locator("#error-epsilon-chart[aria-busy=false]").waitFor();
  assert.equal(await mark(), "none");
});
