// The other side of worker.js: holds the module and the objects that the page has handles of.

import { init, LdpPcaError, Randomizer, Task, version } from "./index.js";
import { failure } from "./errors.js";

const NO_LIMITS = { maxEpsilon: Infinity, maxDelta: 1, maxReportBytes: Infinity, maxDraws: Infinity };

const objects = new Map();

const methods = {
  init,
  version,

  parse(handle, json) {
    const task = Task.parse(json);
    objects.set(handle, task);
    return { ...task, text: String(task) };
  },

  randomizer(handle, task) {
    // The page has compared what the task asks for with its limits.
    objects.set(handle, new Randomizer(held(task), NO_LIMITS));
  },

  randomize(handle, record, options) {
    return held(handle).randomize(record, options).bytes;
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
