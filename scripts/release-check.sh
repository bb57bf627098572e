#!/usr/bin/env bash
# Checks for a release beyond `make test` and `make check`: every package can be published as it is committed. It
# publishes nothing. See RELEASING.md.
#
# usage: scripts/release-check.sh [versions|msrv|crates|spark3|npm|wheel|reproducible|api]...   (all by default)
#   versions      Cargo.toml, pkg/package.json and CHANGELOG.md state the same version, and so does the tag, if any
#   msrv          the oldest supported Rust compiles the workspace, and the modules for web pages
#   crates        each crate compiles from its own package, in the order in which they are published
#   spark3        the wheel works in Spark 3.5
#   npm           npm accepts the package
#   wheel         the wheel's name, its files and its metadata
#   reproducible  two clean builds of the client's module, in different folders, have the same bytes
#   api           changes of the library's interface since the last tag
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"

SEMVER_CHECKS_VERSION=0.51.0
WASM=wasm32-unknown-unknown

PARTS=(versions msrv crates spark3 npm wheel reproducible api)

main() {
    local part parts=("$@")
    if [ $# = 0 ]; then parts=("${PARTS[@]}"); fi
    for part in "${parts[@]}"; do
        [[ " ${PARTS[*]} " = *" $part "* ]] || fail "unknown part '$part': use ${PARTS[*]}"
    done
    scripts/setup.sh page release
    for part in "${parts[@]}"; do
        printf '\n=== %s\n' "$part"
        "check_$part"
    done
    printf '\nrelease-check: %s passed%s\n' "${parts[*]}" "$skipped"
}

check_versions() {
    local version tag
    version=$(cargo_version)
    grep -qF "\"version\": \"$version\"" pkg/package.json || fail "pkg/package.json has another version than $version"
    grep -qE "^## $version - (unreleased|[0-9]{4}-[0-9]{2}-[0-9]{2})$" CHANGELOG.md ||
        fail "CHANGELOG.md has no heading '## $version - DATE'"
    tag=$(git tag --points-at HEAD)
    [ -z "$tag" ] || [ "$tag" = "v$version" ] || fail "the tag $tag is not v$version"
    if [ -n "$tag" ] && grep -q "^## $version - unreleased$" CHANGELOG.md; then
        fail "CHANGELOG.md calls $version unreleased, and the tag $tag releases it"
    fi
    echo "version $version everywhere"
}

check_spark3() { scripts/test.sh spark3; }

check_msrv() {
    local oldest build
    oldest=$(sed -nE 's/^rust-version = "([0-9.]+)"$/\1/p' Cargo.toml)
    if ! cargo "+$oldest" --version >/dev/null 2>&1; then
        skip "Rust $oldest is not installed (rustup toolchain install $oldest --profile minimal)"
        return
    fi
    cargo "+$oldest" check --locked --workspace --features ldp-pca-cli/postgres,ldp-pca-cli/tls,ldp-pca-studies/tls
    if ! [ -d "$(rustc "+$oldest" --print target-libdir --target $WASM)" ]; then
        skip "Rust $oldest has no $WASM (rustup target add $WASM --toolchain $oldest)"
        return
    fi
    cargo "+$oldest" check --locked --package ldp-pca --target $WASM --features client
    for build in lab methods records; do
        cargo "+$oldest" check --locked --package ldp-pca-lab --target $WASM --features $build
    done
}

# Every member without `publish = false`. Cargo orders them, and compiles each against the packages of the others.
check_crates() {
    cargo publish --dry-run --locked --workspace
    ls -l "$(target_directory)"/package/*.crate
}

check_npm() {
    scripts/build-wasm.sh
    npm publish --dry-run ./pkg
}

check_wheel() {
    local bin=.tools/release/bin
    scripts/build-wheel.sh
    $bin/maturin sdist --manifest-path python/Cargo.toml --out python/dist
    $bin/twine check --strict python/dist/*
    $bin/python scripts/check_wheel.py "$(cargo_version)" python/dist
}

check_reproducible() {
    local folder near far
    folder=$(mktemp -d)
    # shellcheck disable=SC2064 # the folder of now
    trap "rm -rf '$folder'" EXIT
    near=$folder/a far=$folder/a-folder/whose-name/is-longer
    for clone in "$near" "$far"; do
        git clone --quiet "$ROOT" "$clone"
        mkdir -p "$clone/.tools"
        ln -s "$ROOT/.tools/bin" "$clone/.tools/bin"
        ln -s "$ROOT/node_modules" "$clone/node_modules"
        (unset CARGO_TARGET_DIR && "$clone/scripts/build-wasm.sh" client)
    done
    diff --recursive "$near/pkg/wasm" "$far/pkg/wasm"
    (cd "$near/pkg/wasm" && find . -type f -exec sha256sum {} +)
    echo "the client's module has the same bytes from two folders"
}

check_api() {
    local baseline
    if ! baseline=$(git describe --tags --abbrev=0 --match 'v*' HEAD^ 2>/dev/null); then
        skip "semver: no earlier version is tagged, so there is nothing to compare with"
        return
    fi
    # Built into .tools where it is not there.
    [[ "$(cargo-semver-checks --version 2>/dev/null)" = *" $SEMVER_CHECKS_VERSION" ]] ||
        cargo install cargo-semver-checks --version "=$SEMVER_CHECKS_VERSION" --locked --quiet --root .tools --force
    cargo semver-checks --baseline-rev "$baseline" --package fantope --package ldp-pca --package ldp-pca-page \
        --package ldp-pca-pictures --package ldp-pca-records --package ldp-pca-server --package ldp-pca-simulation
}

cargo_version() { sed -nE 's/^version = "([0-9.]+)"$/\1/p' Cargo.toml; }

skip() {
    echo "skipped: $1"
    skipped+=$'\n'"  skipped: $1"
}

fail() {
    echo "release-check: $1" >&2
    exit 1
}

skipped=
main "$@"
