// Records and errors as they cross the boundary to the module: bytes and numbers, whose glue is the smallest.

import { failure } from "./errors.js";
import { numberIn, textOf, tried } from "./values.js";

/** The module throws a text, `code: message`. */
export function translated(error) {
  if (typeof error !== "string") return error;
  const colon = error.indexOf(": ");
  return failure(error.slice(0, colon), error.slice(colon + 2));
}

/** A text in UTF-8. */
export function utf8(text) {
  return new TextEncoder().encode(text);
}

/** The kind of a value, in the words of an error message. */
function kind(value) {
  if (value === null || value === undefined) return String(value);
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** The JSON text of a task that is given as text or as what `JSON.parse` made of it. */
export function taskText(json) {
  if (typeof json === "string") return json;
  let cause;
  try {
    if (json && typeof json === "object") return JSON.stringify(json) ?? "";
  } catch (error) {
    cause = error;
  }
  throw failure("task", `the task is ${kind(json)}: give its JSON text`, { cause });
}

/** The columns of a task, or of its JSON text, which it is as a text. */
export function columnsOf(task) {
  return JSON.parse(task).schema.columns;
}

/** The types that a column's values may have. The first is the one to give. */
const TYPES = { numeric: ["number"], categorical: ["string", "boolean", "bigint", "number"] };

/**
 * Whether a record is in the order of the columns, or undefined for what is no record. By what it is, not by what it
 * holds: a class's tag is on its prototype. Where a column is named `__proto__`, the prototype may be an answer, which
 * is no class's.
 */
function rowOrNot(record) {
  if (typeof record !== "object" || !record) return undefined;
  const isView = ArrayBuffer.isView(record);
  return tried(() => {
    if (Array.isArray(record) || (isView && record instanceof Float64Array)) return true;
    const prototype = Object.getPrototypeOf(record);
    const isTagged = prototype.constructor.prototype === prototype && !/t Object/.test({}.toString.call(prototype));
    return isView || isTagged ? undefined : false;
  }, false);
}

/**
 * A record as plain data, `[values, problems]`: for each column a number, a text or null, and all that does not fit the
 * columns, which is missing. A problem has no value, and no name that the task does not have: that can be an answer,
 * too. Its words are the task's alone.
 */
export function readRecord(columns, record) {
  const problems = [];
  const note = (reason, message, column) =>
    problems.push(failure(reason === "shape" ? "record" : "schema", message, { column, reason }));
  const isRow = rowOrNot(record);
  if (isRow === undefined) {
    note("shape", `the record is ${kind(record)}: give a plain object, Array or Float64Array`);
    return [[], problems];
  }
  // Own enumerable properties only: what an object inherits is not part of the record.
  const given = tried(() => new Set(isRow ? [] : Object.keys(record)), new Set());
  const values = columns.map(({ name, type, values: listed }, index) => {
    const found = given.delete(name) || isRow;
    const types = TYPES[type];
    if (!types) return null;
    // An object, such as `given`, fits no column.
    const held = found ? tried(() => record[isRow ? index : name], given) : given;
    const value = typeof held === "string" && !listed ? numberIn(held) : held;
    if (value == null || [NaN, Infinity, -Infinity].includes(value)) return null;
    if (!types.includes(typeof value)) {
      note(found ? "type" : "missing", `column '${name}' is ${type}: give a ${types[0]} or null`, name);
      return null;
    }
    return listed ? textOf(value, listed) : value;
  });
  const { length } = columns;
  if (isRow && tried(() => record.length) !== length) {
    note("length", `give a value for each of ${length} columns, ignored ones included`);
  }
  if (given.size > 0) {
    const known = columns.slice(0, 13).map(({ name }, index) => (index < 12 ? name : "…"));
    note("unknown", `unknown columns: the task has ${known.join(", ")}`);
  }
  return [values, problems];
}

/** The problems that the console has: each once. */
const told = new Set();

/** The values of a record that the module takes. With `strict` its first problem is thrown; else the console has it. */
export function valuesOf(columns, record, strict) {
  const [values, problems] = readRecord(columns, record);
  for (const problem of problems) {
    const { code, message } = problem;
    if (strict || code === "record") throw problem;
    if (told.has(message)) continue;
    told.add(message);
    // A host may have a console that throws.
    tried(() => console.warn(`ldp-pca counts as missing: ${message}`));
  }
  return values;
}

/**
 * A record's values as the module takes them, with the id that its report is to have: the columns' numbers, then the
 * JSON of the id and of the columns' texts.
 */
export function recordBytes(values, id) {
  if (id !== undefined && !/^[\da-f]{32}$/.test(id)) {
    throw failure("argument", `the id is ${id}: give the aggregator's 32 hexadecimal digits`);
  }
  // Of a text, of which the module takes no number, it does not matter what number this is.
  const numbers = Float64Array.from(values, (value) => value ?? NaN);
  const texts = values.map((value) => (typeof value === "string" ? value : null));
  const rest = utf8(JSON.stringify([id, ...texts]));
  const bytes = new Uint8Array(numbers.byteLength + rest.length);
  bytes.set(new Uint8Array(numbers.buffer));
  bytes.set(rest, numbers.byteLength);
  return bytes;
}
