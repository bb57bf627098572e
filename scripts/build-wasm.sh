#!/usr/bin/env bash
# Builds the library's modules for browsers into pkg/wasm and prints their sizes. The client randomizes records, the lab
# has all later steps, methods has the literature's methods that are too large for the lab. Records and waves are for
# the demo page's files and its curve of two waves, and not in the package. Modules that are up to date are not built
# again.
#
# usage: scripts/build-wasm.sh [--quick] [client|lab|methods|records|waves]...   (all by default)
#   --quick   there sooner, but larger, for the demo: less work on the finished modules, and all but the client are one
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"

TARGET=wasm32-unknown-unknown
target=$(target_directory)

quick=false

main() {
    local build builds together=false
    if [ "${1:-}" = --quick ]; then quick=true && shift; fi
    builds=${*:-client lab methods records waves}
    # Compiled beside the first module, which leaves a core idle for long; what runs it waits for it.
    cargo build --quiet --locked --profile demo --package ldp-pca-bindgen &
    for build in $builds; do
        case $build in
            client) build client ldp-pca ;;
            lab | methods | records | waves)
                if $quick; then together=true; else build "$build" ldp-pca-lab; fi
                ;;
            *) echo "unknown build '$build': use client, lab, methods, records, waves" >&2 && exit 2 ;;
        esac
    done
    if $together; then build_together; fi
    wait
    wc -c pkg/wasm/*/ldp_pca_bg.wasm
}

# One module that serves as all but the client: most of the code is common to them.
build_together() {
    local other
    build lab ldp-pca-lab methods,records,waves
    for other in methods records waves; do
        rm -rf "pkg/wasm/$other" ".tools/pkg-wasm-$other.stamp"
        cp -r pkg/wasm/lab "pkg/wasm/$other"
    done
}

# build NAME CRATE [FEATURES]: the crate with the feature of that name, and with others. The builds of a crate overwrite
# its module, one by one.
build() {
    local imports module out=pkg/wasm/$1 stamp=.tools/pkg-wasm-$1.stamp settings=() inlining=()
    if [ "$1" = client ]; then
        # A report takes 1.4 times as long at level "s"; level 3 is no faster. What it needs of others is built for all.
        settings=(--config profile.wasm.package.ldp-pca.opt-level=2)
        # Less inlining than the level has, and loops of unknown length as they are written: 3.4 kB less, at the same
        # speed.
        inlining=(-- -Cllvm-args=--inline-threshold=100 -Cllvm-args=--unroll-runtime=false)
    fi
    module=$target/$TARGET/wasm/${2//-/_}.wasm
    if unchanged "$out" "$stamp"; then return; fi
    # A source that is changed from here on is newer than what it was compiled from.
    mkdir -p .tools
    touch "$stamp.begun"
    # The crate type is asked for here alone: native builds need not wait for its link.
    cargo rustc --quiet --locked --package "$2" --lib --crate-type cdylib --profile wasm --target $TARGET \
        --features "$1,${3:-}" --config "$(unplaced $TARGET)" "${settings[@]}" "${inlining[@]}"
    sed 's/^[^:]*: //' "${module%.wasm}.d" >"$stamp.sources"
    if [ -d "$out" ] && [ "$(state "$out" && cksum "$module")" = "$(cat "$stamp" 2>/dev/null)" ]; then
        touch -r "$stamp.begun" "$stamp"
        return
    fi
    # The two halves that this target makes know nothing of where they are: pkg/instantiate.js brings them together.
    rm -rf "$out"
    # The JavaScript that goes with the module. In a profile that no test waits for.
    cargo run --quiet --locked --profile demo --package ldp-pca-bindgen -- "$module" "$out"
    mv "$out/ldp_pca_bg.js" "$out/ldp_pca.js"
    # Every host that the package runs on has a FinalizationRegistry: pkg/worker.js asks no host whether it does.
    sed -zi "s/(typeof FinalizationRegistry === 'undefined')[^:]*: () => {}[^:]*: () => {} }[^:]*: //g" \
        "$out/ldp_pca.js"
    # Pages see the classes around these alone, which have their own.
    sed -i '/^if (Symbol.dispose) /d' "$out/ldp_pca.js"
    # The module's imports, as an object: bundlers add more where the file itself has to be one.
    imports=$(sed -n 's/^export function \(__wb[A-Za-z0-9_]*\)(.*/\1/p' "$out/ldp_pca.js" | paste -sd,)
    echo "export const imports = { $imports };" >>"$out/ldp_pca.js"
    # What the compiler says it used; -Oz costs no speed here and saves a few hundred bytes. Merging functions would be
    # in the way of the client, whose speed counts, and saves the others a few hundred more, and so does a second time.
    local wasm=$out/ldp_pca_bg.wasm features=(--enable-bulk-memory --enable-multivalue --enable-mutable-globals
        --enable-nontrapping-float-to-int --enable-reference-types --enable-sign-ext --enable-simd)
    local passes=(--merge-similar-functions --gufa-optimizing -Oz)
    if [ "$1" = client ]; then passes=(-Oz --converge); fi
    if $quick; then passes=(-O1); fi
    wasm-opt "${passes[@]}" "${features[@]}" --strip-debug --strip-producers --strip-target-features \
        "$wasm" --output "$wasm"
    if [ "$1" != client ] && ! $quick; then wasm-opt -Oz "${features[@]}" "$wasm" --output "$wasm"; fi
    # As JavaScript beside it, for pages that load no other file.
    if [ "$1" = client ]; then echo "export default \"$(base64 <"$wasm" | tr -d "\n")\";" >"$wasm.js"; fi
    (state "$out" && cksum "$module") >"$stamp"
    touch -r "$stamp.begun" "$stamp"
}

# unchanged OUT STAMP: nothing that the compiler read, or is told, is newer than the module. Cargo alone would link it
# again: another build of the same crate is at its place.
unchanged() {
    local newer='find "$@" Cargo.toml Cargo.lock ./crates/*/Cargo.toml ./research/*/Cargo.toml -newer "$0" 2>&1'
    [ -d "$1" ] && [ -f "$2.sources" ] && [ "$(state "$1")" = "$(head -n -1 "$2")" ] &&
        [ -z "$(xargs sh -c "$newer" "$2" <"$2.sources")" ]
}

# The inputs of OUT, and its content when it was made.
state() {
    echo "quick: $quick"
    rustc -vV
    cksum package-lock.json scripts/build-wasm.sh scripts/env.sh
    grep -A 1 '^name = "wasm-bindgen-cli-support"' Cargo.lock
    find "$1" -type f -exec cksum {} + | LC_ALL=C sort
}

main "$@"
