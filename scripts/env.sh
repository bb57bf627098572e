# shellcheck shell=bash
# Sourced by the other scripts. The project's own tools come first on PATH, wasm-opt above all: wasm-pack takes the
# first one it finds, and an old one breaks the module without saying so.
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT" || exit
export PATH="$ROOT/node_modules/.bin:$ROOT/.tools/bin:$PATH"

target_directory() {
    cargo metadata --format-version 1 --no-deps | sed -E 's/.*"target_directory":"([^"]*)".*/\1/'
}
