// Reports, which leave the device. Nothing here needs the WebAssembly module: a stored report can be sent without it.

import { failure } from "./errors.js";

/** `LDPR` and the version. */
const MAGIC = "4c44505201";
/** What the constructors of classes want whose objects only this package makes. */
export const KEY = Symbol("ldp-pca");

export class Report {
  #bytes;

  constructor(key, bytes, taskDigest, guarantee) {
    if (key !== KEY) throw failure("argument", "give a Report, made by a Randomizer");
    this.#bytes = bytes;
    this.taskDigest = taskDigest;
    this.guarantee = guarantee;
    Object.freeze(this);
  }

  static fromBytes(bytes, task) {
    const { digest, guarantee, reportBytes } = task;
    const problem = !(bytes instanceof Uint8Array && bytes.length === reportBytes)
      ? `give a Uint8Array of ${reportBytes} bytes`
      : hex(bytes.subarray(0, 13)) !== MAGIC + digest.slice(0, 16)
        ? `they are not of task ${digest}`
        : checksum(bytes) !== RESIDUE && "their checksum does not match";
    if (problem) throw failure("report", `the bytes are not a report of the task: ${problem}`);
    return reportOf(bytes.slice(), digest, guarantee);
  }

  get id() {
    return hex(this.#bytes.subarray(13, 29));
  }

  get bytes() {
    return this.#bytes.slice();
  }

  toJSON() {
    return { ...this, bytes: hex(this.#bytes) };
  }
}

/** A report of bytes that are one, with what it promises: `null` for nothing. Keeps the bytes. */
export function reportOf(bytes, taskDigest, guarantee) {
  return new Report(KEY, bytes, taskDigest, guarantee);
}

/** The report, if it promises anything. */
export function promising(report) {
  if (report instanceof Report && report.guarantee) return report;
  throw failure("argument", "give a Report, made by a Randomizer (and not from a seed)");
}

function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// The CRC-32 of anything that ends with its own CRC-32.
const RESIDUE = 0x2144df1c;

function checksum(bytes) {
  let sum = -1;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (0xedb88320 & -(sum & 1));
  }
  return ~sum >>> 0;
}
