import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { before, test } from "node:test";

import * as api from "../../pkg/inline.js";
import { differences } from "./vectors.js";

const FOLDERS = ["../vectors/v3/", "../vectors/refinements-v4/"].map((folder) => new URL(folder, import.meta.url));

before(() => api.init());

for (const folder of FOLDERS) {
  for (const file of readdirSync(folder)) {
    test(`${file}: the same bytes in Node as natively`, async () => {
      assert.deepEqual(await differences(api, JSON.parse(readFileSync(new URL(file, folder), "utf8"))), []);
    });
  }
}
