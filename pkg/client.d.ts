export { Randomizer, Task, version } from "./api.js";
export type { RandomizeOptions, RandomizerOptions, TaskFetchOptions } from "./api.js";
export * from "./common.js";
