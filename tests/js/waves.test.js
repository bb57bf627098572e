// The module that predicts two waves on the demo page: the same as the command line's plan.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, test } from "node:test";

import { loading } from "../../pkg/instantiate.js";
import * as wasm from "../../pkg/wasm/waves/ldp_pca.js";
import { assertNear, planned } from "./command-line.js";
import { throws } from "./throws.js";

const MODULE = new URL("../../pkg/wasm/waves/ldp_pca_bg.wasm", import.meta.url);

const { load, call } = loading({ ...wasm });

before(() => load(() => readFileSync(MODULE)));

/** One of each answer: worth it, too little found by the first wave, too little to gain. */
const SETTINGS = [
  { dimension: 40, rank: 3, signals: [0.22, 0.22, 0.22], bulk: 0.34 / 37, epsilon: 2, records: 20_000 },
  { dimension: 40, rank: 3, signals: [0.22, 0.22, 0.22], bulk: 0.34 / 37, epsilon: 0.5, records: 20_000 },
  { dimension: 12, rank: 2, signals: [0.4, 0.25, 0.1], bulk: 0.25 / 9, epsilon: 5, records: 50_000 },
];

function twoWaves({ dimension, rank, signals, bulk, epsilon, records }) {
  return call(({ twoWaves }) => twoWaves(dimension, rank, Float64Array.from(signals), bulk, epsilon, records));
}

test("its numbers and refusals are those of plan --waves 2 --json", () => {
  const reasons = SETTINGS.map((setting) => {
    const found = twoWaves(setting);
    assertNear(found, planned({ ...setting, waves: 2 }).waves, JSON.stringify(setting));
    return found.refused?.reason;
  });
  assert.deepEqual(reasons, [undefined, "first-wave", "gain"]);
});

test("what cannot be planned is refused with the library's words", () => {
  const [usual] = SETTINGS;
  throws(() => twoWaves({ ...usual, epsilon: 0 }), "argument", /epsilon/);
  throws(() => twoWaves({ ...usual, rank: 40 }), "recovery", /40/);
  throws(() => twoWaves({ ...usual, signals: [0.001] }), "recovery", /at least the bulk/);
});
