import assert from "node:assert/strict";
import { before, test } from "node:test";

import { BUDGETS, measure, stated } from "../../scripts/sizes.js";

let sizes;

before(async () => (sizes = await measure()));

test("every part of the built package is within its budget", () => {
  assert.deepEqual(Object.keys(sizes), Object.keys(BUDGETS));
  for (const [part, size] of Object.entries(sizes)) assert.ok(size <= BUDGETS[part], `${part} has ${size} bytes`);
});

test("the table in the package's README says what is built", () => {
  // Other versions of the compiler make modules of other sizes.
  const tolerance = 0.05;
  const parts = stated();
  for (const [part, size] of Object.entries(sizes)) {
    const error = Math.abs(parts[part] - size) / size;
    assert.ok(error <= tolerance, `${part} is ${size}, not ${parts[part]} bytes: node scripts/sizes.js --write`);
  }
});
