// Checks of a task outside the WebAssembly module: its source, that it is the expected one, that it asks for no more
// than the page allows, and that it was not freed.

import { failure } from "./errors.js";
import { reach } from "./reach.js";

/** The longest text that the module reads, in bytes. */
const LARGEST = 16 << 20;

/** The digests of first waves by those of their refinements, of all tasks that were read here. */
export const campaigns = {};

/** The digests of tasks that this page has asked another server for, or an aggregator for an id. */
export const asked = new Set();

/**
 * The task at `url` as `parse` reads it or, if it is the expected one and its server names a refinement, that one. A
 * refinement asks the same of its visitor, for no larger epsilon.
 */
export async function fetchTask(parse, url, options = {}) {
  const { digest, ...others } = options;
  const from = url.url ?? url;
  // Whatever it answers, the server was asked.
  if (!isOwn(from)) asked.add(digest);
  const [text, { headers, url: base }] = await fetchText(url, options);
  const first = expectDigest(await parse(text), digest);
  if (!isOwn(base) || !isOwn(from)) asked.add(first.digest);
  const wave = headers.get("refined-by");
  if (!digest || !wave) return first;
  // Whatever the header is, it names no other server. A redirect may.
  const second = expectDigest(await fetchTask(parse, new URL(`./${wave}`, base), others), wave);
  if (first.campaign || second.campaign !== digest || rest(first) !== rest(second)) {
    throw failure("digest", `task ${wave} does not refine ${digest}: see parent, schema, bounding and folds`);
  }
  allowed(second.guarantee, { maxEpsilon: first.guarantee.epsilon }, "the second wave asks for");
  return second;
}

/** Whether an address is of the page's own server; a host without a page has none. */
export function isOwn(address) {
  try {
    return new URL(address, location.href).origin === location.origin;
  } catch {
    return false;
  }
}

/** The expected digest, if there is one. A caller with an undefined one would accept any task. */
export function digestIn(options) {
  const { digest } = options;
  if (!("digest" in options) || typeof digest === "string") return digest;
  throw failure("argument", `digest is ${digest}: give 64 hexadecimal digits, or leave it out`);
}

/** What a refinement takes over from its task. */
function rest(task) {
  return JSON.stringify({ ...task.toJSON(), version: undefined, mechanism: undefined, refinement: undefined });
}

/** The text at `url`, if that is JSON of a reasonable length, and the response that it came with. */
export function fetchText(url, options) {
  const { signal, timeout = 30_000 } = options;
  digestIn(options);
  return reach(
    "fetch",
    url,
    { headers: { accept: "application/json" }, credentials: "omit", signal },
    timeout,
    async (response) => {
      const { body, headers, ok, status } = response;
      const refuse = (why) => failure("fetch", `no task at ${url}: ${why}`, { status });
      const type = headers.get("content-type");
      if (!ok || !body) throw refuse(`the answer is ${status}`);
      if (!/^application\/([\w.-]+\+)?json\b/i.test(type)) throw refuse(`${type} is not application/json`);
      const decoder = new TextDecoder("utf-8", { fatal: true });
      const reader = body.getReader();
      let text = "";
      for (let length = 0; ; ) {
        const { done, value } = await reader.read();
        if (done) return [text + decoder.decode(), response];
        length += value.length;
        if (length > LARGEST) {
          void reader.cancel();
          throw refuse(`it has more than ${LARGEST} bytes`);
        }
        text += decoder.decode(value, { stream: true });
      }
    },
  );
}

/** The task, if its digest is the expected one or none is expected. */
export function expectDigest(task, digest = task.digest) {
  if (task.digest === digest) return task;
  task.free();
  throw failure("digest", `the task is ${task.digest}, and ${digest} was meant`);
}

/** What an object of the page stands for, if it was not freed. */
export function alive(held, name) {
  if (held === undefined) throw failure("argument", `the ${name} was freed: make a new one`);
  return held;
}

/** The guarantee, if it is within the page's limits. `what` asks for it. */
export function allowed(guarantee, { maxEpsilon, maxDelta = 1e-5 } = {}, what, code) {
  within("maxEpsilon", "epsilon", guarantee.epsilon, maxEpsilon, what, code);
  within("maxDelta", "delta", guarantee.delta, maxDelta, what, code);
  return Object.freeze(guarantee);
}

/** Whether making a report takes no more memory and time than the page allows. */
export function affordable({ reportBytes, draws }, { maxReportBytes = 2 ** 20, maxDraws = 2 ** 26 }) {
  within("maxReportBytes", "report-bytes", reportBytes, maxReportBytes);
  within("maxDraws", "draws", draws, maxDraws);
}

export function within(option, name, found, limit, what = "the task asks for", code = `max-${name}`) {
  if (!(typeof limit === "number" && limit >= 0)) throw failure("argument", `${option} is ${limit}: give a number`);
  if (!(found <= limit)) throw failure(code, `${what} ${name} ${found}, and this page allows ${limit}`);
}
