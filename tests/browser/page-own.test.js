// The visitor's own records on the page: a file becomes a schema, a spectrum, and what the charts are about.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { run } from "../js/command-line.js";
import { scratchFolder } from "../js/folder.js";
import { inChromium, inFirefox } from "./asked.js";
import { launchFirefox } from "./firefox.js";
import {
  assertAccessible, assertFits, click, enter, eventually, hostPage, inEveryView, PAGES, parsed, said, saved, saying,
  screenshot, scrollAll, VIEWS,
} from "./page-tools.js";
import { openPage, ROOT, until } from "./pages.js";

const SURVEY = join(ROOT, "examples/survey.csv");
/** Few trials, so that charts are soon done. */
const FEW = "#own&error.trials=2";

const host = hostPage();
const folder = scratchFolder();

/** Drops a file on the page, as a hand does: in any browser. */
function drop(page, name, text) {
  return page.evaluate(([name, text]) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([text], name, { type: "text/csv" }));
    const target = document.querySelector("h1");
    for (const type of ["dragenter", "dragover", "drop"]) {
      target.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
    }
  }, [name, text]);
}

const SECOND = "methods.html";

/** That every chart of a page is about the survey. */
async function chartsOfSurvey(page, name = "") {
  await scrollAll(page, name);
  await saying(page, "#error-epsilon-caption", /^5,000 records of survey\.csv, 12 features, 3 components; 20,000/);
  await click(page, "#error-run");
  await saying(page, "#error-status", /^Done: 2 trials/);
  if (name === "") {
    await saying(page, "#planner-caption", /^12 features, 3 components, shares of variance 0\./);
    await saying(page, "#planner-answer", /people find 90 % of the structure/);
    return;
  }
  await saying(page, "#trust-caption", /^5,000 records of survey\.csv, 12 features, 3 components/);
  await saying(page, "#trust-status", /^Predicted\./);
  await click(page, "#trust-run");
  await saying(page, "#trust-status", /^Done\.$/);
  await click(page, "#sparse-run");
  await saying(page, "#sparse-truth figcaption", /^It uses 12 of 12 features\. Those with the largest shares/);
  await saying(page, "#sparse-found tbody", /Plain components\d[\d.]* %0\.\d+✓ 12 of 12○ none✗ none/);
  await until(() => page.evaluate(() => !document.getElementById("sparse-step").disabled));
}

/** The file that a button gives. */
async function file(page, button) {
  const { name, bytes } = await saved(page, page.locator(button));
  return { name, text: bytes.toString("utf8") };
}

inChromium("a chosen file is what every chart is about, and its files are the command line's", async () => {
  const { page } = await host.open({ hash: FEW, ...VIEWS.light });
  await saying(page, "#error-status", /^Predicted/);
  await saying(page, "#error-epsilon-caption", /^40 features, 3 components on all of them, signal 20/);
  await page.setInputFiles("#own-file", SURVEY);
  await saying(page, "#own-status", /^The charts of this page are about survey\.csv\.$/);
  assert.equal(await said(page, "#own-facts"), "5,000 rows of 12 columns give 12 features.");
  assert.equal(await page.locator("#own-spectrum tbody tr").count(), 12);
  assert.match(await said(page, "#own-spectrum tbody tr:last-child"), /100 %$/);
  await chartsOfSurvey(page);
  assert.ok(await page.locator("#error-dimension").isHidden());

  const schema = join(folder, "schema.json");
  run("schema", "infer", SURVEY, "--output", schema);
  assert.deepEqual(await file(page, "#own-schema"), { name: "schema.json", text: readFileSync(schema, "utf8") });
  const task = join(folder, "task.json");
  run("task", "new", "--schema", schema, "--mechanism", "double-cap", "--epsilon", "2", "--output", task);
  assert.deepEqual(await file(page, "#own-task"), { name: "task.json", text: readFileSync(task, "utf8") });

  // Other choices, other files: numbers with all their digits.
  await page.selectOption("#own-scaling", "standard");
  await saying(page, "#own-status", /^The charts of this page/);
  run("schema", "infer", SURVEY, "--scaling", "standard", "--ignore", "chess", "--output", schema, "--force");
  await page.fill("#own-ignore", "chess");
  await page.locator("#own-ignore").blur();
  await saying(page, "#own-facts", /give 11 features/);
  assert.equal((await file(page, "#own-schema")).text, readFileSync(schema, "utf8"));
  await page.selectOption("#own-mechanism", "gaussian");
  const gaussian = ["--mechanism", "gaussian", "--epsilon", "2", "--delta", "1e-6"];
  run("task", "new", "--schema", schema, ...gaussian, "--output", task, "--force");
  assert.equal((await file(page, "#own-task")).text, readFileSync(task, "utf8"));

  await page.click("#own-back");
  await saying(page, "#error-epsilon-caption", /^40 features, 3 components on all of them, signal 20/);
  assert.ok(await page.locator("#own-found").isHidden());
  assert.ok(await page.locator("#error-dimension").isVisible());
});

inChromium("a separator and a decimal comma that the file does not show are chosen", async () => {
  const { page } = await host.open({ hash: FEW, ...VIEWS.light });
  await drop(page, "both.csv", "1,5;2,5\n3,0;4,5\n2,0;1,5\n");
  await saying(page, "#own-failure", /both\.csv could not be read: more than one of comma, semicolon and tab/);
  await page.getByLabel("Decimal comma").check();
  await page.getByLabel("Cells are separated by").selectOption("semicolon");
  await saying(page, "#own-facts", /^3 rows of 2 columns give 2 features\.$/);
});

inChromium("as many components can be asked for as the records have features, whatever the fields hold", async () => {
  const hidden = "&error.dimension=4&sparse.dimension=4&sparse.sparsity=3";
  const { page } = await host.open({ hash: SECOND + FEW + hidden, ...VIEWS.light });
  await page.setInputFiles("#own-file", SURVEY);
  await saying(page, "#own-status", /survey\.csv\.$/);
  await page.evaluate(() => document.getElementById("sparse").scrollIntoView());
  for (const section of ["error", "sparse"]) {
    assert.ok(await page.locator(`#${section}-dimension`).isHidden());
    await enter(page.locator(`#${section}-rank`), "8");
    assert.notEqual(await page.getAttribute(`#${section}-rank`, "aria-invalid"), "true");
  }
  await saying(page, "#error-epsilon-caption", /12 features, 8 components/);
  await until(() => page.evaluate(() => !document.getElementById("sparse-step").disabled));
  assert.ok(await page.locator("#sparse-failure").isHidden());
  await drop(page, "four.csv", "a,b,c,d\n1,2,3,4\n2,1,4,3\n4,1,2,5\n0,1,0,2\n1,1,5,1\n");
  await saying(page, "#own-status", /four\.csv\.$/);
  await saying(page, "#error-epsilon-caption", /4 features, 3 components/);
  for (const section of ["error", "sparse"]) {
    await enter(page.locator(`#${section}-rank`), "4");
    await saying(page, `#${section}-form-rank-problem`, /With 4 features there can be at most 3 components/);
  }
  await page.click("#own-back");
  await saying(page, "#error-epsilon-caption", /^4 features, 3 components on all of them/);
  await saying(page, "#sparse-truth figcaption", /^It uses \d of 4 features, which come first here\.$/);
});

inChromium("missing values are counted, and text is read as a file is", async () => {
  const { page } = await host.open({ hash: FEW, ...VIEWS.light });
  const text = "age,plan,spent\n31,free,0.5\nNA,paid,\n,free,2\n64,,n/a\n";
  await page.locator("#own summary").click();
  await page.fill("#own-text", text);
  await page.click("#own-paste");
  await saying(page, "#own-status", /^The charts of this page are about the pasted text\.$/);
  const expected =
    "4 rows of 3 columns give 4 features. Values are missing in age (2 rows), plan (1 row), spent (2 rows).";
  assert.equal(await said(page, "#own-facts"), expected);
});

inChromium("a broken file is refused by line and column, without a value of it, and the charts stay", async () => {
  const { page } = await host.open({ hash: FEW, ...VIEWS.light });
  await page.setInputFiles("#own-file", SURVEY);
  await saying(page, "#own-status", /survey\.csv\.$/);
  const numbers = Array.from({ length: 300 }, (_, row) => `${row},${row % 7}`).join("\n");
  await drop(page, "broken.csv", `a,b\n${numbers}\nhunter2,1\n`);
  const words = await saying(page, "#own-failure", /broken\.csv could not be read/);
  assert.match(words, /line 302: column 1 of the sample holds a text among many numbers/);
  assert.match(words, /The charts are about survey\.csv as before\.$/);
  assert.ok(!(await said(page, "body")).includes("hunter2"));
  await drop(page, "one.csv", "a\n1\n2\n");
  await saying(page, "#own-failure", /one\.csv could not be read: its columns make one feature/);
  await saying(page, "#error-epsilon-caption", /survey\.csv/);
});

/** A file of many rows, made in the page. */
function dropLarge(page, rows, columns) {
  return page.evaluate(([rows, columns]) => {
    const lines = [Array.from({ length: columns }, (_, column) => `c${column}`).join()];
    let state = 1;
    for (let row = 0; row < rows; row += 1) {
      const fields = [];
      for (let column = 0; column < columns; column += 1) {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        fields.push(((state >>> 16) / 6553.6 - 5).toFixed(2));
      }
      lines.push(fields.join());
    }
    const data = new DataTransfer();
    data.items.add(new File([lines.join("\n")], "large.csv"));
    const input = document.getElementById("own-file");
    input.files = data.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  }, [rows, columns]);
}

inChromium("100,000 rows of 100 columns are read, and no more", async () => {
  const { page } = await host.open({ hash: `${SECOND}${FEW}&error.mechanisms=double-cap`, ...VIEWS.light });
  await dropLarge(page, 100_000, 100);
  await saying(page, "#own-facts", /^100,000 rows of 100 columns give 100 features\.$/);
  await saying(page, "#error-epsilon-caption", /^100,000 records of large\.csv, 100 features/);
  await dropLarge(page, 300, 151);
  await page.evaluate(() => document.getElementById("sparse").scrollIntoView());
  await saying(page, "#own-status", /large\.csv\.$/);
  await click(page, "#sparse-run");
  const most = /large\.csv has 151 features, and this section takes at most 150: leave columns out\. What you see is/;
  await saying(page, "#sparse-failure", most);
  await dropLarge(page, 100_001, 2);
  await saying(page, "#own-failure", /large\.csv could not be read: .* reads at most 100,000 rows/);
});

inChromium("its patterns are named, true ones beside those of noisy reports of so many people", async () => {
  const { page } = await host.open({ hash: `${FEW}&own-patterns.people=1000000`, ...VIEWS.light });
  await page.setInputFiles("#own-file", SURVEY);
  const share = async () => {
    const [, found] = (await said(page, "#own-patterns-share strong")).match(/^([\d.]+) % of the structure$/);
    return parsed(found);
  };
  await saying(page, "#own-patterns-share", /^With 1,000,000 people: /);
  assert.ok((await share()) > 95);
  const names = (side) => page.locator(`#own-patterns-${side} h4`).allTextContents();
  const truth = await names("true");
  assert.equal(truth.length, 3);
  assert.match(truth[0], /^Pattern 1: .*running/);
  assert.ok((await names("found"))[0].includes("running"));
  // So few that all of it may be noise.
  await enter(page.locator("#own-people"), "100");
  await saying(page, "#own-patterns-share", /^With 100 people: /);
  assert.ok((await share()) < 80);
  assert.deepEqual(await names("found"), ["Pattern 1", "Pattern 2", "Pattern 3"]);
  assert.deepEqual(await names("true"), truth);
});

for (const name of Object.keys(PAGES)) {
  inChromium(`with one's own records everything fits, and axe finds nothing: /${name}`, async () => {
    const { page } = await host.open({ hash: name + FEW, ...VIEWS.light });
    await page.setInputFiles("#own-file", SURVEY);
    await saying(page, "#own-status", /survey\.csv\.$/);
    await chartsOfSurvey(page, name);
    await page.evaluate(() => document.querySelectorAll("#own details").forEach((details) => (details.open = true)));
    await inEveryView(page, async (view) => {
      await assertFits(page);
      await assertAccessible(page);
      for (const section of PAGES[name]) await screenshot(page, section, `own-records-${view}`);
    });
  });
}

inFirefox("the same in Firefox", async (t) => {
  const browser = await launchFirefox();
  t.after(() => browser.close());
  const { page, errors } = await openPage(browser, host.url);
  await page.evaluate((hash) => (location.hash = hash), FEW);
  await eventually(() => page.evaluate(() => document.getElementById("version").textContent), (text) => text !== "");
  await drop(page, "broken.csv", "a,b\n1,2\nhunter2\n");
  await saying(page, "#own-failure", /line 3: found 1 field/);
  await drop(page, "survey.tsv", readFileSync(SURVEY, "utf8").replaceAll(",", "\t"));
  await saying(page, "#own-status", /survey\.tsv\.$/);
  assert.equal(await said(page, "#own-facts"), "5,000 rows of 12 columns give 12 features.");
  await drop(page, "survey.csv", readFileSync(SURVEY, "utf8"));
  await saying(page, "#own-status", /survey\.csv\.$/);
  await chartsOfSurvey(page);
  assert.deepEqual(errors.filter((message) => !message.includes("404")), []);
});
