/**
 * The limits of requests, until the test `t` ends: `asked` says how long they are. The first one passes when `over` is
 * called, and no other ever: how busy the machine is decides nothing.
 */
export function limits(t) {
  const asked = [];
  const first = new AbortController();
  t.mock.method(AbortSignal, "timeout", (milliseconds) =>
    (asked.push(milliseconds) === 1 ? first : new AbortController()).signal,
  );
  return { asked, over: () => first.abort(new DOMException("", "TimeoutError")) };
}
