// The client's classes, the same in every entry of it.

import { bind } from "./bind.js";
// By name, so that bundlers leave out the rest.
import { Task as WasmTask, version as wasmVersion } from "./wasm/client/ldp_pca.js";

export const { Randomizer, start, Task, version } = bind({ Task: WasmTask, version: wasmVersion });
