// From what a module can come as to a module that runs.

/** Gives `glue`, the generated half in JavaScript, the WebAssembly half: a URL, a response, bytes, or a compiled module. */
export async function instantiate(glue, input) {
  let source = await input;
  if (typeof source === "string" || source instanceof URL || source instanceof Request) source = await fetch(source);
  if (source instanceof Response) {
    const { headers, ok, status, url } = source;
    if (!ok) throw new Error(`the answer for ${url} is ${status}`);
    // Servers that do not know the type are common; compiling on the way is for those that do.
    const known = /^application\/wasm\b/i.test(headers.get("content-type"));
    source = await (known ? WebAssembly.compileStreaming(source) : source.arrayBuffer());
  }
  const made = await WebAssembly.instantiate(source, { "./ldp_pca_bg.js": glue });
  const { exports } = made.instance ?? made;
  glue.__wbg_set_wasm(exports);
  exports.__wbindgen_start();
}
