// The entry that works in a worker, with a real worker: what tests/js/worker.test.js cannot know of browsers.

import assert from "node:assert/strict";
import { test } from "node:test";

import { LIMITS, RECORD, TASK } from "../js/task.js";
import { EMPTY, inEachBrowser, openPage as open, policyFor, ROOT, served, vectorTests } from "./pages.js";
import { serveUntilEnd } from "./serve.js";

const server = served(ROOT, { "/": EMPTY }, policyFor());

inEachBrowser((name, browser) => {
  const openPage = (url = server.url) => open(browser(), url);

  vectorTests(`from a worker in ${name}`, "/pkg/worker.js", openPage, ["tasks.json"]);

  test("a package on another origin starts its worker through a script of the page's own", async (t) => {
    const cdn = await serveUntilEnd(t, ROOT, {}, "default-src 'self'", { "access-control-allow-origin": "*" });
    const policy =
      `default-src 'none'; script-src 'self' ${cdn.url} 'wasm-unsafe-eval'; worker-src blob: ${cdn.url}; ` +
      `connect-src ${cdn.url}; img-src data:`;
    const site = await serveUntilEnd(t, ROOT, { "/": EMPTY }, policy);
    const { page } = await openPage(site.url);
    const found = await page.evaluate(async ([cdn, task, record, limits]) => {
      const { init, Randomizer, Task } = await import(`${cdn}/pkg/worker.js`);
      const refused = await init().catch(({ code, message }) => ({ code, message }));
      // As the typings have it.
      const script = URL.createObjectURL(
        new Blob([`import "${cdn}/pkg/worker-thread.js"`], { type: "text/javascript" }),
      );
      await init(undefined, { worker: () => new Worker(script, { type: "module" }) });
      const report = await new Randomizer(await Task.parse(task), limits).randomize(record);
      return { refused: refused?.code, bytes: report.bytes.length };
    }, [cdn.url, TASK, RECORD, LIMITS]);
    assert.deepEqual(found, { refused: "init", bytes: 35 });
  });

  test("under Trusted Types the page gives the worker, its trusted URL, or what makes one", async (t) => {
    const strict = await serveUntilEnd(t, ROOT, { "/": EMPTY }, `${policyFor()}; require-trusted-types-for 'script'`);
    const { page } = await openPage(strict.url);
    const versions = await page.evaluate(async () => {
      const { init, terminate, version } = await import("/pkg/worker.js");
      const script = "/pkg/worker-thread.js";
      const rules = window.trustedTypes?.createPolicy("workers", { createScriptURL: (url) => url });
      const trusted = rules?.createScriptURL(script) ?? script;
      const make = () => new Worker(trusted, { type: "module" });
      const versions = [];
      for (const worker of [trusted, make, make()]) {
        await init(undefined, { worker });
        versions.push(typeof (await version()));
        terminate();
      }
      return versions;
    });
    assert.deepEqual(versions, ["string", "string", "string"]);
  });

  test("a policy that forbids workers, or wasm in them, is an error with a code", async (t) => {
    for (const policy of [
      "default-src 'self'; img-src data:; script-src 'self' 'wasm-unsafe-eval'; worker-src 'none'",
      "default-src 'self'; img-src data:",
    ]) {
      const strict = await serveUntilEnd(t, ROOT, { "/": EMPTY }, policy);
      const { page } = await openPage(strict.url);
      const codes = await page.evaluate(async () => {
        const { init, InitError } = await import("/pkg/worker.js");
        const attempt = () => init().catch((error) => error instanceof InitError && error.code);
        return [await attempt(), await attempt()];
      });
      assert.deepEqual(codes, ["init", "init"], policy);
    }
  });

  test("a page with a worker runs no WebAssembly itself", async () => {
    const compiled = async (entry) => {
      const { page } = await openPage();
      const { count, leaves, same } = await page.evaluate(async ([entry, document, record]) => {
        let count = 0;
        const names = ["compile", "compileStreaming", "instantiate", "instantiateStreaming", "Module", "Instance"];
        for (const name of names) {
          const counted = (how) => (...call) => ((count += 1), Reflect[how](...call));
          const proxy = { apply: counted("apply"), construct: counted("construct") };
          WebAssembly[name] = new Proxy(WebAssembly[name], proxy);
        }
        const { consent, init, Randomizer, Report, Task } = await import(entry);
        await init();
        const task = await Task.parse(document);
        const { bytes } = await new Randomizer(task, { maxEpsilon: 4 }).randomize(record);
        const { taskDigest } = Report.fromBytes(bytes, task);
        return { count, leaves: consent(task).leaves, same: taskDigest === task.digest };
      }, [entry, TASK, RECORD]);
      await page.close();
      assert.match(leaves, /35 bytes.*height, plan/);
      assert.ok(same);
      return count;
    };
    assert.equal(await compiled("/pkg/worker.js"), 0);
    for (const entry of ["/pkg/index.js", "/pkg/inline.js"]) assert.ok((await compiled(entry)) > 0, entry);
  });
});
