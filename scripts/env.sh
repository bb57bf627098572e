# shellcheck shell=bash
# Sourced by the other scripts. The project's own tools come first on PATH, above all wasm-opt: wasm-pack takes the
# first one that it finds, and an old one breaks the module silently.
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT" || exit
export PATH="$ROOT/node_modules/.bin:$ROOT/.tools/bin:$PATH"
# Where tools are kept that are built from source: once for all clones.
TOOLS=${LDP_PCA_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/ldp-pca}

uv_path() { echo "$TOOLS/uv-$(sed -n 's/^uv==//p' "$ROOT/python/requirements/uv.in")/bin/uv"; }

# Installs it where it is missing, aside first: another part of the setup may be at it.
uv_found() {
    local home aside
    [ -x "$(uv_path)" ] && return
    home=$(dirname "$(dirname "$(uv_path)")")
    aside=$home.$BASHPID
    mkdir -p "$TOOLS"
    python3 -m venv "$aside" && "$aside/bin/python" -m pip install --quiet --disable-pip-version-check \
        --require-hashes --requirement "$ROOT/python/requirements/uv.txt" || return
    mv "$aside" "$home" 2>/dev/null || true
    rm -rf "$aside" "$home/${aside##*/}"
}

target_directory() {
    cargo metadata --format-version 1 --no-deps | sed -E 's/.*"target_directory":"([^"]*)".*/\1/'
}

# The crates with tests and pages of documentation in Rust, with all that the default builds leave out.
CRATES=(
    --package fantope --package ldp-pca --package ldp-pca-dps --package ldp-pca-literature
    --package ldp-pca-page --package ldp-pca-pictures --package ldp-pca-records --package ldp-pca-server
    --package ldp-pca-simulation --package ldp-pca-cli --package ldp-pca-research
    --features ldp-pca-cli/tls --features ldp-pca-cli/postgres
)

# build_as_tested PROGRAM...: from what the tests compiled. Naming a test, one that is empty here, turns on the features
# that tests ask of dependencies: without it dozens of crates would be compiled again, and with them the server.
build_as_tested() {
    cargo build --quiet "${CRATES[@]}" --package ldp-pca-studies "${@/#/--bin=}" --test wasm
}

host() { rustc -vV | sed -n 's/^host: //p'; }

# unplaced TARGET: Cargo's configuration for modules that are published. Messages of panics would contain the place of
# dependencies' sources on this machine.
unplaced() {
    local folder flags=
    for folder in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do
        flags+="'--remap-path-prefix=$folder=registry',"
    done
    echo "target.$1.rustflags=[$flags]"
}
