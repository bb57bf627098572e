// Randomness that follows from a key, for tests: reports that are made of it are not private.

/**
 * A runner: what `run(work)` does, at once, finds the key's stream in place of `crypto.getRandomValues`, and goes on in
 * it.
 */
export function seededBy(key) {
  const stream = keystream(key);
  return (work) => {
    const { crypto } = globalThis;
    Object.defineProperty(crypto, "getRandomValues", {
      configurable: true,
      value: (bytes) => {
        for (let index = 0; index < bytes.length; index += 1) bytes[index] = stream.next().value;
        return bytes;
      },
    });
    try {
      return work();
    } finally {
      // The one of the prototype is seen again.
      delete crypto.getRandomValues;
    }
  };
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
