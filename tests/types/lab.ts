// The types of the lab's methods.

import { compare, init, loadMethods, type LabMethod, type Method } from "ldp-pca/lab";

await init();
await loadMethods();
await loadMethods("/elsewhere.wasm");
// @ts-expect-error null is nowhere
await loadMethods(null);

const options = { dimension: 10, epsilon: 1, count: 1000 };
const { methods } = compare({ ...options, methods: ["dp-pca", "pca"], drawn: "records" });
const keys: Method[] = methods.map(({ key }) => key);
const some: LabMethod[] = ["pca", "mod-sulq"];
compare({ ...options, methods: [...some, ...keys] });
// @ts-expect-error no method has this name
compare({ ...options, methods: ["sulk"] });
// @ts-expect-error one of the second module
const own: LabMethod = "dp-pca";
// @ts-expect-error records or moments
compare({ ...options, drawn: "all" });
console.log(own);
