// The other side of worker.js: holds the module and the objects that the page has handles of.

import { init, LdpPcaError, Randomizer, Task, version } from "./index.js";
import { failure } from "./errors.js";

const objects = new Map();

const methods = {
  init,
  version,

  parse(handle, json) {
    const task = Task.parse(json);
    objects.set(handle, task);
    const { digest, dimension, featureNames, guarantee, oddsFactor, reportBytes } = task;
    return { digest, dimension, featureNames, guarantee, oddsFactor, reportBytes, text: String(task) };
  },

  randomizer(handle, task) {
    // The page has compared what the task asks for with its limits.
    objects.set(handle, new Randomizer(held(task), { maxEpsilon: Infinity, maxDelta: 1 }));
  },

  randomize(handle, record, seeded, issued) {
    const randomizer = held(handle);
    return (seeded ? randomizer.randomizeSeeded(record, seeded.seed) : randomizer.randomize(record, issued)).bytes;
  },

  free(handle) {
    objects.get(handle)?.free();
    objects.delete(handle);
  },
};

function held(handle) {
  const object = objects.get(handle);
  if (!object) throw failure("argument", "the object belongs to a worker that has ended: make a new one");
  return object;
}

onmessage = async ({ data: { id, method, parameters } }) => {
  try {
    const value = await methods[method](...parameters);
    // The bytes of a report move, they are not copied.
    postMessage({ id, value }, value instanceof Uint8Array ? [value.buffer] : []);
  } catch (error) {
    postMessage({ id, error: error instanceof LdpPcaError ? { code: error.code, message: error.message } : error });
  }
};
