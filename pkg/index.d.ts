export { Randomizer, Task, version } from "./api.js";
export type { RandomizeOptions, RandomizerOptions, TaskFetchOptions } from "./api.js";
export * from "./common.js";

/**
 * Loads the WebAssembly module. Call it once before anything else and await it; further calls return the same promise,
 * whatever their arguments. After a failure the next call tries again.
 *
 * @param input - The module: a URL, a `Response`, its bytes, or a compiled module. By default the file in this package,
 *   which bundlers find by themselves; in Node it comes with the code, as with `ldp-pca/inline`.
 * @throws {@link InitError} with code `init` (by rejecting) when it cannot be fetched or compiled, for instance because
 *   there is no WebAssembly, or the page's content security policy lacks `script-src 'wasm-unsafe-eval'`.
 */
export function init(input?: InitInput | Promise<InitInput>): Promise<void>;

/** What {@link init} can load the module from. */
export type InitInput = string | URL | Request | Response | BufferSource | WebAssembly.Module;
