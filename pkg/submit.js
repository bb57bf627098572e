// Sends a report: the same bytes however often it takes, so that it counts once. Before it is made, asks for its id.

import { utf8 } from "./boundary.js";
import { asked } from "./checks.js";
import { failure, SubmitError } from "./errors.js";
import { reach, withoutUser } from "./reach.js";
import { promising } from "./report.js";

export const CODES = {
  404: "not-found",
  408: "unavailable",
  413: "too-large",
  415: "media-type",
  422: "rejected",
  429: "rate-limit",
};
const PASSING = ["network", "rate-limit", "unavailable"];

export { deliver as submit };

/** The ledger also gives `between`: it is asked before the next attempt, and a status that it gives is the result. */
export async function deliver(report, options, between) {
  promising(report);
  const status = ({ accepted, duplicate }) => accepted + duplicate === 1 && (accepted ? "accepted" : "duplicate");
  const path = `/tasks/${report.taskDigest}/reports`;
  const [found, attempts] = await insist(path, posting(status), options, report.bytes, between);
  return { status: found, attempts };
}

export function issuedId(task, options) {
  asked.add(task.digest);
  const first = ({ ids }) => ids?.[0];
  const id = insist(`/tasks/${task.digest}/seeds`, posting(first), options, utf8('{"count":1}')).then(
    ([found]) => found,
    (error) => {
      // Reports of this task make their own.
      if (error.status !== 409) throw error;
    },
  );
  // An early caller handles a failure later: by then it would count as unhandled.
  id.catch(() => {});
  return id;
}

/** Whether an aggregator, and not something in between, has said for good that the report does not count. */
export function isFinal(error) {
  const unsaid = [undefined, "task-not-started"];
  return error instanceof SubmitError && !unsaid.includes(error.type) && !PASSING.includes(error.code);
}

/** The options, if they make sense, with their defaults; `url` is absolute. */
export function checked({
  url,
  signal,
  retries = 4,
  timeout = 30_000,
  delay = 500,
  maxDelay = 60_000,
  deadline = 2 ** 31 - 1,
}) {
  for (const value of [retries, timeout, delay, maxDelay, deadline]) {
    // Timers count no further.
    if (typeof value !== "number" || !(value >= 0 && value < 2 ** 31)) {
      throw failure("argument", `${value} is no number of retries or milliseconds`);
    }
  }
  return { url: absolute(url), signal, retries, timeout, delay, maxDelay, deadline };
}

/**
 * The result of `attempt(url, request, timeout)`, which is repeated after errors that may pass, and the number of
 * attempts.
 */
export async function insist(path, attempt, options = {}, body, between) {
  const { url: target, signal, retries, timeout, delay, maxDelay, deadline } = checked(options);
  const end = performance.now() + deadline;
  target.pathname = target.pathname.replace(/\/*$/, path);
  // Without a type, browsers send it without asking beforehand, and with keepalive even when the page is left
  // meanwhile. They limit that to 64 KiB of all requests together, and refuse others as if there were no network.
  let keepalive = body?.length < 60_000;
  for (let attempts = 1; ; attempts += 1) {
    try {
      const left = Math.max(0, Math.ceil(end - performance.now()));
      return [await attempt(target, { body, keepalive, signal }, Math.min(timeout, left)), attempts];
    } catch (error) {
      keepalive &&= error.code !== "network";
      // An order to wait longer than we would is one to give up for now.
      const ordered = (error.retryAfter ?? 0) * 1000;
      // Spread, so that many devices that were refused together do not come back together.
      const wait = ordered + Math.random() * Math.min(maxDelay, delay * 2 ** attempts);
      const passing = PASSING.includes(error.code) && attempts <= retries && ordered <= maxDelay;
      if (!passing || performance.now() + wait >= end) throw error;
      await pause(wait, signal);
      signal?.throwIfAborted();
      const known = await between?.();
      if (known) return [known, attempts];
    }
  }
}

/** The aggregator's URL; a relative one is relative to the page, if there is one. */
export function absolute(url) {
  let found;
  try {
    found = new URL(url.href ?? url.trim(), globalThis.document?.baseURI);
  } catch (cause) {
    throw failure("argument", `url is ${withoutUser(url)}: give the aggregator's URL`, { cause });
  }
  if (/^https?:/.test(withoutUser(found))) return found;
  throw failure("argument", `url is ${url}: give http:// or https:// before it`);
}

/** An attempt: what `read` makes of the answer, or an error. */
const posting = (read) => async (target, request, timeout) => {
  const [{ headers, ok, status, statusText }, text] = await ask(target, request, timeout, (answer) => answer.text());
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    // Whatever stands between us and the aggregator answers in other forms.
  }
  if (!ok) {
    throw failure(
      CODES[status] ?? (status >= 500 ? "unavailable" : "refused"),
      `${target} answers ${status}: ${answer?.detail ?? statusText}`,
      {
        status,
        type: `${answer?.rejections?.[0]?.type ?? answer?.type}`.split("urn:ldp-pca:problem:")[1],
        retryAfter: seconds(headers.get("retry-after"), answer?.starts),
      },
    );
  }
  const json = headers.get("content-type")?.startsWith("application/json");
  const found = json && read(answer ?? {});
  if (found) return found;
  throw failure("answer", `${target} answers ${status}, but not as an aggregator`, { status });
};

/**
 * The answer to a request, and what `read` makes of its body. Nothing beside the report says who sent it, and it goes
 * to no other server.
 */
export function ask(url, request, timeout, read) {
  const privately = { cache: "no-store", credentials: "omit", redirect: "manual", referrerPolicy: "no-referrer" };
  return reach("network", url, { method: "POST", ...privately, ...request }, timeout, async (response) => {
    // Browsers give the status 0 to that of a redirect.
    if (!response.ok && response.status < 400) {
      throw failure("network", `${url} redirects: give the address of the server itself`);
    }
    return [response, await read(response)];
  });
}

/** The seconds that a Retry-After header asks for, as a number or as a date; or those until the task starts. */
export function seconds(header, starts) {
  const found = /^\d+$/.test(header)
    ? Number(header)
    : Math.max(0, (header ? Date.parse(header) : starts * 1000) - Date.now()) / 1000;
  return found >= 0 ? found : undefined;
}

/** Waits so long, or until the signal aborts. */
function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const over = new AbortController();
    const done = () => {
      clearTimeout(timer);
      over.abort();
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener("abort", done, over);
  });
}
