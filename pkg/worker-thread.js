// The other side of worker.js: holds the module and the objects that the page has handles of.

import { init, LdpPcaError, Randomizer, Task, version } from "./index.js";
import { failure } from "./errors.js";

const NO_LIMITS = { maxEpsilon: Infinity, maxDelta: 1, maxReportBytes: Infinity, maxDraws: Infinity };

const objects = new Map();
let ready;

const methods = {
  init(input) {
    ready = init(input);
    return ready;
  },

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

  /** The randomizer that an earlier worker had. */
  revive(handle, json) {
    const task = Task.parse(json);
    objects.set(handle, new Randomizer(task, NO_LIMITS));
    task.free();
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
    // The page does not wait for the module before it asks for more.
    if (method !== "init") await ready;
    const value = await methods[method](...parameters);
    // The bytes of a report move, they are not copied.
    postMessage({ id, value }, value instanceof Uint8Array ? [value.buffer] : []);
  } catch (error) {
    const { code, message } = error;
    // An unforeseen error may have words of a record in its message.
    const told =
      error instanceof LdpPcaError
        ? { code, message }
        : { code: "init", message: `the worker failed: ${error.name}`, fatal: true };
    postMessage({ id, error: told });
  }
};
