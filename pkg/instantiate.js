// From what a module can come as to a module that runs.

import { translated } from "./boundary.js";
import { failure } from "./errors.js";

/**
 * The module that `wasm`, the generated half in JavaScript, is of. It is loaded once, however often it is asked; after a
 * failure the next call tries again.
 */
export function loading(wasm) {
  let started;
  const module = {
    ready: false,

    /** Loads what `source` gives: a URL, a response, bytes, or a compiled module. */
    load: (source) => (started ??= begin(source)),

    /** What `work` does with the module; its errors get their classes. */
    call(work) {
      if (!module.ready) throw failure("init", "the WebAssembly module is not loaded yet: `await init()` first");
      try {
        return work(wasm);
      } catch (error) {
        throw translated(error);
      }
    },
  };

  async function begin(source) {
    try {
      await instantiate(wasm, await source());
      module.ready = true;
    } catch (cause) {
      started = undefined;
      throw failure("init", `the WebAssembly module did not load: ${cause?.message ?? cause}`, { cause });
    }
  }

  return module;
}

async function instantiate(wasm, source) {
  if (typeof source === "string" || source instanceof URL || source instanceof Request) source = await fetch(source);
  if (source instanceof Response) {
    const { headers, ok, status, url } = source;
    if (!ok) throw new Error(`the answer for ${url} is ${status}`);
    // Servers that do not know the type are common; compiling on the way is for those that do.
    const known = /^application\/wasm\b/i.test(headers.get("content-type"));
    source = await (known ? WebAssembly.compileStreaming(source) : source.arrayBuffer());
  }
  const made = await WebAssembly.instantiate(source, { "./ldp_pca_bg.js": wasm });
  const { exports } = made.instance ?? made;
  wasm.__wbg_set_wasm(exports);
  exports.__wbindgen_start();
}
