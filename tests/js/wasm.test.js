import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { initSync, version } from "../../pkg/wasm/ldp_pca.js";

test("the module is built from this version of the crate", () => {
  initSync({ module: readFileSync(new URL("../../pkg/wasm/ldp_pca_bg.wasm", import.meta.url)) });
  const [, expected] = readFileSync(new URL("../../Cargo.toml", import.meta.url), "utf8").match(/^version = "(.*)"/m);
  assert.equal(version(), expected);
});
