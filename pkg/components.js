// Published components on a device: what they are in words, and the scores of its own record. Nothing is sent.
//
// Pages may load this alone, so it is small: without WebAssembly, and with its own encoding of records, whose rules are
// those of boundary.js and of the client's module.

import { LdpPcaError } from "./ldp-pca-error.js";
import { numberIn, textOf, tried } from "./values.js";

/** The smallest positive normal number. */
const LEAST = 2 ** -1022;
const MOST = Number.MAX_VALUE;

export class Components {
  #document;

  constructor(json) {
    try {
      this.#document = read(typeof json === "string" ? json : JSON.stringify(json));
    } catch (cause) {
      throw new LdpPcaError("components", `no components of version 1: ${cause.message}`, { cause });
    }
    const { components, feature_names: featureNames, records, task: taskDigest } = this.#document;
    Object.assign(this, { featureNames, rank: components.length, records, taskDigest });
  }

  static parse(json) {
    return new Components(json);
  }

  static async fetch(url, options = {}) {
    const { digest, signal } = options;
    let text;
    try {
      const response = await fetch(url, { credentials: "omit", signal });
      if (!response.ok) throw new Error(response.status);
      text = await response.text();
    } catch (cause) {
      signal?.throwIfAborted();
      throw new LdpPcaError("fetch", `no components at ${url}: ${cause.message}`, { cause });
    }
    const found = new Components(text);
    // A caller with an undefined digest meant one.
    if (!("digest" in options) || found.taskDigest === digest) return found;
    throw new LdpPcaError("digest", `the task is ${found.taskDigest}, not ${digest}`);
  }

  scores(record) {
    const { bounding, components, mean, schema } = this.#document;
    const encoded = encode(schema.columns, record);
    const features = bounding.type === "clip" ? encoded : withNormOne(encoded);
    const centred = features.map((feature, place) => feature - (mean?.[place] ?? 0));
    return components.map(({ loadings }) =>
      loadings.reduce((sum, loading, place) => sum + loading * centred[place], 0),
    );
  }

  describe() {
    const { components, schema, total_variance: total } = this.#document;
    const labels = namesOf(schema.columns, "label");
    const list = new Intl.ListFormat("en-GB");
    return components.map(({ loadings, variance }) => {
      const size = (place) => Math.abs(loadings[place]);
      const places = [...loadings.keys()].sort((one, other) => size(other) - size(one));
      const strong = places.filter((place) => 3 * size(place) >= size(places[0]));
      const sides = [[], []];
      for (const place of strong) {
        sides[Number(loadings[place] < 0 !== loadings[places[0]] < 0)].push(labels[place]);
      }
      return {
        share: variance > 0 && variance <= total ? variance / total : null,
        features: strong.map((place) => ({ name: this.featureNames[place], loading: loadings[place] })),
        text: sides.map((side) => list.format(side)).filter(Boolean).join(", against "),
      };
    });
  }
}

/** The d features of a record, as the client's module encodes them. */
function encode(columns, record) {
  const isRow = Array.isArray(record) || record instanceof Float64Array;
  if (!isRow && !/t Object/.test({}.toString.call(record))) {
    throw new LdpPcaError("record", "give a plain object or Array");
  }
  return columns.flatMap(({ name, type, offset, scale, values = [], unseen }, column) => {
    const key = isRow ? column : name;
    // Own enumerable properties only: what an object inherits is not part of the record.
    const value = tried(() => ({}).propertyIsEnumerable.call(record, key) ? record[key] : null);
    if (type === "numeric") {
      const number = typeof value === "string" ? numberIn(value) : value;
      return isNumber(number) ? Math.max(-MOST, Math.min(MOST, (number - offset) / scale)) : 0;
    }
    const text = isNumber(value) || /^b|^str/.test(typeof value) ? textOf(value, values) : null;
    let place = values.indexOf(text);
    if (text && place < 0) {
      place = values.findIndex((known) => spelled(known) === spelled(text));
      if (place < 0 && unseen === "other") place = values.indexOf(unseen);
    }
    return values.map((_, index) => Number(index === place));
  });
}

/** One spelling of a boolean, and of a whole number. */
function spelled(text) {
  return /^(true|false)$/i.test(text) ? text.toLowerCase() : text.replace(/^(-?\d+)\.0+$/, "$1");
}

/** The features over their norm, by the operations of docs/reference/wire-format.md. */
function withNormOne(features) {
  const largest = Math.max(LEAST, ...features.map(Math.abs));
  const relative = features.map((feature) => feature / largest);
  const norm = Math.max(LEAST, Math.sqrt(relative.reduce((sum, feature) => sum + feature * feature, 0)));
  return relative.map((feature) => feature / norm);
}

/** The names of the d features, of columns by their labels or by their names. */
function namesOf(columns, member) {
  return columns.flatMap((column) => {
    const name = column[member] ?? column.name;
    return column.type === "numeric" ? name : (column.values?.map((value) => `${name}=${value}`) ?? []);
  });
}

/** The document, if it is as docs/reference/wire-format.md says. */
function read(json) {
  if (new Blob([json]).size > 2 ** 24) throw new Error("over 2^24 bytes");
  const document = JSON.parse(json);
  // Of members with one name the parser keeps the last.
  const colons = (text) => text.replace(/"[^"\\]*(\\.[^"\\]*)*"/g, "").split(":").length;
  if (colons(json) !== colons(JSON.stringify(document))) throw new Error("a member twice");
  const { columns } = document.schema;
  const names = namesOf(columns, "name");
  const isVector = (values) => values.length === names.length && values.every(isNumber);
  return check(document, {
    version: (version) => version === 1,
    task: (task) => isText(task) && /^[\da-f]{64}$/.test(task),
    schema: (schema) =>
      check(schema, {
        columns: () =>
          differ(columns.map(({ name }) => name)) &&
          columns.every((column) => ofType(column, COLUMNS, { name: isName, label: maybe(isName) })),
        dialect: (dialect) => dialect !== null,
      }),
    bounding: (bounding) => ofType(bounding, BOUNDINGS),
    feature_names: (found) => JSON.stringify(found) === JSON.stringify(names),
    records: (records) => Number.isInteger(records) && records > 0 && records <= 2 ** 53,
    mean: maybe(isVector),
    total_variance: maybe(isNumber),
    noise_edge: isNumber,
    components: (components) =>
      components.length > 0 &&
      components.length <= names.length &&
      components.every((component) =>
        check(component, { loadings: isVector, variance: (variance) => variance === null || isNumber(variance) }),
      ),
    prediction: maybe((prediction) => check(prediction, { share_found: maybe(isNumber), sin_theta_squared: isNumber })),
  });
}

/** The value, if its members are as the rules say, and no others. What is missing is undefined. */
function check(value, rules) {
  for (const name in { ...value, ...rules }) {
    if (!Object.hasOwn(rules, name) || !rules[name](value[name], value)) throw new Error(`see '${name}'`);
  }
  return value;
}

/** The same by the rules of its type, and more. */
function ofType(value, types, more) {
  return check(value, { type: (type) => Object.keys(types).includes(type), ...more, ...types[value.type] });
}

const maybe = (rule) => (value) => value === undefined || rule(value);
const isText = (value) => typeof value === "string" && !/\p{Cs}/u.test(value);
const isName = (value) => value && isText(value);
const isNumber = Number.isFinite;
const isScaling = (value) => isNumber(value) && Math.abs(value) <= 1e100;
const differ = (values) => new Set(values).size === values.length;

const COLUMNS = {
  numeric: { offset: isScaling, scale: (scale) => isScaling(scale) && isScaling(1 / scale) },
  categorical: {
    values: (values) => values.every(isText) && differ(values),
    unseen: (unseen, { values }) => unseen === "zero" || (unseen === "other" && values.includes(unseen)),
  },
  ignored: {},
};
const BOUNDINGS = {
  "unit-norm": {},
  clip: { radius: (radius) => isNumber(radius) && radius >= 1e-150 && radius <= 1e150 },
};
