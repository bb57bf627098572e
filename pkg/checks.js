// What is checked of a task outside the WebAssembly module: how it came, that it is the one meant, and that it asks for
// no more than the page allows.

import { failure } from "./errors.js";

/** What the module reads, in bytes. */
const LARGEST = 16 << 20;

/** The text at `url`, if that is JSON of a reasonable length. */
export async function fetchTask(url, signal) {
  let response;
  const refuse = (why, cause) => failure("fetch", `no task from ${url}: ${why}`, { status: response?.status, cause });
  try {
    response = await fetch(url, { headers: { accept: "application/json" }, credentials: "omit", signal });
    const type = response.headers.get("content-type") ?? "";
    if (!response.ok) throw refuse(`the answer is ${response.status} ${response.statusText}`);
    if (!/^application\/([\w.-]+\+)?json\b/i.test(type)) throw refuse(`it is '${type}', not application/json`);
    const decoder = new TextDecoder("utf-8", { fatal: true });
    const reader = response.body.getReader();
    let text = "";
    for (let length = 0; ; ) {
      const { done, value } = await reader.read();
      if (done) return text + decoder.decode();
      length += value.length;
      if (length > LARGEST) {
        void reader.cancel();
        throw refuse(`it has more than ${LARGEST} bytes`);
      }
      text += decoder.decode(value, { stream: true });
    }
  } catch (cause) {
    signal?.throwIfAborted();
    throw cause.code === "fetch" ? cause : refuse(cause.message, cause);
  }
}

/** The task, if its digest is the expected one or none is expected. */
export function expectDigest(task, digest) {
  if (digest === undefined || task.digest === digest) return task;
  const found = task.digest;
  task.free();
  throw failure("digest", `the task has digest ${found}, and ${digest} is expected: it is not the task that was meant`);
}

/** What of a guarantee is beyond the page's limits: `{ name, limit }`, or undefined. */
export function exceeded(guarantee, { maxEpsilon, maxDelta = 1e-5 } = {}) {
  for (const [name, option, limit] of [
    ["epsilon", "maxEpsilon", maxEpsilon],
    ["delta", "maxDelta", maxDelta],
  ]) {
    if (!(typeof limit === "number" && limit >= 0)) {
      throw failure("argument", `${option} is ${limit}: give the largest ${name} that this page allows`);
    }
    if (!(guarantee[name] <= limit)) return { name, limit };
  }
  return undefined;
}

/** The guarantee, if it is within the page's limits. */
export function allowed(guarantee, limits) {
  const over = exceeded(guarantee, limits);
  if (!over) return Object.freeze(guarantee);
  const { name, limit } = over;
  throw failure(`max-${name}`, `the task asks for ${name} ${guarantee[name]}, and this page allows ${limit}`);
}
