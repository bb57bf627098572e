// The client's classes, the same in every entry of it.

import { bind } from "./bind.js";
import * as wasm from "./wasm/client/ldp_pca.js";

// Part by part: the whole file as an object is more in a bundle.
export const { Randomizer, start, Task, version } = bind({
  imports: wasm.imports,
  Task: wasm.Task,
  version: wasm.version,
});
