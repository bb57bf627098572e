// The findings of package linters on the packed package.

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { pack } from "./consumer.js";

const TOOLS = fileURLToPath(new URL("../../node_modules/.bin", import.meta.url));

/** Files that no program imports: modules of WebAssembly, a worker's script, and the files for Jest. */
const UNTYPED = [
  "ldp_pca_bg.wasm", "ldp_pca_lab_bg.wasm", "ldp_pca_methods_bg.wasm", "testing.cjs", "worker-thread.js",
];

let tarball;

before(() => (tarball = pack()));

after(() => tarball?.remove());

/** Runs a tool, whose words are in the error when it does not end well. */
function run(tool, ...args) {
  execFileSync(join(TOOLS, tool), args, { encoding: "utf8", stdio: "pipe" });
}

test("publint has nothing to say", () => {
  run("publint", "run", tarball.file, "--strict");
});

test("the types are right for everyone who can use ES modules", () => {
  // esm-only: there is no CommonJS build (except for tests), which Node of the version that the package asks for can
  // `require` nonetheless, and resolution without `exports`, TypeScript's node10, finds nothing.
  run("attw", tarball.file, "--profile", "esm-only", "--exclude-entrypoints", ...UNTYPED);
});
