// The page's planner, and the second page's trust models: predictions for the page's records, and for one's own.

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { init, plan, predict } from "../../pkg/lab-node.js";
import { address, cellsOf, enter, eventually, hostPage, parsed, QUIET, saying, VIEWS } from "./page-tools.js";

const OWN = "planner.source=own&planner.share=95";
/** The planner's own records, as the page begins with them. */
const POPULATION = { dimension: 116, rank: 3, signals: [0.646, 0.176, 0.088, 0.039] };

/** The plan for as many people as this share of the structure takes. */
function peopleFor(share, mechanism, more = {}) {
  const { recordsForShare } = plan({ ...POPULATION, mechanism, share });
  const { sinThetaSquared } = predict({ ...POPULATION, mechanism, records: recordsForShare });
  return plan({ ...POPULATION, mechanism, target: sinThetaSquared, ...more });
}

const host = hostPage();

before(() => init());

const open = async (hash) => host.open({ hash: `${hash}&${QUIET}`, ...VIEWS.light });

const change = (page, label, value, form = "planner") =>
  enter(page.locator(`#${form}-form`).getByLabel(label), value);

/** The first number of the answer's first sentence. */
async function answer(page) {
  const text = await page.locator("#planner-answer p").first().textContent();
  const reach = /^([\d.,]+)( million)? people find/;
  const [, digits, million] = text.match(reach) ?? [];
  return digits === undefined ? NaN : Number(digits.replaceAll(",", "")) * (million ? 1e6 : 1);
}

test("the planner answers for one's own spectrum as the library does", async () => {
  const { page } = await open(`#planner&${OWN}`);
  const mechanism = { type: "double-cap", epsilon: 2 };
  const expected = peopleFor(0.95, mechanism);
  // The page says 1.3 million for 1,267,108.
  const near = (count) => (found) => Math.abs(found / count - 1) < (count < 1e6 ? 0.006 : 0.05);
  await eventually(() => answer(page), near(expected.recordsForTarget));
  const components = await page.locator("#planner-components tbody tr").count();
  assert.equal(components, 3);
  const batches = { honestReports: 20_000, delta: 1e-6 };
  const { shuffled } = peopleFor(0.95, mechanism, { shuffled: batches });
  const words = await page.locator("#planner-answer").innerText();
  const [, relayed] = words.match(/([\d,]+) people find it through a relay/);
  assert.ok(near(shuffled.recordsForTarget)(Number(relayed.replaceAll(",", ""))), words);
  assert.match(words, /with the aggregator. There ε.=.2 is a promise about each batch of 20,000 honest reports,/);
  assert.match(words, /with δ.=.1e-6; each report by itself has ε.=.\d/);
  assert.match(words, /With fewer than [\d,]+ noise drowns the components/);

  await change(page, "ε", "1");
  const dearer = peopleFor(0.95, { type: "double-cap", epsilon: 1 }).recordsForTarget;
  await eventually(() => answer(page), near(dearer));
  await page.locator("#planner-form").getByLabel("Mechanism").selectOption("gaussian");
  const gaussian = peopleFor(0.95, { type: "gaussian", epsilon: 1 }).recordsForTarget;
  await eventually(() => answer(page), near(gaussian));
  await page.locator("#planner-form").getByLabel("Mechanism").selectOption("double-cap");
  await eventually(() => answer(page), near(dearer));
  await change(page, "People that I can ask", "1e6");
  await page.getByText(/From 1,000,000 people expect \d[\d.]* % of the structure \(‖sin Θ‖².=.0\.\d+\)\./).waitFor();
  // Of each batch, however many there are.
  const asked = { ...POPULATION, mechanism: { type: "double-cap", epsilon: 1 }, records: 1e6, shuffled: batches };
  // Rounded down: more than is allowed is no promise of the batch.
  const allowed = plan(asked).shuffled.localEpsilon;
  const local = Math.floor(allowed * 100) / 100;
  await page.getByText(`each report by itself has ε\u00a0=\u00a0${local}.`).waitFor();
  await change(page, "Honest reports in a relay’s batch", "2e6");
  await page.getByText("They fill no batch of 2,000,000 honest reports").waitFor();
  await change(page, "Honest reports in a relay’s batch", "20000");
  await page.getByText(/batch of 20,000 honest reports/).first().waitFor();
  await change(page, "Structure to find, %", "80");
  await eventually(() => answer(page), (found) => found < dearer / 2);
  const parts = ["source=own", "epsilon=1", "share=80", "records=1000000"];
  await address(page, ...parts.map((part) => `planner.${part}`));
});

test("a spectrum is pasted as it comes, and one that does not parse explains itself", async () => {
  const { page } = await open(`#planner&${OWN}`);
  await eventually(() => answer(page), (count) => count > 0);
  const before = await page.locator("#planner-answer").textContent();
  const spectrum = page.getByLabel(/^Shares of variance that stand out/);
  const cases = [
    ["0.5, what", /what/],
    ["", /Give at least one share/],
    ["0.9 0.8", /These shares sum to 1\.7/],
    ["0.5, -0.1", /-0\.1 is not a share/],
  ];
  for (const [text, message] of cases) {
    await spectrum.fill(text);
    await spectrum.blur();
    await page.locator("#planner-form .problem").getByText(message).waitFor();
    assert.equal(await spectrum.getAttribute("aria-invalid"), "true", text);
    assert.equal(await page.locator("#planner-answer").textContent(), before, text);
  }
  await spectrum.fill("0.5\n0.2; 0.1\t0.05");
  await spectrum.blur();
  await eventually(() => page.locator("#planner-answer").textContent(), (text) => text !== before);
  assert.equal(await spectrum.getAttribute("aria-invalid"), "false");
  await change(page, "Components k", "100");
  await change(page, "Features d", "50");
  await page.locator("#planner-form .problem").getByText("With 50 features there can be at most 49").waitFor();
});

test("the planner follows the records of the charts", async () => {
  const { page } = await open("#planner");
  const first = await eventually(() => answer(page), (count) => count > 0);
  await change(page, "Features d", "30", "error");
  await eventually(() => answer(page), (count) => count > first);
  await page.locator("#planner-form").getByLabel("Spectrum").selectOption("own");
  await page.getByLabel(/^Shares of variance that stand out/).waitFor();
});

test("the later the promise begins the more is found, and the table says who is trusted", async () => {
  const { page } = await open("methods.html#trust");
  const details = page.locator("#trust-chart details");
  await details.locator("summary").click();
  const models = async () => {
    const cells = await cellsOf(details.locator("tbody tr"));
    // Medians, quartiles and trials stand before what is predicted, once there are any.
    return cells.map(([epsilon, name, ...values]) => {
      return { epsilon, name, median: values.length > 1 ? parsed(values[0]) : NaN, share: parsed(values.at(-1)) };
    });
  };
  const rows = await eventually(models, (rows) => rows.length > 10);
  for (const { epsilon, share } of rows.filter(({ name, share }) => name === "Shuffled" && share > 0)) {
    const local = rows.find((row) => row.name === "Local" && row.epsilon === epsilon);
    assert.ok(share >= local.share * 0.999, `${share} shuffled, ${local.share} locally at ${epsilon}`);
  }
  for (const [label, value, part] of [
    ["Users n", "2,000", "records=2000"],
    ["δ of what is seen", "1e-5", "delta=1e-5"],
  ]) {
    const before = JSON.stringify(await models());
    await change(page, label, value, "trust");
    await eventually(async () => JSON.stringify(await models()), (now) => now !== before);
    await address(page, `trust.${part}`);
  }
  await page.locator("#trust-form").getByLabel("Mechanism").selectOption("gaussian");
  await saying(page, "#trust-caption", /Gaussian/);
  await change(page, "Users n", "1", "trust");
  await page.getByText("Give a whole number from 100 to").waitFor();
  await page.getByRole("rowheader", { name: "Shuffled" }).first().waitFor();
});

test("central methods are simulated as one watches, cancelled, and go on where they were", async () => {
  const { page } = await host.open({
    hash: "methods.html#trust&error.dimension=24&error.trials=1&error.mechanisms=double-cap&error.measure=error",
    ...VIEWS.light,
  });
  const [again, status] = ["#trust-run", "#trust-status"].map((id) => page.locator(id));
  // In the turn of the page that reports the first simulation, so that the last cannot be done before.
  await page.evaluate(() => {
    const status = document.getElementById("trust-status");
    const observer = new MutationObserver(() => {
      if (!/^\d+ of 45 simulations done/.test(status.textContent)) return;
      observer.disconnect();
      const cancel = document.getElementById("trust-cancel");
      cancel.focus();
      cancel.click();
    });
    observer.observe(status, { childList: true, characterData: true, subtree: true });
  });
  await page.locator("#trust h2").scrollIntoViewIfNeeded();
  await status.getByText(/^Predicted\./).waitFor();
  await again.click();
  const stopped = await saying(page, "#trust-status", /^Cancelled/);
  const done = Number(stopped.match(/(\d+) of 45/)[1]);
  assert.ok(done >= 1 && done < 45, stopped);
  assert.equal(await page.evaluate(() => document.activeElement.id), "trust-run");
  await again.click();
  const goesOn = (text) => Number(text.match(/^(\d+) of/)?.[1]) > done || text.startsWith("Done");
  await eventually(() => status.textContent(), goesOn);
  await saying(page, "#trust-status", /^Done/);
  await page.locator("#trust-chart details summary").click();
  const cells = await eventually(
    () => cellsOf(page.locator("#trust-chart tbody tr")),
    (rows) => rows.filter(([, name, median]) => name.startsWith("Central") && median !== "").length === 27,
  );
  const at = (epsilon, name) => cells.find(([place, series]) => place === epsilon && series.includes(name));
  // The curator's noise is a hundredth of that of as many reports.
  assert.ok(parsed(at("1", "Analyze Gauss")[2]) < 0.2 * parsed(at("1", "Local").at(-1)), String(at("1", "Local")));
  assert.equal(at("1", "MOD-SULQ")[4], "5");
  const label = await page.locator("#trust-chart .plot").getAttribute("aria-label");
  assert.match(label, /Central: MOD-SULQ: simulated from/);
});
