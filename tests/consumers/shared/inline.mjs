import { init, Randomizer, submit, Task } from "ldp-pca/inline";

import { participate } from "./participate.js";

console.log(JSON.stringify(await participate({ init, Randomizer, submit, Task }, process.argv[2])));
