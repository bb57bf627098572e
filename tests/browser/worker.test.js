// The entry that works in a worker.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { init, Task } from "../../pkg/inline.js";
import { answersUntilEnd } from "../js/answers.js";
import { LIMITS, RECORD, secondWave, TASK } from "../js/task.js";
import { Aggregator, OWN_IDS } from "./aggregator.js";
import { BROWSERS, EMPTY, openPage as open, PATIENCE, policyFor, ROOT, vectorTests } from "./pages.js";
import { serve, serveUntilEnd } from "./serve.js";

let aggregator;
let server;

before(async () => {
  aggregator = new Aggregator(TASK, undefined, OWN_IDS);
  await aggregator.start();
  server = await serve(ROOT, { "/": EMPTY }, policyFor(aggregator.url));
});

after(async () => {
  await server?.close();
  await aggregator?.remove();
});

async function digestOf(document) {
  await init();
  return Task.parse(document).digest;
}

for (const [name, launch] of Object.entries(BROWSERS)) describe(name, () => workerTests(name, launch));

function workerTests(name, launch) {
  let browser;

  before(async () => (browser = await launch()));

  after(() => browser?.close());

  const openPage = (url = server.url) => open(browser, url);

  vectorTests(`from a worker in ${name}`, "/pkg/worker.js", openPage, ["tasks.json"]);

  test("a report made in a worker goes through the ledger to the aggregator", async () => {
    const { page, errors } = await openPage();
    const outcome = await page.evaluate(async ([url, record, limits]) => {
      const { consent, init, PrivacyLedger, Randomizer, Report, Task } = await import("/pkg/worker.js");
      await Promise.all([init(), init()]);
      const { tasks } = await (await fetch(`${url}/tasks`)).json();
      const task = await Task.fetch(`${url}/tasks/${tasks[0]}`, { digest: tasks[0] });
      const ledger = await PrivacyLedger.open(limits);
      const report = await ledger.report(new Randomizer(task, limits), record, { url });
      const [{ status }] = await ledger.flush();
      return {
        status,
        isReport: report instanceof Report && Report.fromBytes(report.bytes, task).taskDigest === task.digest,
        leaves: consent(task).leaves,
      };
    }, [aggregator.url, RECORD, LIMITS]);
    assert.equal(outcome.status, "accepted");
    assert.equal(outcome.isReport, true);
    assert.match(outcome.leaves, /35 bytes.*height, plan/);
    assert.deepEqual(errors, []);
  });

  test("a page that asks for the first wave takes part in the second, through a worker", async (t) => {
    const { tasks: [parent] } = await aggregator.get("/tasks");
    const second = secondWave(TASK, parent);
    const digest = await digestOf(second);
    const cors = { "access-control-allow-origin": "*", "access-control-expose-headers": "refined-by" };
    const headers = { ...cors, "content-type": "application/json", "refined-by": digest };
    const answers = [TASK, second].map((document) => ({ headers, body: JSON.stringify(document) }));
    const waves = await answersUntilEnd(t, ...answers);
    const site = await serveUntilEnd(t, ROOT, { "/": EMPTY }, policyFor(waves.url));
    const { page, errors } = await openPage(site.url);
    const found = await page.evaluate(async ([url, digest, record, limits]) => {
      const { init, Randomizer, Task } = await import("/pkg/worker.js");
      await init();
      const task = await Task.fetch(`${url}/tasks/${digest}`, { digest });
      const report = await new Randomizer(task, limits).randomize(record);
      return [task.digest, task.campaign, report.taskDigest, report.bytes.length];
    }, [waves.url, parent, RECORD, LIMITS]);
    assert.deepEqual(found, [digest, parent, digest, 35]);
    assert.deepEqual(waves.requests.map(({ url }) => url), [`/tasks/${parent}`, `/tasks/${digest}`]);
    assert.deepEqual(errors, []);
  });

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

  test("errors come out of the worker with their class, their code and their message", async () => {
    const { page } = await openPage();
    const found = await page.evaluate(async ([document, record, limits]) => {
      const api = await import("/pkg/worker.js");
      const { init, Randomizer, Task, terminate, version } = api;
      const failures = {};
      const note = async (name, work) => {
        const error = await Promise.resolve().then(work).catch((error) => error);
        const typed = error instanceof api.LdpPcaError && error instanceof api[error.name];
        failures[name] = typed ? `${error.name} ${error.code}: ${error.message}` : String(error);
      };
      await note("before init", version);
      await init();
      const task = await Task.parse(document);
      const randomizer = new Randomizer(task, limits);
      await note("task", () => Task.parse({ ...document, note: 1 }));
      task.free();
      const outlives = (await randomizer.randomize(record)).bytes.length;
      randomizer.free();
      await note("freed", () => randomizer.randomize(record));
      const again = new Randomizer(await Task.parse(document), limits);
      const waiting = again.randomize(record);
      terminate();
      await note("terminated", () => waiting);
      await note("ended", version);
      await init();
      await note("of another worker", () => again.randomize(record));
      return { failures, outlives, version: typeof (await version()) };
    }, [TASK, RECORD, LIMITS]);
    const expected = {
      "before init": /^InitError init: .*await init\(\)/,
      task: /^TaskError task: .*note/,
      freed: /^ArgumentError argument: .*freed/,
      terminated: /^InitError init: .*terminated/,
      ended: /^InitError init: .*terminated.*await init\(\)/,
      "of another worker": /^ArgumentError argument: .*has ended/,
    };
    assert.deepEqual(Object.keys(found.failures), Object.keys(expected));
    for (const [name, pattern] of Object.entries(expected)) assert.match(found.failures[name], pattern, name);
    assert.equal(found.outlives, 35);
    assert.equal(found.version, "string");
  });

  test("a worker that dies fails what waits for it, and has a successor in which everything lives on", async () => {
    const { page } = await openPage();
    const found = await page.evaluate(async ([document, record, limits]) => {
      const workers = [];
      window.Worker = class extends Worker {
        constructor(...parameters) {
          super(...parameters);
          workers.push(this);
        }
      };
      const { init, Randomizer, Task, version } = await import("/pkg/worker.js");
      const failure = (promise) => promise.then(() => "none", ({ name, message }) => `${name}: ${message}`);
      const failures = [];
      failures.push(await failure(init(undefined, { worker: "/pkg/nowhere.js" })));
      await init();
      const task = await Task.parse(document);
      const randomizer = new Randomizer(task, limits);
      const freed = await Task.parse(document);
      const survivor = new Randomizer(freed, limits);
      freed.free();
      // Then it owes no answer to an earlier call, whose checks would go on as they began.
      await version();
      workers.at(-1).terminate();
      const real = setInterval;
      window.setInterval = (check) => real(check, 20);
      failures.push(...(await Promise.all([failure(randomizer.randomize(record)), failure(Task.parse(document))])));
      window.setInterval = real;
      // Nobody has called init.
      const reports = await Promise.all(
        [randomizer, survivor, new Randomizer(task, limits)].map((one) => one.randomize(record)),
      );
      return { failures, lengths: reports.map(({ bytes }) => bytes.length), started: workers.length };
    }, [TASK, RECORD, LIMITS]);
    const [script, ...silent] = found.failures;
    assert.match(script, /^InitError: no worker: its script failed/);
    assert.deepEqual(
      silent,
      Array(2).fill("InitError: no worker: it did not answer within 30000 ms: the next call starts another"),
    );
    assert.deepEqual([found.lengths, found.started], [[35, 35, 35], 3]);
  });

  test("the page can give the worker, its URL, or what makes one", async (t) => {
    const strict = await serveUntilEnd(t, ROOT, { "/": EMPTY }, `${policyFor()}; require-trusted-types-for 'script'`);
    for (const url of [server.url, strict.url]) {
      const { page } = await openPage(url);
      const found = await page.evaluate(async () => {
        const { init, terminate, version } = await import("/pkg/worker.js");
        const script = "/pkg/worker-thread.js";
        const trusted =
          window.trustedTypes?.createPolicy("workers", { createScriptURL: (url) => url }).createScriptURL(script) ??
          script;
        const make = () => new Worker(trusted, { type: "module" });
        const versions = [];
        for (const worker of [trusted, make, make()]) {
          await init(undefined, { worker });
          versions.push(typeof (await version()));
          terminate();
        }
        const used = make();
        await init(undefined, { worker: used });
        terminate();
        const again = await init(undefined, { worker: used }).catch(({ name, message }) => `${name}: ${message}`);
        return { versions, again };
      });
      assert.deepEqual(found.versions, ["string", "string", "string"]);
      assert.match(found.again, /^InitError: .*has ended: give a function/);
    }
  });

  test("records may be a framework's proxies, and are checked on the page, all of a record at once", async () => {
    const { page, errors } = await openPage();
    const found = await page.evaluate(async ([document, record, limits]) => {
      const { init, Randomizer, RecordError, Task } = await import("/pkg/worker.js");
      await init();
      const task = await Task.parse(document);
      // As Vue's reactive() makes them: structured cloning refuses such an object.
      const reactive = (target) => new Proxy(target, { get: (...of) => Reflect.get(...of) });
      const { bytes } = await new Randomizer(task, limits).randomize(reactive({ ...record, note: reactive({}) }));
      const problems = await task.check(reactive({ height: "s3cret", s3cret: () => {} }));
      return {
        length: bytes.length,
        none: await task.check(reactive(record)),
        problems: problems.map((error) => [error instanceof RecordError, error.reason, error.column, error.message]),
      };
    }, [TASK, RECORD, LIMITS]);
    assert.deepEqual(found, {
      length: 35,
      none: [],
      problems: [
        [true, "type", "height", "column 'height' is numeric: give a number or null"],
        [true, "missing", "plan", "column 'plan' is categorical: give a string or null"],
        [true, "unknown", undefined, "unknown columns: the task has height, note, plan"],
      ],
    });
    assert.deepEqual(errors, []);
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
      const count = await page.evaluate(async ([entry, document, record]) => {
        let count = 0;
        const names = ["compile", "compileStreaming", "instantiate", "instantiateStreaming", "Module", "Instance"];
        for (const name of names)
          WebAssembly[name] = new Proxy(WebAssembly[name], {
            apply: (...call) => ((count += 1), Reflect.apply(...call)),
            construct: (...call) => ((count += 1), Reflect.construct(...call)),
          });
        const { init, Randomizer, Task } = await import(entry);
        await init();
        const report = await new Randomizer(await Task.parse(document), { maxEpsilon: 4 }).randomize(record);
        return report.bytes.length ? count : undefined;
      }, [entry, TASK, RECORD]);
      await page.close();
      return count;
    };
    assert.equal(await compiled("/pkg/worker.js"), 0);
    for (const entry of ["/pkg/index.js", "/pkg/inline.js"]) assert.ok((await compiled(entry)) > 0, entry);
  });

  if (name !== "Chromium") return;

  test("a trap ends the worker, and reveals no word of the record", async () => {
    const page = await browser.newPage();
    page.setDefaultTimeout(PATIENCE);
    await page.route("**/pkg/worker-thread.js", async (route) => {
      const response = await route.fetch();
      // As a lack of memory would, of one record.
      const trap = `const { randomize } = methods;
        methods.randomize = (handle, record, options) => {
          const [height, , plan] = record;
          if (height === 1) throw new WebAssembly.RuntimeError("unreachable at " + plan);
          return randomize(handle, record, options);
        };`;
      await route.fulfill({ response, body: `${await response.text()}\n${trap}` });
    });
    await page.goto(`${server.url}/`);
    const found = await page.evaluate(async ([document, record, limits]) => {
      const { init, Randomizer, Task } = await import("/pkg/worker.js");
      await init();
      const randomizer = new Randomizer(await Task.parse(document), limits);
      const outcomes = await Promise.allSettled([
        randomizer.randomize({ ...record, height: 1 }),
        randomizer.randomize(record),
      ]);
      const failed = outcomes.map(({ reason }) => reason && `${reason.name}: ${reason.message}`);
      return { failed, length: (await randomizer.randomize(record)).bytes.length };
    }, [TASK, RECORD, LIMITS]);
    assert.equal(found.failed[0], "InitError: the worker failed: RuntimeError");
    assert.equal(found.length, 35);
  });

  test("without randomness there is an error and no report", async () => {
    const page = await browser.newPage();
    page.setDefaultTimeout(PATIENCE);
    // The worker's own global, before the package is there.
    await page.route("**/pkg/worker-thread.js", async (route) => {
      const response = await route.fetch();
      const body = `${await response.text()}\nObject.defineProperty(globalThis, "crypto", { value: undefined });`;
      await route.fulfill({ response, body });
    });
    await page.goto(`${server.url}/`);
    const found = await page.evaluate(async ([document, record, limits]) => {
      const { EntropyError, init, Randomizer, Task } = await import("/pkg/worker.js");
      await init();
      const randomizer = new Randomizer(await Task.parse(document), limits);
      return randomizer.randomize(record).catch((error) => [error instanceof EntropyError, error.code]);
    }, [TASK, RECORD, LIMITS]);
    assert.deepEqual(found, [true, "entropy"]);
  });
}
