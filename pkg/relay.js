// Leaves a report with a relay, sealed to the aggregator: Oblivious HTTP (RFC 9458) with HPKE (RFC 9180), in WebCrypto.
// The relay cannot open it, and the aggregator does not learn who sent it.

import { utf8 } from "./boundary.js";
import { failure } from "./errors.js";
import { ask, CODES, insist, seconds } from "./submit.js";

/** DHKEM(P-256, HKDF-SHA256), HKDF-SHA256 and AES-128-GCM, by their numbers. */
const SUITE = [0, 16, 0, 1, 0, 1];
const CURVE = { name: "ECDH", namedCurve: "P-256" };
const HASH = "SHA-256";
const VERSION = "HPKE-v1";

/** Reports are padded to this length, or to the next power of two. */
const SHORTEST = 256;

/**
 * Leaves a report, that of a ledger's entry. `claim(attempt)` keeps what was sealed in the entry before the first
 * attempt, so that every attempt, in every tab and visit, sends the same bytes: the relay keeps them once. Like
 * `claim()` before the others it gives the status of a report that is not to be sent any more.
 */
export async function deliver({ id }, options, claim, entry) {
  if (!entry().attempted) {
    const [list] = await insist("/keys", answering(200, "GET"), options);
    const status = await claim({ id, bytes: await seal(entry(), list), attempted: true });
    if (status) return { ...entry(), status };
  }
  const [status] = await insist("/reports", answering(202, "POST"), options, entry().bytes, claim);
  // Nobody says whether it counts.
  return typeof status === "string" ? { ...entry(), status } : { status: "relayed", left: "unknown" };
}

/** An attempt: the body of an answer of this status, or an error. */
function answering(status, method) {
  return async (url, request, timeout) => {
    const [response, body] = await ask(url, { ...request, method }, timeout, (answer) => bytesOf(answer.arrayBuffer()));
    if (response.status !== status) throw refused(url, response, body);
    return body;
  };
}

/** The error of an answer of another status. */
function refused(url, { ok, status, headers }, body) {
  let answer;
  try {
    answer = JSON.parse(new TextDecoder().decode(body));
  } catch {
    // Whatever stands between us and the relay answers in other forms.
  }
  const code = ok ? "answer" : (CODES[status] ?? (status >= 500 ? "unavailable" : "refused"));
  return failure(code, `${url} answers ${status}: ${answer?.detail ?? "it is not a relay"}`, {
    status,
    type: `${answer?.type}`.split(/problem:|#/)[1],
    retryAfter: seconds(headers.get("retry-after")),
  });
}

/** The report as a sealed request, for the first key of the list that has the suite; `keys` must have the same one. */
async function seal({ bytes, wave, keys }, list) {
  const { subtle } = globalThis.crypto ?? {};
  if (!subtle) throw failure("entropy", "sealing needs WebCrypto, which only pages with https:// have");
  const [id, theirs] = keyOf(list);
  if (`${keyOf(Uint8Array.from(keys ?? list))}` !== `${[id, theirs]}`) {
    throw failure("answer", "the relay's key is not that of `keys`");
  }
  const header = [id, ...SUITE];
  const kem = join("KEM", SUITE.slice(0, 2));
  const hpke = join("HPKE", SUITE);
  // LabeledExtract and then LabeledExpand (RFC 9180, 4), which together are HKDF.
  const derive = async (suite, salt, from, secret, label, info, length) => {
    const key = await subtle.importKey("raw", join(VERSION, suite, from, secret), "HKDF", false, ["deriveBits"]);
    const labelled = join([0, length], VERSION, suite, label, info);
    return bytesOf(subtle.deriveBits({ name: "HKDF", hash: HASH, salt: join(salt), info: labelled }, key, 8 * length));
  };
  // LabeledExtract alone, without a salt, which is a key of zeros.
  const zeros = await subtle.importKey("raw", new Uint8Array(32), { name: "HMAC", hash: HASH }, false, ["sign"]);
  const extract = (label, text) => bytesOf(subtle.sign("HMAC", zeros, join(VERSION, hpke, label, text)));

  const { publicKey, privateKey } = await subtle.generateKey(CURVE, false, ["deriveBits"]);
  const ours = await bytesOf(subtle.exportKey("raw", publicKey));
  const known = await subtle.importKey("raw", theirs, CURVE, false, []);
  const agreed = await bytesOf(subtle.deriveBits({ name: "ECDH", public: known }, privateKey, 256));
  const shared = await derive(kem, [], "eae_prk", agreed, "shared_secret", join(ours, theirs), 32);
  const info = join("message/bhttp request", [0], header);
  const context = join([0], await extract("psk_id_hash", []), await extract("info_hash", info));
  const raw = await derive(hpke, shared, "secret", [], "key", context, 16);
  const key = await subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt"]);
  const iv = await derive(hpke, shared, "secret", [], "base_nonce", context, 12);
  return join(header, ours, await bytesOf(subtle.encrypt({ name: "AES-GCM", iv }, key, request(wave, bytes))));
}

async function bytesOf(buffer) {
  return new Uint8Array(await buffer);
}

/** The id and the public key. */
function keyOf(list) {
  for (let at = 0; at + 2 < list.length; ) {
    const next = at + 2 + list[at] * 256 + list[at + 1];
    const [id, ...rest] = list.subarray(at + 2, next);
    const suites = rest.slice(69, 69 + rest[67] * 256 + rest[68]);
    if (`${rest.slice(0, 2)}` === `${SUITE.slice(0, 2)}`) {
      for (let k = 0; k < suites.length; k += 4) {
        if (`${suites.slice(k, k + 4)}` === `${SUITE.slice(2)}`) return [id, new Uint8Array(rest.slice(2, 67))];
      }
    }
    at = next;
  }
  throw failure("answer", "the relay's keys are none that this release can seal to");
}

/** The binary HTTP (RFC 9292) of the report: no field and no host, which would only tell senders apart. */
function request(task, bytes) {
  const fields = ["POST", "https", "", `/tasks/${task}/reports`].map((text) => join(length(text.length), text));
  const message = join([0], ...fields, [0], length(bytes.length), bytes);
  let padded = SHORTEST;
  while (padded < message.length) padded *= 2;
  return join(message, new Uint8Array(padded - message.length));
}

/** A length as in QUIC (RFC 9000, 16). */
function length(value) {
  if (value < 64) return [value];
  if (value < 2 ** 14) return [64 | (value >> 8), value & 255];
  return [128 | (value >> 24), (value >> 16) & 255, (value >> 8) & 255, value & 255];
}

/** Bytes and texts of ASCII, one after the other. */
function join(...parts) {
  const joined = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(typeof part === "string" ? utf8(part) : part, at);
    at += part.length;
  }
  return joined;
}
