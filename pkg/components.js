// Published components on a device: what they are in words, and the scores of its own record. Nothing is sent.
//
// Pages may load this alone, so it is small: without WebAssembly, and with its own reading of records, whose rules are
// those of boundary.js and of the client's module.

import { LdpPcaError } from "./ldp-pca-error.js";

/** The smallest positive normal number. */
const LEAST = 2 ** -1022;
const MOST = Number.MAX_VALUE;
/** The blank space around a text. */
const BLANKS = /^\p{White_Space}+|\p{White_Space}+$/gu;

export class Components {
  #document;

  constructor(json) {
    try {
      this.#document = read(typeof json === "string" ? json : JSON.stringify(json));
    } catch (cause) {
      throw new LdpPcaError("components", `give components.json of version 1, unchanged: ${cause.message}`, { cause });
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
      if (!response.ok) throw new Error(`the answer is ${response.status}`);
      text = await response.text();
    } catch (cause) {
      signal?.throwIfAborted();
      throw new LdpPcaError("fetch", `no components at ${url}: ${cause.message}`, { cause });
    }
    const found = new Components(text);
    // A caller with an undefined digest meant one.
    if (!("digest" in options) || found.taskDigest === digest) return found;
    throw new LdpPcaError("digest", `the components are of task ${found.taskDigest}, and ${digest} was meant`);
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
    const labels = namesOf(schema.columns, ({ name, label = name }) => label);
    return components.map(({ loadings, variance }) => {
      const size = (place) => Math.abs(loadings[place]);
      const places = [...loadings.keys()].sort((one, other) => size(other) - size(one));
      const strong = places.filter((place) => 3 * size(place) >= size(places[0]));
      const sides = [false, true].map((isOther) => {
        const side = strong.filter((place) => isOther === loadings[place] * loadings[places[0]] < 0);
        return new Intl.ListFormat("en-GB").format(side.map((place) => labels[place]));
      });
      return {
        share: total > 0 && variance !== null ? variance / total : null,
        features: strong.map((place) => ({ name: this.featureNames[place], loading: loadings[place] })),
        text: sides.filter(Boolean).join(", against "),
      };
    });
  }
}

/** The d features of a record, as the client's module encodes them. */
function encode(columns, record) {
  const isRow = Array.isArray(record) || record instanceof Float64Array;
  if (!isRow && !/t Object/.test({}.toString.call(record))) {
    throw new LdpPcaError("record", "this is no record: give a plain object, Array or Float64Array");
  }
  // Own enumerable properties only: what an object inherits is not part of the record.
  const given = new Map(Object.entries(record));
  return columns.flatMap(({ name, type, offset, scale, values = [], unseen }, column) => {
    const value = given.get(isRow ? `${column}` : name);
    const isFinite = Number.isFinite(value);
    if (type === "numeric") return isFinite ? Math.max(-MOST, Math.min(MOST, (value - offset) / scale)) : 0;
    // More than 64 bits and a sign are no category.
    const isWhole = typeof value === "bigint" && BigInt.asIntN(65, value) === value;
    const isCategory = isFinite || isWhole || ["string", "boolean"].includes(typeof value);
    const text = isCategory ? `${value}`.replace(/\p{Cs}/gu, "\ufffd").replace(BLANKS, "") : null;
    let place = values.indexOf(text);
    if (place < 0) place = values.findIndex((known) => spelled(known) === spelled(text));
    if (place < 0 && text && unseen === "other") place = values.indexOf(unseen);
    return values.map((_, index) => Number(index === place));
  });
}

/** One spelling of a boolean, and of a whole number. */
function spelled(text) {
  return /^(true|false)$/i.test(text) ? text.toLowerCase() : (/^(-?\d+)(\.0+)?$/.exec(text)?.[1] ?? text);
}

/** The features over their norm, by the operations of docs/wire-format.md. */
function withNormOne(features) {
  const largest = Math.max(LEAST, ...features.map(Math.abs));
  const relative = features.map((feature) => feature / largest);
  const norm = Math.max(LEAST, Math.sqrt(relative.reduce((sum, feature) => sum + feature * feature, 0)));
  return relative.map((feature) => feature / norm);
}

/** The names of the d features, where `named` gives that of a column. */
function namesOf(columns, named) {
  return columns.flatMap((column) =>
    column.type === "numeric" ? named(column) : (column.values ?? []).map((value) => `${named(column)}=${value}`),
  );
}

/** The document, if it is as docs/wire-format.md says. */
function read(json) {
  if (new TextEncoder().encode(json).length > 2 ** 24) throw new Error("it has more than 2^24 bytes");
  let count = 0;
  const document = JSON.parse(json, function (_, value) {
    count += !Array.isArray(this);
    return value;
  });
  // Of members with one name the parser keeps the last. (It counts the document itself, too.)
  const written = json.replace(/"[^"\\]*(\\.[^"\\]*)*"/g, "").split(":").length;
  if (written !== count) throw new Error("a member is there twice");
  const { bounding, prediction, schema } = document;
  for (const column of schema.columns) {
    const { type, values } = column;
    check(column, {
      type: () => ["numeric", "categorical", "ignored"].includes(type),
      name: isName,
      label: (label = "-") => isName(label),
      ...(type === "numeric" && {
        offset: isScaling,
        scale: (scale) => isScaling(scale) && isScaling(1 / scale),
      }),
      ...(type === "categorical" && {
        values: () => values.every(isText) && differ(values),
        unseen: (unseen) => unseen === "zero" || (unseen === "other" && values.includes(unseen)),
      }),
    });
  }
  const names = namesOf(schema.columns, ({ name }) => name);
  const isVector = (values) => values.length === names.length && values.every(isNumber);
  return check(document, {
    version: (version) => version === 1,
    task: (task) => isText(task) && /^[\da-f]{64}$/.test(task),
    // Nothing is read of the dialect of files.
    schema: () => check(schema, { columns: (columns) => differ(columns.map(({ name }) => name)), dialect: () => true }),
    bounding: () =>
      check(bounding, {
        type: (type) => ["unit-norm", "clip"].includes(type),
        ...(bounding.type === "clip" && {
          radius: (radius) => isNumber(radius) && radius >= 1e-150 && radius <= 1e150,
        }),
      }),
    feature_names: (found) => JSON.stringify(found) === JSON.stringify(names),
    records: (records) => Number.isInteger(records) && records > 0 && records <= 2 ** 53,
    mean: (mean = names.map(() => 0)) => isVector(mean),
    total_variance: (total = 0) => isNumber(total),
    noise_edge: isNumber,
    components: (components) =>
      components.length > 0 &&
      components.length <= names.length &&
      components.every((component) =>
        check(component, { loadings: isVector, variance: (variance) => variance === null || isNumber(variance) }),
      ),
    prediction: () =>
      prediction === undefined ||
      check(prediction, { share_found: (share = 0) => isNumber(share), sin_theta_squared: isNumber }),
  });
}

/** The value, if its members are as the rules say, and no others. What is missing is undefined. */
function check(value, rules) {
  for (const name in { ...value, ...rules }) {
    if (!Object.hasOwn(rules, name) || !rules[name](value[name])) throw new Error(`see '${name}'`);
  }
  return value;
}

const isText = (value) => typeof value === "string" && !/\p{Cs}/u.test(value);
const isName = (value) => value && isText(value);
const isNumber = (value) => Number.isFinite(value);
const isScaling = (value) => isNumber(value) && Math.abs(value) <= 1e100;
const differ = (values) => new Set(values).size === values.length;
