#!/usr/bin/env bash
# Builds the wheel of the Python package into python/dist, one for every Python from 3.9 on, and prints its size.
#
# usage: scripts/build-wheel.sh [PROFILE]   (of Cargo: release by default; dev shares what the tests compile)
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"

profile=(--profile "${1:-release}")
# The folders of this machine must not be in what is published, and a wheel must not depend on them.
if [ $# = 0 ]; then profile+=(--config "$(unplaced "$(host)")"); fi
rm -rf python/dist
"$ROOT/.tools/python/bin/maturin" build --quiet "${profile[@]}" --locked --manifest-path python/Cargo.toml \
    --out python/dist
for wheel in python/dist/*.whl; do
    printf '%s: %s kB\n' "$wheel" "$(($(wc -c <"$wheel") / 1000))"
done
