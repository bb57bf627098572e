// For tests of what embeds the package: reports that follow from a seed. They are not private, so they promise nothing, and
// nothing of the package sends or keeps them.

import { failure } from "./errors.js";
import { reportOf } from "./report.js";

export function randomizeSeeded(randomizer, record, seed, options) {
  if (!(seed instanceof Uint8Array && seed.length === 32)) {
    throw failure("argument", "the seed must be a Uint8Array of 32 bytes");
  }
  // The module draws from `crypto.getRandomValues` alone, before `randomize` returns.
  const { crypto } = globalThis;
  const stream = keystream(seed);
  Object.defineProperty(crypto, "getRandomValues", {
    configurable: true,
    value: (bytes) => {
      for (let index = 0; index < bytes.length; index += 1) bytes[index] = stream.next().value;
      return bytes;
    },
  });
  let report;
  try {
    report = randomizer.randomize(record, options);
  } finally {
    // The one of the prototype is seen again.
    delete crypto.getRandomValues;
  }
  if (report instanceof Promise) throw failure("argument", "a worker's randomizer has a source of its own: use the one of `ldp-pca`");
  return reportOf(report.bytes, report.taskDigest, null);
}

/** The bytes of ChaCha20 (RFC 8439, with a 64-bit counter and a nonce of zero) under a key. */
function* keystream(key) {
  const words = new DataView(key.buffer, key.byteOffset, 32);
  const state = Uint32Array.of(0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, ...Array(12).fill(0));
  for (let word = 0; word < 8; word += 1) state[4 + word] = words.getUint32(4 * word, true);
  for (; ; state[12] += 1) {
    const block = state.slice();
    for (let round = 0; round < 10; round += 1) {
      for (let column = 0; column < 4; column += 1) quarter(block, column, 4 + column, 8 + column, 12 + column);
      for (let column = 0; column < 4; column += 1) {
        quarter(block, column, 4 + ((column + 1) % 4), 8 + ((column + 2) % 4), 12 + ((column + 3) % 4));
      }
    }
    for (let word = 0; word < 16; word += 1) {
      const sum = block[word] + state[word];
      for (let shift = 0; shift < 32; shift += 8) yield (sum >>> shift) & 0xff;
    }
  }
}

function quarter(words, a, b, c, d) {
  for (const [x, y, z, bits] of [
    [a, b, d, 16],
    [c, d, b, 12],
    [a, b, d, 8],
    [c, d, b, 7],
  ]) {
    words[x] += words[y];
    words[z] ^= words[x];
    words[z] = (words[z] << bits) | (words[z] >>> (32 - bits));
  }
}
