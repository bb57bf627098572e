// What every entry of the client exports, beside its own `init`.

export { Randomizer, Task, version } from "./api.js";
export * from "./common.js";
