import { init, Randomizer, Task } from "ldp-pca/inline";

import { participate } from "./participate.js";

console.log(JSON.stringify(await participate({ init, Randomizer, Task }, process.argv[2])));
