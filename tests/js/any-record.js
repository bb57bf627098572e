// Records of any content, in whatever host runs this: each must have a report, like that of the record with what does
// not fit its column left out.

import { seededBy } from "../../pkg/seeded.js";
import { TASK } from "./task.js";

/** Numbers below 1 in an order that is the same in every run. */
export function numbersFrom(seed) {
  let state = seed;
  return () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
}

const throwing = () => { throw new Error("s3cret"); };

/** Of half as many bits as every browser holds. Writing it takes long. */
const HUGE = 2n ** (2n ** 19n);

const NUMBERS = [0, -0, 40, -0.5, 52_001, 1e21, 1e100, 5e-324, Number.MAX_VALUE, -Number.MAX_VALUE];
const TEXTS = [
  "", " ", "a", "b", "other", "NaN", "spring 2019", "\u0000", "\u2028", "x".repeat(70_000), "4,5", "0x28", "Infinity",
  "1 2", "--1", "1e", "9".repeat(1000), `${" ".repeat(2000)}4`,
];
/** Texts, and the numbers that they are. */
const DECIMALS = [["40", 40], [" -0.5\n", -0.5], ["+4.", 4], [".5", 0.5], ["1e3", 1000], ["1E-400", 0], ["-0", -0]];

/** Values that no column reads. */
export const ODD = [
  Symbol("s3cret"), () => "a", ["a"], [40], {}, { a: { b: [40] } }, new String("a"), new Number(40), new Date(40),
  () => "s3cret", ["s3cret"], { s3cret: { b: [99_999] } }, new String("s3cret"),
  { toString: throwing, valueOf: throwing, toJSON: throwing, [Symbol.toPrimitive]: throwing },
  { toString: () => "a", valueOf: () => 40, toJSON: () => 40 },
  { toString: () => "s3cret", toJSON: () => "s3cret", [Symbol.toPrimitive]: () => "s3cret" },
  class { static s3cret = "s3cret"; }, Object.assign(() => "a", { s3cret: "s3cret" }),
  Object.assign(["a"], { toString: throwing }), Object.create(null), revoked(),
];

/** Values, and what a numeric and a categorical column read of each: nothing, where that is not said. */
export const VALUES = [
  () => [null], () => [undefined], () => [NaN], () => [Infinity], () => [-Infinity], () => [Number("1e999")],
  ...NUMBERS.map((value) => () => [value, value, `${value}`]),
  ...TEXTS.map((value) => () => [value, null, value]),
  ...DECIMALS.map(([value, number]) => () => [value, number, value]), () => ["1e999", null, "1e999"],
  () => [`${" ".repeat(200)}a`, null, "a"], () => [`a${"\u0085".repeat(200)}`, null, "a"],
  () => ["a\ud800", null, "a\ufffd"], () => [true, null, "true"], () => [40n, null, "40"],
  () => [2n ** 64n - 1n, null, "18446744073709551615"], () => [-(2n ** 63n), null, "-9223372036854775808"],
  () => [2n ** 64n], () => [-(2n ** 65n)], () => [HUGE], ...ODD.map((value) => () => [value]),
];

/** Prototypes of records: those of classes, and answers to a column that is named `__proto__`. */
const PROTOTYPES = [
  () => Object.prototype, () => null, () => class {}.prototype, () => ({ height: 40, hiv_since: 40 }), () => [],
  () => ["a"], () => new Date(40), () => new String("a"), () => new Map(), () => new Blob(),
  () => new Float64Array(2), () => ({ [Symbol.toStringTag]: "s3cret" }),
];

/** Names of columns; some are those of every object's own machinery. */
const NAMES = ["height", "__proto__", "constructor", "toString", "length", "0", "hiv_since"];

function revoked() {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** Columns of every type. */
export function anyColumns(number) {
  const shift = Math.floor(number() * NAMES.length);
  return Array.from({ length: 1 + Math.floor(4 * number()) }, (_, index) => {
    const name = NAMES[(shift + index) % NAMES.length];
    if (index > 0 && number() < 0.2) return { name, type: "ignored" };
    if (number() < 0.5) return { name, type: "numeric", offset: 1, scale: 2 };
    const values = number() < 0.5 ? ["a", "40", "True"] : ["a", "other", ""];
    return { name, type: "categorical", values, unseen: values.includes("other") ? "other" : "zero" };
  });
}

/** A record of any content for these columns, and what they read of it, by name. */
export function anyRecord(columns, number) {
  const one = (all) => all[Math.floor(number() * all.length)];
  const held = columns.map(({ name, type }) => {
    const [value, numeric = null, categorical = null] = one(VALUES)();
    return { name, value, read: type === "ignored" ? null : type === "numeric" ? numeric : categorical };
  });
  if (number() < 0.3) {
    const length = number() < 0.5 ? columns.length : Math.floor(number() * 2 * columns.length);
    const isTyped = number() < 0.3;
    let row = Array.from({ length }, (_, index) => (index in held ? held[index].value : one(VALUES)()[0]));
    if (isTyped) row = Float64Array.from(row, (value) => (typeof value === "number" ? value : NaN));
    else if (number() < 0.3) row = new Proxy(row, {});
    const read = held.map(({ name, value, read }, index) => {
      const kept = index < length && (!isTyped || typeof value === "number");
      return [name, kept ? read : null];
    });
    return { record: row, read: Object.fromEntries(read) };
  }
  const record = Object.create(one(PROTOTYPES)());
  const read = held.map(({ name, value, read }) => {
    if (number() < 0.15) return [name, null];
    if (number() < 0.1) {
      Object.defineProperty(record, name, { get: throwing, enumerable: true });
      return [name, null];
    }
    const enumerable = number() < 0.9;
    Object.defineProperty(record, name, { value, enumerable });
    return [name, enumerable ? read : null];
  });
  if (number() < 0.3) record["s3cret name"] = one(VALUES)()[0];
  // Not assigned: the prototype may have one that only reads.
  if (number() < 0.2) Object.defineProperty(record, Symbol.toStringTag, { value: "s3cret", enumerable: true });
  const nothing = Object.fromEntries(columns.map(({ name }) => [name, null]));
  const trap = one(["ownKeys", "getOwnPropertyDescriptor", "get"]);
  if (number() < 0.1) return { record: new Proxy(record, { [trap]: throwing }), read: nothing };
  if (number() < 0.05) return { record: revoked(), read: nothing };
  return { record: number() < 0.3 ? new Proxy(record, {}) : record, read: Object.fromEntries(read) };
}

/** A task of these columns, whose reports have this epsilon. */
export function taskOf(columns, epsilon) {
  return { ...TASK, schema: { columns }, mechanism: { ...TASK.mechanism, epsilon } };
}

/**
 * What went wrong with records of any content through an entry of the package (`api`, initialised): one line each. With
 * `seeded`, where the source of randomness is in reach, reports are compared with those of what the columns read.
 */
export async function refusals(api, { seed, tasks, seeded = false }) {
  const number = numbersFrom(seed);
  const wrong = [];
  for (let one = 0; one < tasks; one += 1) {
    const columns = anyColumns(number);
    const task = await api.Task.parse(taskOf(columns, 8));
    const [lenient, strict] = [false, true].map((strict) => new api.Randomizer(task, { maxEpsilon: 8, strict }));
    for (let other = 0; other < 10; other += 1) {
      const { record, read } = anyRecord(columns, number);
      const key = Uint8Array.from({ length: 32 }, () => 256 * number());
      const made = (by, of) => (seeded ? seededBy(key)(() => by.randomize(of)) : by.randomize(of));
      try {
        const report = await made(lenient, record);
        api.Report.fromBytes(report.bytes, task);
        const expected = await made(strict, read);
        if (seeded && String(expected.bytes) !== String(report.bytes)) throw new Error("its report is another's");
      } catch (error) {
        wrong.push(`task ${one}, record ${other}: ${error}`);
      }
    }
  }
  return wrong;
}
