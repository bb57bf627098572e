// A wasm host without JavaScript's objects: its module imports nothing but the host's own source of random bytes.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomFillSync } from "node:crypto";
import { readFile } from "node:fs/promises";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";

const CRATE = fileURLToPath(new URL("no-js/", import.meta.url));
const MODULE = new URL("no-js/target/wasm32-unknown-unknown/debug/no_js.wasm", import.meta.url);

let module;

before(async () => {
  execFileSync("cargo", ["build", "--quiet", "--locked"], { cwd: CRATE, stdio: "inherit" });
  module = await WebAssembly.compile(await readFile(MODULE));
});

/** Instances with `random(bytes)` as the host's source, and what one of them reports. */
async function report(random) {
  let memory;
  const host = { random: (at, length) => random(new Uint8Array(memory.buffer, at, length)) };
  const { exports } = await WebAssembly.instantiate(module, { host });
  memory = exports.memory;
  const at = exports.report();
  if (at === 0) return undefined;
  const length = new DataView(memory.buffer).getUint32(at, true);
  return Buffer.from(memory.buffer, at + 4, length);
}

test("the module imports the host's random bytes alone", () => {
  assert.deepEqual(WebAssembly.Module.imports(module), [{ module: "host", name: "random", kind: "function" }]);
});

test("a report is made from them", async () => {
  const system = (bytes) => (randomFillSync(bytes), 0);
  const [first, second] = [await report(system), await report(system)];
  assert.equal(first.length, second.length);
  assert.notDeepEqual(first, second);
  const zeros = (bytes) => (bytes.fill(0), 0);
  assert.deepEqual(await report(zeros), await report(zeros));
});

test("a host that gives none gets no report", async () => {
  assert.equal(await report(() => 1), undefined);
});
