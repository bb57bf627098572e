// What leaves the device. Nothing here needs the WebAssembly module: a stored report can be sent without it.

import { failure } from "./errors.js";

const MAGIC = [0x4c, 0x44, 0x50, 0x52, 1];
const KEY = Symbol("Report");

export class Report {
  #bytes;

  constructor(key, bytes, taskDigest, guarantee) {
    if (key !== KEY) throw failure("argument", "a Report is made by Randomizer.randomize or Report.fromBytes");
    this.#bytes = bytes;
    this.taskDigest = taskDigest;
    this.guarantee = guarantee;
    Object.freeze(this);
  }

  static fromBytes(bytes, task) {
    const { digest, guarantee, reportBytes } = task;
    const reason = !(bytes instanceof Uint8Array)
      ? "give its bytes as a Uint8Array"
      : bytes.length !== reportBytes
        ? `there are ${bytes.length} bytes, and a report of this task has ${reportBytes}`
        : MAGIC.some((byte, index) => byte !== bytes[index])
          ? "it does not begin with LDPR and version 1"
          : hex(bytes.subarray(5, 13)) !== digest.slice(0, 16)
            ? `it answers task ${hex(bytes.subarray(5, 13))}…, not ${digest.slice(0, 16)}…`
            : checksum(bytes) !== RESIDUE && "its checksum does not match: it was altered";
    if (reason) throw failure("report", `not a report of the task: ${reason}`);
    return reportOf(bytes.slice(), digest, guarantee);
  }

  get bytes() {
    return this.#bytes.slice();
  }

  toJSON() {
    return { taskDigest: this.taskDigest, guarantee: this.guarantee, bytes: hex(this.#bytes) };
  }
}

/** A report of bytes that are one. Keeps them. */
export function reportOf(bytes, taskDigest, guarantee) {
  return new Report(KEY, bytes, taskDigest, guarantee);
}

function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// What CRC-32 leaves of anything that ends with its own CRC-32.
const RESIDUE = 0x2144df1c;

function checksum(bytes) {
  let sum = -1;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (0xedb88320 & -(sum & 1));
  }
  return ~sum >>> 0;
}
