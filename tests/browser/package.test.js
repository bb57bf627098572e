import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import { Components } from "../../pkg/components.js";
import { answersUntilEnd } from "../js/answers.js";
import { LIMITS, RECORD, TASK } from "../js/task.js";
import { Aggregator, OWN_IDS, Relay } from "./aggregator.js";
import { BROWSERS, EMPTY, openPage as open, policyFor, ROOT, until, vectorTests } from "./pages.js";
import { serve, serveUntilEnd } from "./serve.js";

for (const [name, launch] of Object.entries(BROWSERS)) describe(name, () => packageTests(name, launch));

function packageTests(name, launch) {
  let browser;
  let server;

  before(async () => {
    server = await serve(ROOT, { "/": EMPTY });
    browser = await launch();
  });

  after(async () => {
    await browser?.close();
    await server?.close();
  });

  const openPage = (url = server.url) => open(browser, url);

  test("the package starts on a page whose policy allows wasm and nothing else", async () => {
    const { page, errors } = await openPage();
    const version = await page.evaluate(async () => {
      const { init, version } = await import("/pkg/index.js");
      await Promise.all([init(), init()]);
      return version();
    });
    const { version: expected } = JSON.parse(readFileSync(join(ROOT, "pkg/package.json"), "utf8"));
    assert.equal(version, expected);
    assert.deepEqual(errors, []);
  });

  test("a policy that forbids wasm is an error with a code", async (t) => {
    const strict = await serveUntilEnd(t, ROOT, { "/": EMPTY }, "default-src 'self'; img-src data:");
    const { page } = await openPage(strict.url);
    const error = await page.evaluate(async () => {
      const { init, LdpPcaError } = await import("/pkg/index.js");
      return init().catch((error) => ({ typed: error instanceof LdpPcaError, ...error, message: error.message }));
    });
    assert.equal(error.typed, true);
    assert.equal(error.code, "init");
    assert.match(error.message, /'wasm-unsafe-eval' to script-src/);
  });

  test("what a page can know of a request that failed is in the message", async (t) => {
    const here = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src data:";
    const [open, strict] = await Promise.all(
      [here, `${here}; connect-src 'none'`].map((policy) => serveUntilEnd(t, ROOT, { "/": EMPTY }, policy)),
    );
    const messages = async ({ url }) => {
      const { page } = await openPage(url);
      return page.evaluate(async () => {
        const { init, Task } = await import("/pkg/index.js");
        const message = (promise) => promise.then(String, ({ code, message }) => `${code}: ${message}`);
        // Nothing listens on either.
        return [
          await message(init("/")),
          await message(init()),
          await message(Task.fetch("http://127.0.0.1:9/tasks/1")),
        ];
      });
    };
    const [html, , blocked] = await messages(open);
    assert.match(html, /^init: .*http:.* is text\/html.*"<!doctype html.*not WebAssembly/);
    assert.match(blocked, /^fetch: no answer from http:\/\/127\.0\.0\.1:9\/tasks\/1: the page's policy.*connect-src/);
    const [, forbidden] = await messages(strict);
    assert.match(forbidden, /^init: .*ldp_pca_bg\.wasm: the page's policy forbids it.*connect-src/);
  });

  test("a browser without wasm is an error with a code", async () => {
    const { page } = await openPage();
    const found = await page.evaluate(async () => {
      delete globalThis.WebAssembly;
      const { init, InitError } = await import("/pkg/index.js");
      return init().catch((error) => [error instanceof InitError, error.code, error.message]);
    });
    assert.deepEqual(found.slice(0, 2), [true, "init"]);
    assert.match(found[2], /WebAssembly/);
  });

  test("a browser without crypto is an error with a code, and there is no report", async () => {
    const { page } = await openPage();
    const found = await page.evaluate(
      async ([task, record, limits]) => {
        Object.defineProperty(globalThis, "crypto", { value: undefined });
        const { EntropyError, init, Randomizer, Task } = await import("/pkg/index.js");
        await init();
        const randomizer = new Randomizer(Task.parse(task), limits);
        try {
          return randomizer.randomize(record).toJSON();
        } catch (error) {
          return [error instanceof EntropyError, error.code];
        }
      },
      [TASK, RECORD, LIMITS],
    );
    assert.deepEqual(found, [true, "entropy"]);
  });

  test("a policy that forbids the aggregator is an error with a code, and nothing is sent", async (t) => {
    const elsewhere = await answersUntilEnd(t, {});
    const { page } = await openPage();
    const found = await page.evaluate(async ([task, record, limits, url]) => {
      const { init, Randomizer, submit, SubmitError, Task, TaskError } = await import("/pkg/index.js");
      await init();
      const report = new Randomizer(Task.parse(task), limits).randomize(record);
      return [
        await submit(report, { url, retries: 0 }).catch((error) => [error instanceof SubmitError, error.code]),
        await Task.fetch(url).catch((error) => [error instanceof TaskError, error.code]),
      ];
    }, [TASK, RECORD, LIMITS, elsewhere.url]);
    assert.deepEqual(found, [[true, "network"], [true, "fetch"]]);
    assert.deepEqual(elsewhere.requests, []);
  });

  test("a module that is not there is an error with a code, and the next call tries again", async () => {
    const { page } = await openPage();
    const found = await page.evaluate(async () => {
      const { init, version } = await import("/pkg/index.js");
      const code = await init("/nowhere.wasm").catch((error) => error.code);
      await init("/pkg/wasm/client/ldp_pca_bg.wasm");
      return [code, typeof version()];
    });
    assert.deepEqual(found, ["init", "string"]);
  });

  vectorTests(`in ${name}`, "/pkg/index.js", openPage);

  test("reports take their randomness from crypto.getRandomValues and fail with it", async () => {
    const { page } = await openPage();
    const found = await page.evaluate(async ([task, record, limits]) => {
      const { init, Randomizer, Task } = await import("/pkg/index.js");
      await init();
      const randomizer = new Randomizer(Task.parse(task), limits);
      const original = crypto.getRandomValues;
      let bytes = 0;
      crypto.getRandomValues = (array) => {
        bytes += array.byteLength;
        return original.call(crypto, array);
      };
      const reports = [randomizer.randomize(record).bytes.join(), randomizer.randomize(record).bytes.join()];
      crypto.getRandomValues = () => { throw new Error("no entropy today"); };
      let code = "none";
      try {
        randomizer.randomize(record);
      } catch (error) {
        code = error.code;
      }
      return { bytes, same: reports[0] === reports[1], code };
    }, [TASK, RECORD, LIMITS]);
    // A report id and one draw each, at the least.
    assert.ok(found.bytes >= 2 * (16 + 8), `${found.bytes} bytes were drawn`);
    assert.equal(found.same, false);
    assert.equal(found.code, "entropy");
  });

  test("scores are those of Node, in a page that allows neither wasm nor any other request", async (t) => {
    const columns = [...TASK.schema.columns, { name: "age", type: "numeric", offset: 1e-3, scale: 1 / 3 }];
    const names = ["height", "plan=free", "plan=paid", "age"];
    const document = {
      version: 1,
      task: "0".repeat(64),
      schema: { columns },
      bounding: { type: "unit-norm" },
      feature_names: names,
      records: 1000,
      mean: [0.1, 0.2, 0.3, 0.4],
      noise_edge: 0.1,
      components: [1, 2].map((one) => ({ loadings: names.map((_, place) => Math.sin(one + place)), variance: 0.2 })),
    };
    const records = [RECORD, { height: 1e300, plan: " paid\u0085", age: -1e-300 }, [5e-324, 0, 1, NaN], {}];
    const policy = "default-src 'none'; script-src 'self'; img-src data:";
    const strict = await serveUntilEnd(t, ROOT, { "/": EMPTY }, policy);
    const { page, errors } = await openPage(strict.url);
    const found = await page.evaluate(async ([text, records]) => {
      const { Components } = await import("/pkg/components.js");
      const components = Components.parse(text);
      return { scores: records.map((record) => components.scores(record)), words: components.describe() };
    }, [JSON.stringify(document), records]);
    const components = Components.parse(document);
    assert.deepEqual(found.words, components.describe());
    const expected = records.flatMap((record) => components.scores(record));
    found.scores.flat().forEach((score, place) => assert.ok(Math.abs(score - expected[place]) <= 1e-12, `${score}`));
    assert.deepEqual(errors, []);
  });

  test("a report is accepted by the native aggregator, once", async (t) => {
    const aggregator = await Aggregator.during(t, TASK, undefined, OWN_IDS);
    // A page of another origin, as of any application that embeds the package.
    const embedding = await serveUntilEnd(t, ROOT, { "/": EMPTY }, policyFor(aggregator.url));
    const { page, errors } = await openPage(embedding.url);
    const verdicts = await page.evaluate(async ([url, record, limits]) => {
      const { init, Randomizer, submit, Task } = await import("/pkg/index.js");
      await init();
      const { tasks } = await (await fetch(`${url}/tasks`)).json();
      const task = await Task.fetch(`${url}/tasks/${tasks[0]}`, { digest: tasks[0] });
      const report = new Randomizer(task, limits).randomize(record);
      return [await submit(report, { url }), await submit(report, { url })];
    }, [aggregator.url, RECORD, LIMITS]);
    assert.deepEqual(verdicts, [{ status: "accepted", attempts: 1 }, { status: "duplicate", attempts: 1 }]);
    assert.equal((await aggregator.get(`/tasks/${(await aggregator.get("/tasks")).tasks[0]}/status`)).records, 1);
    assert.deepEqual(errors, []);
  });

  test("reports that a relay carries are sealed in the page, and opened by the native aggregator", async (t) => {
    const [aggregator, relay] = [new Aggregator(TASK, undefined, OWN_IDS), new Relay()];
    t.after(() => Promise.all([relay.remove(), aggregator.remove()]));
    await aggregator.start();
    await relay.start(aggregator.url, 2);
    const embedding = await serveUntilEnd(t, ROOT, { "/": EMPTY }, policyFor(relay.url));
    const { page, errors } = await openPage(embedding.url);
    const outcomes = await page.evaluate(async ([relay, json, record, limits]) => {
      const { init, PrivacyLedger, Randomizer, Task } = await import("/pkg/index.js");
      await init();
      const randomizer = new Randomizer(Task.parse(json), limits);
      const statuses = [];
      // As on two devices.
      for (const name of ["one", "other"]) {
        const ledger = await PrivacyLedger.open({ name, maxEpsilon: 2 });
        statuses.push((await ledger.send(randomizer, record, { relay })).status);
      }
      return statuses;
    }, [relay.url, TASK, RECORD, LIMITS]);
    assert.deepEqual(outcomes, ["relayed", "relayed"]);
    const [task] = (await aggregator.get("/tasks")).tasks;
    await until(async () => (await aggregator.get(`/tasks/${task}/status`)).records === 2);
    assert.deepEqual(errors, []);
  });
}
