// Modules, the lab's and others: fetched and compiled once, for the page and all its workers.

import moduleUrl from "ldp-pca/ldp_pca_lab_bg.wasm?url";

import { yieldToMain } from "../scheduling.js";

/** Compiles away from the main thread while the module arrives. Rejects with a reason to show. */
export async function compile(url = moduleUrl): Promise<WebAssembly.Module> {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`the host answers ${answer.status} for the computing module`);
  // A host that does not know the type sends another one.
  const known = /^application\/wasm\b/i.test(answer.headers.get("content-type") ?? "");
  return known ? WebAssembly.compileStreaming(answer) : WebAssembly.compile(await answer.arrayBuffer());
}

/** The lab on this thread, for what takes microseconds. */
export async function start(module: Promise<WebAssembly.Module>): Promise<typeof import("./main-thread-lab.js")> {
  const lab = await import("./main-thread-lab.js");
  await lab.init(await module);
  await yieldToMain();
  return lab;
}

/** A module that is fetched and compiled once, on the first call; after a failure the next call tries again. */
export function compiledOnce(url: string): () => Promise<WebAssembly.Module> {
  let loading: Promise<WebAssembly.Module> | undefined;
  return async () => {
    try {
      return await (loading ??= compile(url));
    } catch (error) {
      loading = undefined;
      throw error;
    }
  };
}
