import { compare, init, issuedId, loadMethods, Randomizer, submit, Task } from "ldp-pca/lab";

import { participate } from "./participate.js";

console.log(JSON.stringify(await participate({ compare, init, issuedId, loadMethods, Randomizer, submit, Task }, process.argv[2])));
