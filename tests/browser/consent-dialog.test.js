// The dialog that asks a visitor, under a policy without inline styles and with Trusted Types.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";

import { consent, init, Task } from "../../pkg/inline.js";
import { de } from "../../pkg/sentences.js";
import { TASK } from "../js/task.js";
import { inChromium } from "./asked.js";
import { assertAccessible, assertFits } from "./page-tools.js";
import { inEachBrowser, quietPage, ROOT, served } from "./pages.js";

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; " +
  "require-trusted-types-for 'script'; trusted-types 'none'; img-src data:";
const PAGE = `<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>Survey</title>
<meta name="color-scheme" content="light dark"><meta name="viewport" content="width=device-width">
<main><h1>Survey</h1><button id="start">Take part</button></main>
<ldp-pca-consent hidden><p>The collection is run by <a href="/about">the library</a>.</p></ldp-pca-consent></html>`;
const ANSWERED = () => document.body.dataset.answers;

const server = served(ROOT, { "/": PAGE }, POLICY);
let statements;
let family;

before(async () => {
  await init();
  const task = Task.parse(TASK);
  const page = { collector: "the library", purpose: "a study of its readers" };
  const labels = { height: "Größe", plan: "Tarif" };
  statements = { en: consent(task, page), de: consent(task, { ...page, sentences: de, labels }) };
  family = [1, 4].map((epsilon) => consent(Task.parse({ ...TASK, mechanism: { ...TASK.mechanism, epsilon } })));
});

/** A page whose button asks, and notes the answer. */
async function open(t, browser, statement) {
  const page = await quietPage(t, browser, server.url);
  await page.evaluate(async (statement) => {
    await import("/pkg/consent-dialog.js");
    document.querySelector("#start").onclick = async () => {
      const { answers = "" } = document.body.dataset;
      const agreed = await document.querySelector("ldp-pca-consent").ask(statement);
      document.body.dataset.answers = `${answers}${agreed} `;
    };
  }, statement);
  await page.focus("#start");
  await page.keyboard.press("Enter");
  return page;
}

/** The element with the focus: the page's, or the dialog's. */
function focused(page) {
  return page.evaluate(() => {
    const { activeElement: outer } = document;
    return (outer.shadowRoot?.activeElement ?? outer).textContent;
  });
}

/** The answers so far, once there is another than `before`. */
async function answered(page, before = "") {
  await page.waitForFunction(`(document.body.dataset.answers ?? "") !== "${before}"`);
  return page.evaluate(ANSWERED);
}

inEachBrowser((name, browser) => {
  test("it says all sentences in their language, and axe has nothing to say", async (t) => {
    for (const [language, statement] of Object.entries(statements)) {
      const page = await open(t, browser(), statement);
      const shown = await page.evaluate(() => {
        const { shadowRoot } = document.querySelector("ldp-pca-consent");
        const dialog = shadowRoot.querySelector("dialog");
        const name = shadowRoot.getElementById(dialog.getAttribute("aria-labelledby"))?.textContent;
        const { width } = dialog.getBoundingClientRect();
        const [modal, styled] = [dialog.matches(":modal"), width > 300 && width < 600];
        return { name, lang: dialog.lang, modal, styled, text: dialog.textContent };
      });
      const { title, who, leaves, stays, promise, scope, decline, agree } = statement;
      const text = [title, who, leaves, stays, promise, scope, decline, agree].join("");
      assert.deepEqual(shown, { name: title, lang: language, modal: true, styled: true, text });
      await assertAccessible(page);
    }
  });

  test("the keyboard reads from the title, answers, and goes back to where it was", async (t) => {
    const page = await open(t, browser(), statements.en);
    assert.equal(await focused(page), statements.en.title);
    for (const expected of ["the library", "Decline", "Agree"]) {
      await page.keyboard.press("Tab");
      assert.equal(await focused(page), expected);
    }
    await page.keyboard.press("Enter");
    assert.equal(await answered(page), "true ");
    assert.equal(await focused(page), "Take part");

    await page.keyboard.press("Enter");
    await page.keyboard.press("Escape");
    assert.equal(await answered(page, "true "), "true false ");
    assert.equal(await focused(page), "Take part");

    await page.keyboard.press("Enter");
    for (let times = 0; times < 2; times += 1) await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    assert.equal(await answered(page, "true false "), "true false false ");
  });

  test("a visitor chooses among the epsilons of a family, or none", async (t) => {
    const page = await quietPage(t, browser(), server.url);
    const choose = () =>
      page.evaluate(async (family) => {
        await import("/pkg/consent-dialog.js");
        globalThis.chosen = document.querySelector("ldp-pca-consent").choose(family);
      }, family);
    await choose();
    const shown = await page.evaluate(() => {
      const { shadowRoot } = document.querySelector("ldp-pca-consent");
      const inputs = [...shadowRoot.querySelectorAll("input")];
      const labels = inputs.map((input) => input.labels[0].textContent);
      const warning = shadowRoot.querySelector("fieldset p").textContent;
      return { labels, warning, checked: inputs.map(({ checked }) => checked) };
    });
    assert.match(shown.warning, /^Whoever receives the report also sees which of these you choose\./);
    const { labels, checked } = shown;
    assert.deepEqual({ labels, checked }, { labels: family.map(({ promise }) => promise), checked: [false, false] });
    assert.notEqual(family[0].promise, family[1].promise);
    await assertAccessible(page);
    // Without a choice there is nothing to agree to.
    const agree = (choice) =>
      page.evaluate((choice) => {
        const { shadowRoot } = document.querySelector("ldp-pca-consent");
        shadowRoot.querySelectorAll("input")[choice]?.click();
        shadowRoot.querySelectorAll("button")[1].click();
        return shadowRoot.querySelector("dialog").open;
      }, choice);
    assert.equal(await agree(), true);
    assert.equal(await agree(1), false);
    const digest = await page.evaluate(async () => (await globalThis.chosen).taskDigest);
    assert.equal(digest, family[1].taskDigest);
    await choose();
    await page.keyboard.press("Escape");
    assert.equal(await page.evaluate(async () => (await globalThis.chosen) === undefined), true);
    // Where lengths differ each choice has its own; a language without the sentence takes it from the page.
    const other = await page.evaluate((family) => {
      const dialog = document.querySelector("ldp-pca-consent");
      const french = family.map((statement, index) => ({ ...statement, locale: "fr", leaves: `leaves ${index}` }));
      let refusal;
      try {
        dialog.choose(french);
      } catch ({ message }) {
        refusal = message;
      }
      dialog.choose(french, { choice: "Attention." });
      const text = (selector) => [...dialog.shadowRoot.querySelectorAll(selector)].map((node) => node.textContent);
      return { refusal, warning: text("fieldset p"), labels: text("label"), first: text("dialog > p")[0] };
    }, family);
    assert.deepEqual(other, {
      refusal: "give 'choice', the sentence above a choice in 'fr'",
      warning: ["Attention."],
      labels: family.map(({ promise }, index) => `leaves ${index} ${promise}`),
      first: family[0].stays,
    });
  });

  test("who asks the same at once has the same answer, and the dialog goes when nobody waits any more", async (t) => {
    const page = await quietPage(t, browser(), server.url);
    const found = await page.evaluate(async (statement) => {
      await import("/pkg/consent-dialog.js");
      const element = document.querySelector("ldp-pca-consent");
      const isOpen = () => element.shadowRoot.querySelector("dialog").open;
      const stopped = () => {
        const stop = new AbortController();
        const answer = element.ask(statement, { signal: stop.signal }).catch((reason) => reason);
        return { answer, stop: () => stop.abort("gone") };
      };
      const [first, second] = [stopped(), element.ask(statement)];
      first.stop();
      const found = [await first.answer, isOpen()];
      element.shadowRoot.querySelectorAll("button")[1].click();
      found.push(await second, isOpen());
      const alone = stopped();
      alone.stop();
      return [...found, await alone.answer, isOpen()];
    }, statements.en);
    assert.deepEqual(found, ["gone", true, true, false, "gone", false]);
  });

  test("another question, and an element that goes, decline", async (t) => {
    const page = await open(t, browser(), statements.en);
    const answers = await page.evaluate(async (statement) => {
      const dialog = document.querySelector("ldp-pca-consent");
      const first = dialog.ask(statement);
      // The event of the first closing comes later.
      const closed = new Promise((resolve) => {
        dialog.shadowRoot.querySelector("dialog").addEventListener("close", resolve, { once: true });
      });
      const second = dialog.ask({ ...statement, title: "And now?" });
      await closed;
      const pending = await Promise.race([second, "asked"]);
      dialog.remove();
      const found = [await first, pending, await second];
      document.body.append(dialog);
      const third = dialog.ask(statement);
      dialog.shadowRoot.querySelectorAll("button")[1].click();
      return [...found, await third];
    }, statements.en);
    assert.deepEqual(answers, [false, "asked", false, true]);
  });

  test("where there are no modal dialogs it opens in its place, and asks", async (t) => {
    const page = await quietPage(t, browser(), server.url);
    const answers = await page.evaluate(async (statement) => {
      for (const method of ["showModal", "close"]) delete HTMLDialogElement.prototype[method];
      await import("/pkg/consent-dialog.js");
      const element = document.querySelector("ldp-pca-consent");
      const dialog = element.shadowRoot.querySelector("dialog");
      const found = [];
      for (const button of [1, 0]) {
        const answer = element.ask(statement);
        found.push(dialog.checkVisibility());
        element.shadowRoot.querySelectorAll("button")[button].click();
        found.push(await answer, dialog.checkVisibility());
      }
      return found;
    }, statements.en);
    assert.deepEqual(answers, [true, true, false, true, false, false]);
  });

  if (name !== "Chromium") return;

  test("a picture of it in light, in dark and on a phone, for those who look", async (t) => {
    const folder = join(ROOT, "tests/browser/screenshots");
    mkdirSync(folder, { recursive: true });
    const wide = { width: 800, height: 640 };
    for (const [view, language, options] of [
      ["light", "en", { viewport: wide }],
      ["dark", "de", { viewport: wide, colorScheme: "dark" }],
      ["phone", "de", { viewport: { width: 360, height: 740 } }],
    ]) {
      const context = await browser().newContext(options);
      const page = await open(t, context, statements[language]);
      t.after(() => context.close());
      await assertFits(page);
      await assertAccessible(page);
      await page.screenshot({ path: join(folder, `consent-dialog-${view}.png`) });
    }
  });
});

inChromium("a server can import it", async () => {
  await import("../../pkg/consent-dialog.js");
});
