import assert from "node:assert/strict";
import { before, test } from "node:test";

import { init, Task, TaskError } from "../../pkg/inline.js";
import { Aggregator } from "../browser/aggregator.js";
import { answersUntilEnd } from "./answers.js";
import { limits } from "./limits.js";
import { TASK } from "./task.js";

const JSON_TYPE = { "content-type": "application/json" };
const GOOD = { headers: JSON_TYPE, body: JSON.stringify(TASK) };

before(() => init());

async function refuses(fetched, code, status, part) {
  await assert.rejects(fetched, (error) => {
    assert.ok(error instanceof TaskError, String(error));
    assert.deepEqual([error.name, error.code, error.status], ["TaskError", code, status], error.message);
    assert.match(error.message, part);
    return true;
  });
}

test("a task comes from the real aggregator, as the one that was meant", async (t) => {
  const { digest } = Task.parse(TASK);
  const aggregator = await Aggregator.during(t, TASK);
  const url = `${aggregator.url}/tasks/${digest}`;
  for (const options of [undefined, {}, { digest }]) assert.equal((await Task.fetch(url, options)).digest, digest);
  assert.equal((await Task.fetch(new URL(url))).digest, digest);
  for (const none of [undefined, null, 5]) {
    await assert.rejects(Task.fetch(url, { digest: none }), { name: "ArgumentError", code: "argument" });
  }
  await refuses(Task.fetch(url, { digest: "0".repeat(64) }), "digest", undefined, new RegExp(`${digest}.*0{64}`));
  await refuses(Task.fetch(`${aggregator.url}/tasks/${"0".repeat(64)}`), "fetch", 404, /404/);
  await refuses(Task.fetch(`${aggregator.url}/tasks`), "task", undefined, /version/);
  await aggregator.stop();
  await refuses(Task.fetch(url), "fetch", undefined, /no answer from/);
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
    await refuses(Task.fetch(server.url), "fetch", status, part);
  }
  for (const type of ["application/json; charset=utf-8", "Application/JSON", "application/problem+json"]) {
    const server = await answersUntilEnd(t, { ...GOOD, headers: { "content-type": type } });
    assert.equal((await Task.fetch(server.url)).dimension, 3, type);
  }
});

test("a server that does not answer, or does not finish, is given up", async (t) => {
  const halfway = (request, response) => response.writeHead(200, JSON_TYPE).write("{");
  const { fetch } = globalThis;
  for (const [answer, status] of [[undefined], [halfway, 200]]) {
    const { asked, over } = limits(t);
    t.mock.method(globalThis, "fetch", async (...parameters) => {
      const response = await fetch(...parameters);
      setTimeout(over);
      return response;
    });
    const server = await answersUntilEnd(t, answer ?? over);
    await refuses(Task.fetch(server.url, { timeout: 60 }), "fetch", status, /no answer from .*: it took over 60 ms/);
    assert.deepEqual(asked, [60]);
  }
});

test("a URL without a scheme is an error that says so", async () => {
  await refuses(Task.fetch("localhost:8099/tasks/1"), "fetch", undefined, /give http:\/\/ or https:\/\//);
});

test("a URL with a password is not asked, and no error has it", async () => {
  const texts = ["http://user:s3cret@a.example/t", "user:s3cret@a.example:8080/t", "http:\\\\s3cret@a.example:99999/t"];
  for (const url of [...texts, new URL("http://s3cret@a.example/t")]) {
    const message = "url has a user or a password: leave them out";
    await assert.rejects(Task.fetch(url), { code: "argument", message });
  }
});

test("invalid documents give the same errors as their text does", async (t) => {
  for (const [document, part] of [[{ ...TASK, note: 1 }, /note/], [{ ...TASK, version: 2 }, /version 2/], [[], /./]]) {
    const server = await answersUntilEnd(t, { ...GOOD, body: JSON.stringify(document) });
    await refuses(Task.fetch(server.url), "task", undefined, part);
  }
  const polluted = { ...GOOD, body: GOOD.body.replace("{", '{"__proto__": {"folds": 9}, ') };
  await refuses(Task.fetch((await answersUntilEnd(t, polluted)).url), "task", undefined, /__proto__/);
});

test("an endless document is given up", async (t) => {
  let sent = 0;
  const endless = (request, response) => {
    response.writeHead(200, JSON_TYPE);
    const more = () => {
      while (!response.destroyed && response.write(" ".repeat(1 << 16))) sent += 1 << 16;
    };
    response.on("drain", more);
    more();
  };
  const server = await answersUntilEnd(t, endless);
  await refuses(Task.fetch(server.url), "fetch", 200, /16777216 bytes/);
  assert.ok(sent < 1 << 26, `${sent} bytes were sent`);
});

test("characters that are cut by a chunk are put together", async (t) => {
  const body = Buffer.from(JSON.stringify(TASK).replaceAll("height", "größe"));
  const cut = body.indexOf(Buffer.from("ö")) + 1;
  const halves = (request, response) => {
    response.writeHead(200, JSON_TYPE);
    response.write(body.subarray(0, cut));
    setTimeout(() => response.end(body.subarray(cut)), 50);
  };
  const server = await answersUntilEnd(t, halves);
  assert.deepEqual((await Task.fetch(server.url)).featureNames, ["größe", "plan=free", "plan=paid"]);
});

test("a signal stops it, before and while the document comes", async (t) => {
  const reason = new Error("changed my mind");
  const is = (error) => error === reason;
  const server = await answersUntilEnd(t, (request, response) => response.writeHead(200, JSON_TYPE).write("{"));
  await assert.rejects(Task.fetch(server.url, { signal: AbortSignal.abort(reason) }), is);
  const controller = new AbortController();
  setTimeout(() => controller.abort(reason), 50);
  await assert.rejects(Task.fetch(server.url, { signal: controller.signal }), is);
});
