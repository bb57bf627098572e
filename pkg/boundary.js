// Records and errors as they cross the boundary to the module: bytes and numbers, whose glue is the smallest.

import { failure } from "./errors.js";

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
  if (Array.isArray(value)) return "an array";
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

/** Whether a question was skipped. */
function missing(value) {
  return value == null || [NaN, Infinity, -Infinity].includes(value);
}

/** The type of a column's values in a record by name. */
const TYPES = { numeric: "number", categorical: "string" };

/**
 * A copy of the record that is plain data, `[copy, problems]`, and all that keeps it from having a report. Both depend
 * on names and types alone. No problem has a value, or a name that the task does not have: that can be an answer, too.
 */
export function readRecord(columns, record) {
  const problems = [];
  const refuse = (reason, message, column) =>
    void problems.push(failure(reason === "shape" ? "record" : "schema", message, { column, reason }));
  let copy;
  try {
    copy = read(columns, record, refuse);
  } catch {
    // The words are those of the app's own getters.
    refuse("shape", "the record cannot be read: a part of it throws");
  }
  return [copy, problems];
}

function read(columns, record, refuse) {
  if (Array.isArray(record) || record instanceof Float64Array) {
    const found = record.length;
    const wanted = columns.length;
    if (found !== wanted) {
      const message = `the record has ${found} values where the task has ${wanted} columns, ignored ones included`;
      return refuse("length", message);
    }
    return Float64Array.from(record, (value, index) => {
      if (typeof value === "number") return value;
      const { name, type } = columns[index];
      if (!missing(value) && type in TYPES) {
        refuse("type", `position ${index + 1} holds ${kind(value)}: give a number`, name);
      }
      return NaN;
    });
  }
  if (typeof record !== "object" || record === null || ArrayBuffer.isView(record)) {
    return refuse("shape", `the record is ${kind(record)}: give an object by column name, or a Float64Array`);
  }
  // Own enumerable properties only: what an object inherits is not part of the record.
  const given = new Map(Object.entries(record));
  if (given.size === 0 && {}.toString.call(record) !== "[object Object]") {
    const message = "the record has no properties (a Map, FormData or Promise?): give an object by column name";
    return refuse("shape", message);
  }
  const copy = columns.map(({ name, type }) => {
    const value = given.get(name);
    const found = given.delete(name);
    const wanted = TYPES[type];
    if (!wanted) return [name];
    if (!found) refuse("missing", `column '${name}' is missing: give it a value`, name);
    // A category may also be a boolean, a bigint or a number, but no object, function or symbol. (Of the types wanted,
    // only "number" comes before "o".)
    else if (!missing(value) && typeof value !== wanted && (wanted < "o" || /[cfy]/.test(typeof value))) {
      refuse("type", `column '${name}' is ${type} but holds ${kind(value)}: give a ${wanted}`, name);
    }
    return [name, value];
  });
  if (given.size > 0) {
    const known = columns.slice(0, 13).map(({ name }, index) => (index < 12 ? name : "…"));
    refuse("unknown", `unknown columns: ${given.size}; the task has ${known.join(", ")}`);
  }
  return Object.fromEntries(copy);
}

/** The copy, if nothing is wrong with the record. */
export function checkedRecord(columns, record) {
  const [copy, [problem]] = readRecord(columns, record);
  if (problem) throw problem;
  return copy;
}

/**
 * A record as the module takes it, with the id that its report is to have: the columns' numbers, then the JSON of the
 * id and, if the record came by name, of the columns' texts.
 */
export function recordBytes(columns, record, id) {
  if (id !== undefined && !/^[\da-f]{32}$/.test(id)) {
    throw failure("argument", `the id is ${id}: give the aggregator's 32 hexadecimal digits`);
  }
  const copy = checkedRecord(columns, record);
  const byName = !(copy instanceof Float64Array);
  // Of a text, of which the module takes no number, it does not matter what number this is.
  const numbers = byName ? Float64Array.from(columns, ({ name }) => Number(copy[name] ?? NaN)) : copy;
  // Half of a surrogate pair is a character that no column lists.
  const textOf = ({ name, values }) =>
    values && !missing(copy[name]) ? `${copy[name]}`.replace(/\p{Cs}/gu, "\ufffd") : null;
  const rest = utf8(JSON.stringify([id, ...(byName ? columns.map(textOf) : [])]));
  const bytes = new Uint8Array(numbers.byteLength + rest.length);
  bytes.set(new Uint8Array(numbers.buffer));
  bytes.set(rest, numbers.byteLength);
  return bytes;
}
