// A running module from each form in which a module can come.

import { translated } from "./boundary.js";
import { failure } from "./errors.js";
import { reach } from "./reach.js";

/**
 * The module that `wasm`, the generated half in JavaScript, is of. It is loaded once, however often it is asked; after
 * a failure the next call tries again.
 */
export function loading(wasm) {
  let started;
  const module = {
    ready: false,

    /** Loads what `source` gives: a URL, a response, bytes, or a compiled module. */
    load: (source) => (started ??= begin(source)),

    /** The result of `work` with the module; its errors get their classes. */
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
      const why = forbidden()
        ? "the page's policy forbids it: add 'wasm-unsafe-eval' to script-src"
        : (cause?.message ?? cause);
      throw failure("init", `the WebAssembly module did not load: ${why}`, { cause });
    }
  }

  return module;
}

/** Whether even the smallest module cannot be compiled. */
function forbidden() {
  try {
    return !new WebAssembly.Module(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0));
  } catch {
    // Lockdown modes have no WebAssembly at all, as the cause says.
    return typeof WebAssembly === "object";
  }
}

async function instantiate(wasm, source) {
  if (typeof source === "string" || source instanceof URL || source instanceof Request)
    source = await reach("init", source, {}, 60_000, compiled);
  else if (source instanceof Response) source = await compiled(source);
  const made = await WebAssembly.instantiate(source, { "./ldp_pca_bg.js": wasm.imports });
  const { exports } = made.instance ?? made;
  wasm.imports.__wbg_set_wasm(exports);
  exports.__wbindgen_start();
}

async function compiled(response) {
  const { headers, ok, status, url } = response;
  if (!ok) throw failure("init", `the answer for ${url} is ${status}`);
  const type = headers.get("content-type");
  // Servers that do not know the type are common; compiling on the way is for those that do.
  if (/^application\/wasm\b/i.test(type)) return WebAssembly.compileStreaming(response);
  const bytes = await response.arrayBuffer();
  const start = new TextDecoder().decode(bytes.slice(0, 15));
  if (start.startsWith("\0asm")) return bytes;
  throw failure("init", `${url} is ${type} that begins with ${JSON.stringify(start)}, not WebAssembly`);
}
