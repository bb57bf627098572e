#!/usr/bin/env bash
# Builds the library for browsers into pkg/wasm and prints its size. Does nothing more when pkg/wasm is up to date.
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"

out=pkg/wasm
features="--no-default-features --features js"
stamp=.tools/pkg-wasm.stamp

# Whether the code changed is cargo's to say: this is the very build that wasm-pack runs, so nothing is compiled twice.
# shellcheck disable=SC2086 # a list of words
cargo build --quiet --lib --release --target wasm32-unknown-unknown $features
target=$(cargo metadata --format-version 1 --no-deps | sed -E 's/.*"target_directory":"([^"]*)".*/\1/')

# What pkg/wasm was made from, and what it held when it was made.
state() {
    cksum "$target/wasm32-unknown-unknown/release/ldp_pca.wasm" Cargo.toml Cargo.lock package-lock.json scripts/build-wasm.sh scripts/inline-wasm.js
    find $out -type f -exec cksum {} + | LC_ALL=C sort
}

if [ ! -d $out ] || [ "$(state)" != "$(cat $stamp 2>/dev/null)" ]; then
    rm -rf $out
    # no-install: a missing tool is scripts/setup.sh's to add, at its pinned version.
    # shellcheck disable=SC2086
    wasm-pack --log-level error build --mode no-install --target web --release --no-gitignore --no-pack \
        --out-dir $out --out-name ldp_pca . $features
    node scripts/inline-wasm.js $out/ldp_pca_bg.wasm
    mkdir -p "$(dirname $stamp)"
    state >$stamp
fi

node --input-type=module - $out/ldp_pca_bg.wasm <<'JS'
import { readFileSync } from "node:fs";
import { brotliCompressSync, gzipSync } from "node:zlib";

const wasm = readFileSync(process.argv[2]);
const kb = (bytes) => `${(bytes.length / 1000).toFixed(1)} kB`;
console.log(`${process.argv[2]}: ${kb(wasm)}, gzip ${kb(gzipSync(wasm, { level: 9 }))}, brotli ${kb(brotliCompressSync(wasm))}`);
JS
