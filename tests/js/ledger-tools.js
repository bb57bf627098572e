// A device and reports without any module: what the tests of the ledger need.

import { failure } from "../../pkg/errors.js";
import { memory, PrivacyLedger } from "../../pkg/ledger.js";
import { promising, reportOf } from "../../pkg/report.js";
import { deliver, issuedId } from "../../pkg/submit.js";

export const url = "https://aggregator.example/";
/** Of a report with an id of its own, sent there. */
export const OWN = { url, id: undefined };
/** The answer of an aggregator that takes a report, and the errors of one out of reach and of one that never will. */
export const accepted = () => ({ status: "accepted", attempts: 1 });
export const down = () => failure("network", "no answer");
export const expired = () => failure("refused", "the task has expired", { status: 403, type: "task-expired" });

/** The digest of the task with a number. */
export function digestOf(number) {
  return number.toString(16).padStart(64, "0");
}

/** The id of the report of the task with a number. */
export function idOf(number) {
  return number.toString(16).padStart(32, "0");
}

/** The bytes of the report of the task with a number, in which its id is. */
export function bytesOf(number) {
  const bytes = new Uint8Array(35);
  new DataView(bytes.buffer).setUint32(25, number);
  return bytes;
}

/** A randomizer of the task with a number that states this guarantee; `made` are the records that it was given. */
export function randomizerOf(number, epsilon = 1, delta = 0, period = undefined) {
  const taskDigest = digestOf(number);
  const guarantee = { epsilon, delta };
  const made = [];
  const randomize = (record, options) => {
    made.push({ record, options });
    return reportOf(bytesOf(number), taskDigest, guarantee);
  };
  return { taskDigest, period, guarantee, made, randomize };
}

/** The entry of a task that is asked alone, but what became of it; `to` is where its report goes. */
export function entryOf({ taskDigest, guarantee }, to = { url }) {
  return { taskDigest, campaign: taskDigest, wave: taskDigest, waves: new Set([taskDigest]), guarantee, ...to };
}

/** The randomizer with a number, but with this in place of its `randomize`. */
export function slowOf(number, randomize) {
  return { ...randomizerOf(number), randomize };
}

/** Never answers, but ends as the client's own does when its signal says so. */
export function aborted({ signal }) {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}

/** The storage under one name, shared by all who open it with the same device. `closed` counts those who closed it. */
export function newDevice() {
  const change = memory();
  const device = {
    names: [],
    closed: 0,
    change,
    put: (entry) => change((_, write) => write.put(entry)),
    all: () => change((entries) => entries),
  };
  device.openDatabase = async (name) => {
    device.names.push(name);
    return { change: (edit) => device.change(edit), close: () => (device.closed += 1) };
  };
  return device;
}

/** A ledger on a device, with the client's own parts except for `parts`. */
export function openOn(device, options = {}, parts = {}) {
  const { openDatabase } = device;
  return PrivacyLedger.open(
    { maxEpsilon: Infinity, ...options },
    { deliver, issuedId, openDatabase, promising, loadRelay: () => import("../../pkg/relay.js"), ...parts },
  );
}
