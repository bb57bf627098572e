// Everything in one call, of a form: the dialog that it shows, and a real aggregator.

import assert from "node:assert/strict";
import { test } from "node:test";

import { TASK } from "../js/task.js";
import { Aggregator } from "./aggregator.js";
import { inEachBrowser, policyFor, quietPage, ROOT, served } from "./pages.js";

const PAGE = `<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>Survey</title>
<form><input name="height" value="181"><select name="plan"><option>free</option><option>paid</option></select></form>`;

const aggregator = Aggregator.forTests(TASK);
const server = served(ROOT, { "/": PAGE }, () => policyFor(aggregator.url));

inEachBrowser((name, browser) => {
  test("a form is counted once its visitor agrees, in one dialog that comes and goes by itself", async (t) => {
    const page = await quietPage(t, browser(), server.url);
    const [digest] = (await aggregator.get("/tasks")).tasks;
    const before = await aggregator.records(digest);
    await page.evaluate(async ([url, digest]) => {
      const { collect, explain } = await import("/pkg/collect.js");
      const { ConsentDialog } = await import("/pkg/consent-dialog.js");
      const { ask } = ConsentDialog.prototype;
      ConsentDialog.prototype.ask = function (...given) {
        globalThis.asked += 1;
        return ask.apply(this, given);
      };
      const survey = { url, digest, maxEpsilon: 2, collector: "Example Club", purpose: "a study" };
      const once = () => collect(survey, document.querySelector("form")).then(explain, explain);
      // As by two clicks.
      globalThis.start = () => {
        globalThis.asked = 0;
        globalThis.outcomes = Promise.all([once(), once()]);
      };
    }, [aggregator.url, digest]);
    const answer = async (button) => {
      await page.evaluate(() => globalThis.start());
      await page.waitForFunction(() => globalThis.asked === 2);
      return page.evaluate((button) => {
        const [{ shadowRoot }, ...others] = document.querySelectorAll("ldp-pca-consent");
        const [first] = shadowRoot.querySelectorAll("dialog:modal p");
        shadowRoot.querySelectorAll("button")[button].click();
        return [first.textContent, others.length];
      }, button);
    };
    const outcomes = async () => (await page.evaluate(() => globalThis.outcomes)).sort();
    assert.deepEqual(await answer(0), ["Who asks: Example Club. What for: a study.", 0]);
    assert.deepEqual(await outcomes(), Array(2).fill("You did not agree, and none of your answers was sent."));
    await answer(1);
    const [counted, again] = ["Counted. Thank you!", "You took part already. Thank you!"];
    const [first, second] = await outcomes();
    assert.equal(first, counted);
    assert.ok([counted, again].includes(second), second);
    // Whoever took part is not asked again.
    await page.evaluate(() => globalThis.start());
    assert.deepEqual(await outcomes(), [again, again]);
    assert.equal(await page.evaluate(() => document.querySelector("ldp-pca-consent")), null);
    assert.equal(await aggregator.records(digest), before + 1);
  });

  test("fields of a form are read as they are, whatever their names, and boxes when they are empty, too", async (t) => {
    const page = await quietPage(t, browser(), server.url);
    const read = await page.evaluate(async () => {
      const { formRecord } = await import("/pkg/collect.js");
      document.querySelector("form").innerHTML = `
        <input name="a" type="number" value=""><input name="b" type="number" value="-2.5">
        <input name="c" type="checkbox"><input name="d" type="checkbox" checked>
        <fieldset disabled><input name="e" type="checkbox"></fieldset>
        <input name="f" type="checkbox" value="x"><input name="f" type="checkbox" value="y" checked>
        <input name="g" type="radio" value="x"><input name="h" type="radio" value="x" checked>
        <select name="i" multiple><option selected>x</option><option selected>y</option></select>
        <input name="j" type="file"><input name="k" type="checkbox"><input name="getAll" type="checkbox" checked>
        <input name="elements" value="x"><input name="__proto__" value="x">`;
      const names = [..."abcdefghijk", "getAll", "elements", "__proto__"];
      const numeric = ["b", "k", "getAll"];
      const typeOf = (name) => (numeric.includes(name) ? "numeric" : "categorical");
      const columns = names.map((name) => ({ name, type: typeOf(name) }));
      const task = JSON.stringify({ schema: { columns } });
      const { j, ...texts } = formRecord(task, document.querySelector("form"));
      const read = (name, ...values) => {
        const columns = [{ name, type: "categorical", values }];
        try {
          return formRecord(JSON.stringify({ schema: { columns } }), document.querySelector("form"))[name];
        } catch ({ code, message }) {
          return [code, message];
        }
      };
      // A disabled one is refused, too: what disables it may be an answer.
      const lost = [read("c", "no", "yes"), read("e", "no", "yes")];
      return JSON.stringify([texts, typeof j, lost, read("d", "False", "True")]);
    });
    const boxes = { c: false, d: true, f: "y", k: 0, getAll: 1 };
    const expected = { a: "", b: "-2.5", ...boxes, h: "x", i: ["x", "y"], elements: "x", ["__proto__"]: "x" };
    const refused = ["c", "e"].map((column) => [
      "argument", `column ${column}: a checkbox is none of its values: use a select`,
    ]);
    assert.deepEqual(JSON.parse(read), [expected, "object", refused, true]);
  });
});
