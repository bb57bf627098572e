import assert from "node:assert/strict";
import { before, test } from "node:test";

import { consent, init, LdpPcaError, Task } from "../../pkg/node.js";
import { TASK } from "./task.js";

before(() => init());

test("the statement says what leaves, what stays, and what is promised, in words and in numbers", () => {
  const task = Task.parse(TASK);
  const statement = consent(task);
  assert.deepEqual(statement, {
    text: [statement.leaves, statement.stays, statement.promise, statement.scope].join(" "),
    leaves: "One report of 35 bytes leaves this device. It is randomized here from: height, plan.",
    stays: "The values themselves stay on this device.",
    promise:
      "For anyone who sees the report, its receiver included, the odds of your values against any others change by a " +
      "factor of at most 7.39.",
    scope: "This holds for one report. What several reports reveal adds up.",
    columns: ["height", "plan"],
    features: ["height", "plan=free", "plan=paid"],
    reportBytes: 35,
    guarantee: task.guarantee,
    oddsFactor: task.oddsFactor,
    taskDigest: task.digest,
  });
  assert.deepEqual(JSON.parse(JSON.stringify(statement)), { ...statement, guarantee: { ...task.guarantee } });
});

test("the factor is never below the real one, and delta is said where there is one", () => {
  for (const epsilon of [0.01, 0.5, 1, 2, 3, 5.5, 8]) {
    for (const delta of [0, 1e-6]) {
      const mechanism = delta
        ? { type: "gaussian", epsilon, delta, calibration: "analytic" }
        : { ...TASK.mechanism, epsilon };
      const { promise } = consent(Task.parse({ ...TASK, mechanism }));
      const [, factor, exception] = promise.match(/factor of at most ([\d,.]*\d)(.*)\.$/);
      const stated = Number(factor.replaceAll(",", ""));
      assert.ok(stated >= Math.exp(epsilon) && stated < 1.01 * Math.exp(epsilon), `${stated} for epsilon ${epsilon}`);
      assert.equal(exception, delta ? ", except with a probability of at most 0.000001" : "");
    }
  }
});

test("of a freed task there is no statement", () => {
  const task = Task.parse(TASK);
  task.free();
  assert.throws(() => consent(task), LdpPcaError);
});
