// A server with scripted answers, for behaviour that the real aggregator does not show on demand.

import { createServer } from "node:http";

/** A server on a free port of the loopback interface: its `url` without a trailing slash, and `close`. */
export async function listen(handler) {
  const server = createServer(handler);
  // A client whose machine is busy may send its next request when the usual five seconds have just passed.
  server.keepAliveTimeout = 600_000;
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close: () => new Promise((resolve) => server.close(resolve).closeAllConnections()),
  };
}

/**
 * Answers request after request with the next of `answers` (the last one again and again): `{ status, headers, body }`,
 * or a function that is given the request and the response. Resolves to the `url`, the `requests` as they came, and
 * `close`.
 */
export async function serveAnswers(answers) {
  const requests = [];
  const server = await listen(async (request, response) => {
    const body = await bodyOf(request);
    const { method, url, headers } = request;
    const answer = answers[Math.min(requests.length, answers.length - 1)];
    requests.push({ method, url, headers, body });
    if (typeof answer === "function") answer(request, response);
    else response.writeHead(answer.status ?? 200, answer.headers).end(answer.body);
  });
  return { ...server, requests };
}

/** The bytes that came with a request. */
export async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** {@link serveAnswers} with these answers, until the test `t` ends. */
export async function answersUntilEnd(t, ...answers) {
  const server = await serveAnswers(answers);
  t.after(() => server.close());
  return server;
}
