#!/usr/bin/env bash
# Builds the wheel of the Python package into python/dist, one for every Python from 3.9 on, and prints its size.
#
# usage: scripts/build-wheel.sh
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"

rm -rf python/dist
"$ROOT/.tools/python/bin/maturin" build --quiet --release --locked --manifest-path python/Cargo.toml --out python/dist
for wheel in python/dist/*.whl; do
    printf '%s: %s kB\n' "$wheel" "$(($(wc -c <"$wheel") / 1000))"
done
