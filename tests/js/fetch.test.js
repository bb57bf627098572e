// Tasks of a server.

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { init, Task } from "../../pkg/inline.js";
import { Aggregator } from "../browser/aggregator.js";
import { answersUntilEnd } from "./answers.js";
import { TASK } from "./task.js";
import { rejects } from "./throws.js";

const JSON_TYPE = { "content-type": "application/json" };
const GOOD = { headers: JSON_TYPE, body: JSON.stringify(TASK) };

before(() => init());

test("a task comes from the real aggregator, as the one that was meant", async (t) => {
  const { digest } = Task.parse(TASK);
  const aggregator = await Aggregator.during(t, TASK);
  const url = `${aggregator.url}/tasks/${digest}`;
  for (const options of [undefined, {}, { digest }]) assert.equal((await Task.fetch(url, options)).digest, digest);
  assert.equal((await Task.fetch(new URL(url))).digest, digest);
  await rejects(Task.fetch(url, { digest: "0".repeat(64) }), "digest", new RegExp(`${digest}.*0{64}`));
  await rejects(Task.fetch(`${aggregator.url}/tasks/${"0".repeat(64)}`), "fetch", /404/, { status: 404 });
  await rejects(Task.fetch(`${aggregator.url}/tasks`), "task", /version/);
  await aggregator.stop();
  await rejects(Task.fetch(url), "fetch", /no answer from/, { status: undefined });
});

test("what is not JSON by its media type, its status or its bytes is not read", async (t) => {
  for (const [answer, status, part] of [
    [{ ...GOOD, status: 500 }, 500, /500/],
    [{ ...GOOD, headers: {} }, 200, /application\/json/],
    [{ ...GOOD, headers: { "content-type": "text/html" } }, 200, /text\/html is not/],
    [{ ...GOOD, headers: { "content-type": "application/jsonp" } }, 200, /jsonp/],
    [{ status: 204, headers: JSON_TYPE }, 204, /./],
    [{ headers: JSON_TYPE, body: Buffer.from([0x22, 0xff, 0x22]) }, 200, /./],
  ]) {
    const server = await answersUntilEnd(t, answer);
    await rejects(Task.fetch(server.url), "fetch", part, { status });
  }
  for (const type of ["application/json; charset=utf-8", "Application/JSON", "application/problem+json"]) {
    const server = await answersUntilEnd(t, { ...GOOD, headers: { "content-type": type } });
    assert.equal((await Task.fetch(server.url)).dimension, 3, type);
  }
});

test("a URL with a password is not asked, and no error has it", async () => {
  const texts = ["http://user:s3cret@a.example/t", "user:s3cret@a.example:8080/t", "http:\\\\s3cret@a.example:99999/t"];
  for (const url of [...texts, new URL("http://s3cret@a.example/t")]) {
    await rejects(Task.fetch(url), "argument", "url has a user or a password: leave them out");
  }
});
