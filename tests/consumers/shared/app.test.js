// An app's own test, in the words that Jest and Vitest share.

import { readFileSync } from "node:fs";

import { answers, reset, sent } from "ldp-pca/testing";

import { show } from "./app.js";

const tasks = [readFileSync("task.json", "utf8")];

beforeEach(() => reset({ seed: 7, tasks }));

async function visit() {
  await show(document.body, "https://aggregator.example");
  document.querySelector("button").click();
  const told = document.querySelector("output");
  while (told.textContent === "") await new Promise((resolve) => setTimeout(resolve, 5));
  return told.textContent;
}

test("a visitor who agrees is counted, once", async () => {
  expect(await visit()).toBe("Counted.");
  expect(document.body.textContent).toMatch(/The details themselves stay on this device/);
  expect(sent.map(({ record }) => record)).toEqual([{ running: 4, cycling: 5, reading: -2, plan: "paid" }]);
  expect(await visit()).toBe("Counted before.");
  expect(sent.length).toBe(1);
});

test("without a connection the report is kept", async () => {
  answers("pending");
  expect(await visit()).toBe("Kept for later.");
  expect(sent).toEqual([]);
});
