// Writes a WebAssembly module as JavaScript beside it: x_bg.wasm becomes x_bg.wasm.js, whose default export is its
// base64.
//
// usage: node scripts/inline-wasm.js FILE.wasm

import { readFileSync, writeFileSync } from "node:fs";

const [file] = process.argv.slice(2);
const base64 = readFileSync(file, "base64");
writeFileSync(`${file}.js`, `export default "${base64}";\n`);
