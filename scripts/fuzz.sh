#!/usr/bin/env bash
# Fuzzes every target of fuzz/, one after the other. Stops at the first crash; its input stays in fuzz/artifacts.
#
# usage: scripts/fuzz.sh [SECONDS]   (60 per target by default; a minute more for the first build)
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"

seconds=${1:-60}

if ! cargo +nightly --version >/dev/null 2>&1; then
    echo "fuzzing needs a nightly Rust, for the sanitizers: rustup toolchain install nightly --profile minimal" >&2
    exit 1
fi
if ! cargo fuzz --version >/dev/null 2>&1; then
    cargo install cargo-fuzz --locked --version 0.13.2
fi

# SQLite's one file names a table twice, each for itself: no two definitions of one thing.
export ASAN_OPTIONS=detect_odr_violation=0

cd fuzz
for target in $(cargo +nightly fuzz list --fuzz-dir .); do
    printf '\n=== %s, %s s\n' "$target" "$seconds"
    mkdir -p "corpus/$target"
    # Findings go to corpus/, which git ignores; seeds/ is only read.
    cargo +nightly fuzz run --fuzz-dir . "$target" "corpus/$target" "seeds/$target" -- \
        -max_total_time="$seconds" -max_len=4096 -timeout=10 -print_final_stats=1
done
