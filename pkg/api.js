// The client's classes, the same in every entry of it.

import { bind } from "./bind.js";
import * as wasm from "./wasm/client/ldp_pca.js";

export const { Randomizer, start, Task, version } = bind(wasm);
