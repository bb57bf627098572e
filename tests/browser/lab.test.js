// The lab in a page.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { compare, loadMethods } from "../../pkg/lab-node.js";
import { launchChromium } from "./chromium.js";
import { EMPTY, quietPage, ROOT, served } from "./pages.js";

const server = served(ROOT, { "/": EMPTY });
let browser;
before(async () => (browser = await launchChromium()));
after(() => browser?.close());

/** Runs `work` with the lab's exports as its first argument in a page of its own. */
async function inPage(t, work, argument) {
  const page = await quietPage(t, browser, server.url);
  const source = `async (argument) => {
    const lab = await import("/pkg/lab.js");
    await Promise.all([lab.init(), lab.init()]);
    return (${work})(lab, argument);
  }`;
  return page.evaluate(`(${source})(${JSON.stringify(argument)})`);
}

test("the page lives while a simulation runs, and can stop it", async (t) => {
  const { beats, done, name } = await inPage(t, async ({ simulate }) => {
    const controller = new AbortController();
    const state = { beats: 0, done: 0 };
    const heart = setInterval(() => (state.beats += 1));
    const mechanism = { type: "double-cap", epsilon: 2 };
    const options = { dimension: 10, rank: 2, records: 200, trials: 1000, mechanism };
    const onProgress = ({ done }) => {
      state.done = done;
      if (state.beats >= 3) controller.abort();
    };
    const error = await simulate(options, { signal: controller.signal, onProgress }).catch((error) => error);
    clearInterval(heart);
    return { ...state, name: error.name };
  });
  assert.equal(name, "AbortError");
  assert.ok(beats >= 3 && done < 1000, `${beats} beats in ${done} trials`);
});

test("every method is there once it is asked for, and finds what it finds in Node", async (t) => {
  const options = { dimension: 8, rank: 2, epsilon: 1, count: 2000, drawn: "records", seed: 5 };
  const work = async ({ compare, loadMethods }, options) => {
    const resources = () => performance.getEntriesByType("resource").map(({ name }) => name);
    const files = () => resources().filter((name) => name.endsWith("wasm/methods/ldp_pca_bg.wasm")).length;
    const before = files();
    await Promise.all([loadMethods(), loadMethods()]);
    const errors = compare(options).methods.map(({ key, trials }) => [key, trials[0]?.sinThetaSquared ?? null]);
    return { files: [before, files()], errors };
  };
  const { files, errors } = await inPage(t, work, options);
  assert.deepEqual(files, [0, 1]);
  await loadMethods();
  const here = compare(options).methods.map(({ key, trials }) => [key, trials[0]?.sinThetaSquared ?? null]);
  assert.equal(errors.length, 25);
  assert.deepEqual(errors, here);
});
