// The frozen vectors against the npm package, in whatever host runs this: Node imports it, and so does a page.

import { seededBy } from "../../pkg/seeded.js";

/**
 * The vectors of `file` (parsed), with `api` (the package, initialised): what differs, one line each. Awaits what the
 * entry with a worker has promises for.
 */
export async function differences(api, { version, cases }) {
  if (version !== 1) return [`the vectors have version ${version}`];
  if (cases.length === 0) return ["there are no vectors"];
  const found = cases.map((one) => ("text" in one ? taskDifferences(api, one) : reportDifferences(api, one)));
  return (await Promise.all(found)).flat();
}

async function taskDifferences({ Task }, { name, text, canonical, digest, feature_names, report_bytes }) {
  const task = await Task.parse(text);
  const found = { canonical: String(task), digest: task.digest, names: task.featureNames, bytes: task.reportBytes };
  const again = (await Task.parse(task.toJSON())).digest;
  const expected = { canonical, digest, names: feature_names, bytes: report_bytes };
  const same = JSON.stringify(found) === JSON.stringify(expected) && again === digest;
  return same ? [] : [`${name}: ${JSON.stringify(found)}`];
}

async function reportDifferences({ Randomizer, Task }, { name, task: document, digest, reports }) {
  const task = await Task.parse(document);
  const randomizer = new Randomizer(task, { maxEpsilon: Infinity, maxDelta: 1 });
  const wrong = task.digest === digest ? [] : [`${name}: digest ${task.digest}`];
  for (const [index, { record, seed, report }] of reports.entries()) {
    const bytes = hex(seededBy(unhex(seed))(() => randomizer.randomize(record)).bytes);
    if (bytes !== report) wrong.push(`${name}, report ${index}: ${bytes}`);
  }
  return wrong;
}

function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function unhex(text) {
  return Uint8Array.from(text.match(/../g), (pair) => Number.parseInt(pair, 16));
}
