#!/usr/bin/env bash
# Finds the faults that the tests do not notice. Changes the code in thousands of small ways, one at a time, and runs
# the tests that reach the change. mutants/equivalent.toml and tests/mutants/javascript.json list the changes that may
# survive, with the reason.
#
# usage: scripts/mutants.sh [javascript | rust [OPTION]... | faults [NAME]...]   (javascript and rust by default)
#   rust          the crate; options are those of mutants/ (--help lists them), above all:
#                 --file src/privacy   only in these files
#                 --in-diff FILE       only in the lines that a diff changes: git diff main >FILE
#                 --survivors          only those that were not caught the last time
#   javascript    the client's ledger, submission and worker
#   faults        the faults of tests/faults.toml, such as a careless maintainer might make
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"

CARGO_MUTANTS_VERSION=27.1.0

main() {
    case ${1:-} in
        '') rust && javascript ;;
        rust) shift && rust "$@" ;;
        javascript) shift && javascript "$@" ;;
        faults) shift && switched --faults "$@" ;;
        *) echo "unknown part '$1': use rust, javascript, faults" >&2 && exit 2 ;;
    esac
}

rust() {
    if [ "$(cargo mutants --version 2>/dev/null)" != "cargo-mutants $CARGO_MUTANTS_VERSION" ]; then
        cargo install cargo-mutants --version "=$CARGO_MUTANTS_VERSION" --locked --root .tools --force
    fi
    switched "$@"
}

# The program that builds all of them once.
switched() {
    cargo run --quiet --release --manifest-path mutants/Cargo.toml \
        --target-dir "$(target_directory)/mutants/program" -- "$@"
}

javascript() {
    scripts/setup.sh page
    [ -e pkg/wasm ] || scripts/build-wasm.sh
    node scripts/mutants.js "$@"
}

main "$@"
