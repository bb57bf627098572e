// The exports of every entry of the client, besides its own `init`.

export { Randomizer, Task, version } from "./api.js";
export * from "./common.js";
