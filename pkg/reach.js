// `fetch` with a time limit, and with messages for its failures, of which a page knows little: a server that is down,
// one that does not allow the page, and the page's own policy look alike.

import { failure } from "./errors.js";

/** Browsers ask no address with a password, and their message has it. */
export function withoutUser(address) {
  if (/^(\s*[/\\]{2}|[^/?#]*:)[/\\]*[^/?#]*@/.test(address))
    throw failure("argument", "url has a user or a password: leave them out");
  return address;
}

/** A signal that aborts with the first of these, in browsers before 2024 too. */
export function anyOf(...signals) {
  if (AbortSignal.any) return AbortSignal.any(signals);
  const first = new AbortController();
  for (const signal of signals) {
    const abort = () => first.abort(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, first);
  }
  return first.signal;
}

/** The result of `read` for the answer. Its own errors of this code are passed on; all others fail with the code. */
export async function reach(code, url, options, timeout, read) {
  const limit = AbortSignal.timeout(timeout);
  const address = withoutUser(url.url ?? url);
  let forbidden;
  const violation = ({ blockedURI, effectiveDirective }) => {
    forbidden ||= effectiveDirective === "connect-src" && `${address}`.startsWith(blockedURI);
  };
  // A listener ends with the signal of its options.
  const over = new AbortController();
  globalThis.addEventListener?.("securitypolicyviolation", violation, over);
  let response;
  try {
    response = await fetch(url, { ...options, signal: anyOf(limit, options.signal ?? limit) });
    return await read(response);
  } catch (cause) {
    options.signal?.throwIfAborted();
    if (cause.code === code) throw cause;
    // The event has a task of its own.
    await new Promise((resolve) => setTimeout(resolve));
    let why = `is it down, or does it or the page's connect-src not allow this? ${cause.message}`;
    if (limit.aborted) why = `it took over ${timeout} ms`;
    else if (forbidden) why = "the page's policy forbids it: add its origin to connect-src";
    else if (globalThis.navigator?.onLine === false) why = "the device is offline";
    else if (/^[\w.-]+:\d+(\/|$)/.test(address)) why = "give http:// or https:// before it";
    else if (response) why = cause.message;
    throw failure(code, `no answer from ${address}: ${why}`, { cause, status: response?.status });
  } finally {
    over.abort();
  }
}
