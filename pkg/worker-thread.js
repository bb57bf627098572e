// The other side of worker.js: holds the module, and the tasks in it that the page has handles of. The page checks what
// a record is and how much a task asks for.

import { recordBytes, taskText, translated, utf8 } from "./boundary.js";
import { failure, LdpPcaError } from "./errors.js";
import { init } from "./index.js";
import { Task, version } from "./wasm/client/ldp_pca.js";

const tasks = new Map();
let ready;

const methods = {
  init: (input) => (ready = init(input)),
  version,

  parse(handle, json) {
    const task = new Task(utf8(taskText(json)));
    tasks.set(handle, task);
    return { ...JSON.parse(task.facts()), text: task.canonicalJSON() };
  },

  randomize(handle, values, { id }) {
    const task = tasks.get(handle);
    if (!task) throw failure("argument", "the object belongs to a worker that has ended: make a new one");
    return task.randomize(recordBytes(values, id));
  },

  free(handle) {
    tasks.get(handle)?.free();
    tasks.delete(handle);
  },
};

onmessage = async ({ data: { id, method, parameters } }) => {
  try {
    // The page does not wait for the module before it asks for more.
    if (method !== "init") await ready;
    const value = await methods[method](...parameters);
    // The bytes of a report move, they are not copied.
    postMessage({ id, value }, value instanceof Uint8Array ? [value.buffer] : []);
  } catch (cause) {
    const error = translated(cause);
    const { code, message } = error;
    // An unforeseen error may have words of a record in its message.
    const told =
      error instanceof LdpPcaError
        ? { code, message }
        : { code: "init", message: `the worker failed: ${error.name}`, fatal: true };
    postMessage({ id, error: told });
  }
};
