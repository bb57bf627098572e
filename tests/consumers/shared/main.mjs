import { init, Randomizer, Task } from "ldp-pca";

import { participate } from "./participate.js";

console.log(JSON.stringify(await participate({ init, Randomizer, Task }, process.argv[2])));
