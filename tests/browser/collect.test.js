// Everything in one call, of a form: the dialog that it shows, and a real aggregator.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { TASK } from "../js/task.js";
import { Aggregator } from "./aggregator.js";
import { BROWSERS, openPage, policyFor, ROOT } from "./pages.js";
import { serve } from "./serve.js";

const PAGE = `<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>Survey</title>
<form><input name="height" value="181"><select name="plan"><option>free</option><option>paid</option></select></form>`;

let aggregator;
let server;

before(async () => {
  aggregator = new Aggregator(TASK);
  await aggregator.start();
  server = await serve(ROOT, { "/": PAGE }, policyFor(aggregator.url));
});

after(async () => {
  await server?.close();
  await aggregator?.remove();
});

for (const [name, launch] of Object.entries(BROWSERS)) {
  describe(name, () => {
    let browser;
    before(async () => (browser = await launch()));
    after(() => browser?.close());

    test("a form is counted once its visitor agrees, in a dialog that comes and goes by itself", async () => {
      const { page, errors } = await openPage(browser, server.url);
      const [digest] = (await aggregator.get("/tasks")).tasks;
      const before = (await aggregator.get(`/tasks/${digest}/status`)).records;
      await page.evaluate(async ([url, digest]) => {
        const { collect, explain } = await import("/pkg/collect.js");
        const survey = { url, digest, maxEpsilon: 2, collector: "Example Club", purpose: "a study" };
        globalThis.start = () => {
          globalThis.outcome = collect(survey, document.querySelector("form")).then(explain, explain);
        };
      }, [aggregator.url, digest]);
      const answer = async (button) => {
        await page.evaluate(() => globalThis.start());
        await page.waitForFunction(() =>
          document.querySelector("ldp-pca-consent")?.shadowRoot.querySelector("dialog:modal"),
        );
        return page.evaluate((button) => {
          const { shadowRoot } = document.querySelector("ldp-pca-consent");
          const [first] = shadowRoot.querySelectorAll("p");
          shadowRoot.querySelectorAll("button")[button].click();
          return first.textContent;
        }, button);
      };
      const outcome = () => page.evaluate(() => globalThis.outcome);
      assert.equal(await answer(0), "Who asks: Example Club. What for: a study.");
      assert.equal(await outcome(), "You did not agree, and nothing about you was sent.");
      await answer(1);
      assert.equal(await outcome(), "Counted. Thank you!");
      // Whoever took part is not asked again.
      await page.evaluate(() => globalThis.start());
      assert.equal(await outcome(), "You took part already. Thank you!");
      assert.equal(await page.evaluate(() => document.querySelector("ldp-pca-consent")), null);
      assert.equal((await aggregator.get(`/tasks/${digest}/status`)).records, before + 1);
      assert.deepEqual(errors, []);
      await page.close();
    });

    test("the fields of a form are read as they are, and its boxes when they are empty, too", async () => {
      const { page } = await openPage(browser, server.url);
      const read = await page.evaluate(async () => {
        const { formRecord } = await import("/pkg/collect.js");
        document.querySelector("form").innerHTML = `
          <input name="a" type="number" value=""><input name="b" type="number" value="-2.5">
          <input name="c" type="checkbox"><input name="d" type="checkbox" checked>
          <fieldset disabled><input name="e" type="checkbox"></fieldset>
          <input name="f" type="checkbox" value="x"><input name="f" type="checkbox" value="y" checked>
          <input name="g" type="radio" value="x"><input name="h" type="radio" value="x" checked>
          <select name="i" multiple><option selected>x</option><option selected>y</option></select>
          <input name="j" type="file">`;
        const columns = [..."abcdefghij"].map((name) => ({ name, type: "b" === name ? "numeric" : "categorical" }));
        const task = JSON.stringify({ schema: { columns } });
        const { j, ...texts } = formRecord(task, document.querySelector("form"));
        return JSON.stringify([texts, typeof j]);
      });
      const expected = { a: "", b: "-2.5", c: false, d: true, f: "y", h: "x", i: ["x", "y"] };
      assert.deepEqual(JSON.parse(read), [expected, "object"]);
      await page.close();
    });
  });
}
