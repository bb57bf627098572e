// The lab's two modules: its own, with the client's classes over it, and that of every method.

import { bind } from "./bind.js";
import { loading } from "./instantiate.js";
import * as wasm from "./wasm/lab/ldp_pca.js";
import * as everyMethod from "./wasm/methods/ldp_pca.js";

// Part by part: the whole file as an object is more in a bundle.
export const { call, generated, Randomizer, start, Task, version } = bind({
  compareMethods: wasm.compareMethods,
  imports: wasm.imports,
  Task: wasm.Task,
  version: wasm.version,
});

// Its generated half is less than what bundlers add to load it later; the module itself comes when it is asked for.
export const methods = loading({ imports: everyMethod.imports, compareMethods: everyMethod.compareMethods });
