// Sends a report: the same bytes however often it takes, so that it counts once. Before it is made, asks for its id.

import { failure } from "./errors.js";
import { promising } from "./report.js";

const CODES = {
  404: "not-found",
  408: "unavailable",
  413: "too-large",
  415: "media-type",
  422: "rejected",
  429: "rate-limit",
};
const REPORTS = "application/vnd.ldp-pca.reports";
const PASSING = ["network", "rate-limit", "unavailable"];

export async function submit(report, options) {
  promising(report);
  const status = ({ accepted, duplicate }) => accepted + duplicate === 1 && (accepted ? "accepted" : "duplicate");
  const [found, attempts] = await send(report.taskDigest, "reports", report.bytes, REPORTS, options, status);
  return { status: found, attempts };
}

export async function issuedId(task, options) {
  try {
    const first = ({ ids }) => ids?.[0];
    return (await send(task.digest, "seeds", '{"count":1}', "application/json", options, first))[0];
  } catch (error) {
    // Reports of this task make their own.
    if (error.status !== 409) throw error;
  }
}

/** What `read` makes of the answer, and how many attempts it took. */
async function send(task, what, body, type, options = {}, read) {
  const { url, signal, retries = 4, timeout = 30_000, delay = 500, maxDelay = 60_000 } = options;
  for (const value of [retries, timeout, delay, maxDelay]) {
    // Timers count no further.
    if (typeof value !== "number" || !(value >= 0 && value < 2 ** 31)) {
      throw failure("argument", `${value} is no number of retries or milliseconds`);
    }
  }
  const target = absolute(url);
  target.pathname = `${target.pathname.replace(/\/+$/, "")}/tasks/${task}/${what}`;
  for (let attempts = 1; ; attempts += 1) {
    try {
      return [await post(target, body, type, signal, timeout, read), attempts];
    } catch (error) {
      // An order to wait longer than we would is one to give up for now.
      const ordered = (error.retryAfter ?? 0) * 1000;
      if (!PASSING.includes(error.code) || attempts > retries || ordered > maxDelay) throw error;
      // Spread, so that many devices that were refused together do not come back together.
      await pause(ordered + Math.random() * Math.min(maxDelay, delay * 2 ** attempts), signal);
    }
  }
}

/** The aggregator's URL; a relative one is relative to the page, if there is one. */
export function absolute(url) {
  try {
    return new URL(url.href ?? url.trim(), globalThis.document?.baseURI);
  } catch (cause) {
    throw failure("argument", `url is ${url}: give the aggregator's URL`, { cause });
  }
}

/** One attempt: what `read` makes of the answer, or an error. */
async function post(target, body, type, signal, timeout, read) {
  let response;
  let text;
  try {
    const limit = AbortSignal.timeout(timeout);
    response = await fetch(target, {
      method: "POST",
      headers: { "content-type": type },
      body,
      cache: "no-store",
      // Nothing beside the report says who sent it.
      credentials: "omit",
      referrerPolicy: "no-referrer",
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    });
    text = await response.text();
  } catch (cause) {
    signal?.throwIfAborted();
    throw failure("network", `no answer from ${target} (connection, CORS, connect-src?): ${cause.message}`, { cause });
  }
  const { headers, ok, status, statusText } = response;
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
      { status, retryAfter: seconds(headers.get("retry-after")) },
    );
  }
  const found = headers.get("content-type")?.startsWith("application/json") && read(answer ?? {});
  if (!found) throw failure("answer", `${target} answers ${status}, but not as an aggregator`, { status });
  return found;
}

/** The seconds that a Retry-After header asks for, as a number or as a date. */
function seconds(header) {
  if (!header) return undefined;
  const found = /^\d+$/.test(header) ? Number(header) : Math.max(0, (Date.parse(header) - Date.now()) / 1000);
  return Number.isNaN(found) ? undefined : found;
}

/** Waits so long, or until the signal aborts. */
function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener("abort", done);
  });
}
