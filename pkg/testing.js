// The client for tests of what embeds it: the same names, no network and no storage. Its reports follow from a seed, so
// they are not private: they promise nothing, and the client's own `submit` and ledger refuse them.

import { Randomizer as PrivateRandomizer, Task as FetchedTask } from "./api.js";
import { asked, digestIn, expectDigest, isOwn } from "./checks.js";
import { collecting } from "./collecting.js";
import { failure } from "./errors.js";
import { init as load } from "./inline.js";
import { memory, PrivacyLedger as StoredLedger } from "./ledger.js";
import { Report, reportOf } from "./report.js";
import { seededBy } from "./seeded.js";
import { checked } from "./submit.js";

export { formRecord } from "./collecting.js";
export * from "./inline.js";
export * from "./sentences.js";

/** The answers of the simulated aggregator, and of a relay before it, by the status of the ledger's outcome. */
const ANSWERS = {
  accepted: () => undefined,
  duplicate: () => undefined,
  pending: () => failure("network", "no answer, as the test wants it"),
  refused: () =>
    failure("refused", "the task has expired, as the test wants it", { status: 403, type: "task-expired" }),
};

/** The reports that would have left the device, in their order. */
export const sent = [];

let answer;
let device;
let issued;
let records;
let run;
let tasks;

export function reset(options = {}) {
  const { seed = 0 } = options;
  if (!(Number.isSafeInteger(seed) && seed >= 0)) throw failure("argument", `seed is ${seed}: give a whole number`);
  const key = new DataView(new ArrayBuffer(32));
  key.setBigUint64(0, BigInt(seed), true);
  run = seededBy(new Uint8Array(key.buffer));
  tasks = options.tasks ?? [];
  asked.clear();
  sent.length = 0;
  issued = 0;
  device = new Map();
  records = new Map();
  answers("accepted");
}

export function answers(status) {
  if (!Object.hasOwn(ANSWERS, status)) {
    throw failure("argument", `the status is ${status}: give one of ${Object.keys(ANSWERS).join(", ")}`);
  }
  answer = status;
}

/** It is within, so where the app says that it is does not matter. */
export function init() {
  return load();
}

export class Task extends FetchedTask {
  static async fetch(url, options = {}) {
    const digest = digestIn(options);
    const known = tasks.map((json) => FetchedTask.parse(json));
    const found = known.find((task) => task.digest === digest) ?? known[0];
    if (!found) throw failure("fetch", `no task at ${url}: tests give it beforehand, reset({ tasks: [document] })`);
    if (!isOwn(url.url ?? url)) asked.add(found.digest);
    return expectDigest(found, digest);
  }

  static [Symbol.hasInstance](object) {
    return object instanceof FetchedTask;
  }
}

export class Randomizer extends PrivateRandomizer {
  constructor(task, options) {
    super(task, { strict: true, ...options });
  }

  randomize(record, options) {
    const { bytes, taskDigest, id } = run(() => super.randomize(record, options));
    records.set(id, copyOf(record));
    return promisingNothing(bytes, taskDigest);
  }
}

export class PrivacyLedger extends StoredLedger {
  static open(options) {
    return super.open(options, { deliver, issuedId, openDatabase, promising, loadRelay });
  }

  async report(...parameters) {
    const { bytes, taskDigest } = await super.report(...parameters);
    return promisingNothing(bytes, taskDigest);
  }
}

export function submit(report, options) {
  return deliver(report, options);
}

export async function issuedId(task, options) {
  checked(options);
  asked.add(task.digest);
  issued += 1;
  return issued.toString(16).padStart(32, "0");
}

export const { collect, resume } = collecting({ init, issuedId, PrivacyLedger, Randomizer, Task });

/** Ends the worker, where this stands for `ldp-pca/worker`. */
export function terminate() {}

async function deliver(report, options) {
  const { url, signal } = checked(options);
  const { bytes, id, taskDigest } = promising(report);
  signal?.throwIfAborted();
  const error = ANSWERS[answer]();
  if (error) throw error;
  const again = answer === "duplicate" || sent.some((other) => other.id === id);
  if (!again) sent.push({ taskDigest, id, url: url.href, record: records.get(id), bytes });
  return /** @type {const} */ ({ status: again ? "duplicate" : "accepted", attempts: 1 });
}

/** A copy of a record; of one that cannot be read, itself. */
function copyOf(record) {
  try {
    return ArrayBuffer.isView(record) || Array.isArray(record) ? [...record] : { ...record };
  } catch {
    return record;
  }
}

/** As a relay takes it, and with nothing sealed. */
async function loadRelay() {
  const leave = async (report, options, claim, entry) => {
    const status = await claim({ attempted: true });
    if (status) return { ...entry(), status };
    await deliver(report, options);
    return { status: /** @type {const} */ ("relayed"), left: /** @type {const} */ ("unknown") };
  };
  return { deliver: leave };
}

function promising(report) {
  if (report instanceof Report) return report;
  throw failure("argument", "give a Report, made by a Randomizer");
}

function promisingNothing(bytes, taskDigest) {
  return reportOf(bytes, taskDigest, null);
}

/** The device's storage under a name, for every caller, until it is {@link reset}. */
function openDatabase(name) {
  if (!device.has(name)) device.set(name, memory());
  return { change: device.get(name), close() {} };
}

reset();
