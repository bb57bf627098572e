import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { before, test } from "node:test";

import * as api from "../../pkg/inline.js";
import { differences } from "./vectors.js";

const FOLDER = new URL("../vectors/v1/", import.meta.url);

before(() => api.init());

for (const file of readdirSync(FOLDER)) {
  test(`${file}: the same bytes in Node as natively`, async () => {
    assert.deepEqual(await differences(api, JSON.parse(readFileSync(new URL(file, FOLDER), "utf8"))), []);
  });
}
