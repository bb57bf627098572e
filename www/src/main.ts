import init, { version } from "../../pkg/wasm/ldp_pca.js";

async function main(): Promise<void> {
  await init();
  document.querySelector("#version")!.textContent = version();
}

void main();
