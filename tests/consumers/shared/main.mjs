import { init, issuedId, Randomizer, submit, Task } from "ldp-pca";

import { participate } from "./participate.js";

console.log(JSON.stringify(await participate({ init, issuedId, Randomizer, submit, Task }, process.argv[2])));
