// Records and errors as they cross the boundary to the module: text and numbers, whose glue is the smallest.

import { failure } from "./errors.js";

/** What the module throws is a text, `code: message`. */
export function translated(error) {
  if (typeof error !== "string") return error;
  const colon = error.indexOf(": ");
  return failure(error.slice(0, colon), error.slice(colon + 2));
}

/** What a value is, in the words of an error message. */
function kind(value) {
  if (missing(value)) return String(value);
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** The JSON text of a task that is given as text or as what `JSON.parse` made of it. */
export function taskText(json) {
  if (typeof json === "string") return json;
  if (typeof json !== "object" || json === null) {
    throw failure("task", `the task is ${kind(json)}: give its JSON text`);
  }
  try {
    return JSON.stringify(json) ?? "";
  } catch (cause) {
    throw failure("task", "the task is an object that JSON cannot write: give its JSON text", { cause });
  }
}

/** Whether a question was skipped. (So it was where a number is NaN.) */
function missing(value) {
  return value === null || value === undefined;
}

/** A record as the module takes it, `[names, numbers]`: without names the numbers are in the order of the columns. */
export function recordParts(record) {
  if (record instanceof Float64Array) return [undefined, record];
  if (Array.isArray(record)) {
    const numbers = Float64Array.from(record, (value, index) => {
      if (missing(value)) return NaN;
      if (typeof value === "number") return value;
      throw failure("schema", `position ${index + 1} of the record holds ${kind(value)}: give a number`);
    });
    return [undefined, numbers];
  }
  if (typeof record !== "object" || record === null || ArrayBuffer.isView(record)) {
    const message = `the record is ${kind(record)}: give an object by column name, or a Float64Array`;
    throw failure("record", message);
  }
  const numbers = [];
  // Own enumerable properties only: what an object inherits is not part of the record.
  const names = Object.entries(record).map(([name, value]) => {
    if (missing(value)) return [name];
    if (typeof value === "string") return [name, value];
    if (typeof value !== "number") {
      throw failure("schema", `column '${name}' holds ${kind(value)}: give a number or a text`);
    }
    numbers.push(value);
    return name;
  });
  return [JSON.stringify(names), Float64Array.from(numbers)];
}

/** The 16 bytes that 32 hexadecimal digits spell. */
export function idBytes(id) {
  if (/^[\da-f]{32}$/.test(id)) return Uint8Array.from(id.match(/../g), (pair) => parseInt(pair, 16));
  throw failure("argument", `the id is ${id}: give 32 hexadecimal digits, as the aggregator issued them`);
}
