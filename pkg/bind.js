// The classes over a generated module, the same in every entry. They wrap the generated class so that errors have a
// class and freed objects a clear message.

import { columnsOf, readRecord, recordBytes, taskText, utf8, valuesOf } from "./boundary.js";
import { affordable, alive, allowed, campaigns, fetchTask } from "./checks.js";
import { failure } from "./errors.js";
import { loading } from "./instantiate.js";
import { KEY, reportOf } from "./report.js";

/** The classes of `wasm`, what starts it, and what looks inside. */
export function bind(wasm) {
  const { call, load: start } = loading(wasm);

  const parsed = (json) => call(() => new wasm.Task(utf8(taskText(json))));

  let generated;

  class Task {
    #task;

    static {
      generated = (task) => {
        if (#task in Object(task)) return alive(task.#task, "task");
        throw failure("argument", "give a Task, made by Task.parse or Task.fetch");
      };
    }

    constructor(key, task) {
      if (key !== KEY) throw failure("argument", "give a Task, made by Task.parse or Task.fetch");
      this.#task = task;
      Object.assign(this, JSON.parse(task.facts()));
      campaigns[this.digest] = this.campaign;
    }

    static parse(json) {
      return new Task(KEY, parsed(json));
    }

    static fetch(url, options) {
      return fetchTask(Task.parse, url, options);
    }

    check(record) {
      return readRecord(columnsOf(this), record)[1];
    }

    toJSON() {
      return JSON.parse(this.toString());
    }

    toString() {
      return generated(this).canonicalJSON();
    }

    free() {
      this.#task?.free();
      this.#task = undefined;
    }
  }

  class Randomizer {
    #columns;
    #strict;
    #task;

    constructor(task, limits) {
      const text = call(() => generated(task).canonicalJSON());
      this.guarantee = allowed(task.guarantee, limits);
      affordable(task, limits);
      this.taskDigest = task.digest;
      this.period = task.period;
      this.#columns = columnsOf(text);
      this.#strict = limits.strict;
      // Its own, since the app may free the task: to read the text again is fewer bytes to download than to copy what
      // was read.
      this.#task = parsed(text);
    }

    randomize(record, { id } = {}) {
      const task = alive(this.#task, "randomizer");
      const values = valuesOf(this.#columns, record, this.#strict);
      const bytes = call(() => task.randomize(recordBytes(values, id)));
      return reportOf(bytes, this.taskDigest, this.guarantee);
    }

    free() {
      this.#task?.free();
      this.#task = undefined;
    }
  }

  // Not every host has Symbol.dispose yet; where it is missing, so is `using`.
  if (Symbol.dispose) for (const { prototype } of [Task, Randomizer]) prototype[Symbol.dispose] = prototype.free;

  return { call, generated, Randomizer, start, Task, version: () => call(wasm.version) };
}
