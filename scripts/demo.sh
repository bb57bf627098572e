#!/usr/bin/env bash
# The demo: an aggregator, simulated users and the components of their reports, then a page for taking part. The command
# line is built first. The page is built while the demo runs, and the demo says when it is ready.
#
# usage: scripts/demo.sh [option of `ldp-pca demo`]...
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"

LOG=.tools/demo-page.log

main() {
    scripts/setup.sh cli
    # The readers of Parquet and Arrow take long to build, and only records of one's own need them.
    local features=(--no-default-features)
    case " $* " in *" --records"*) features=(--features parquet) ;; esac
    mkdir -p www/dist .tools
    : >"$LOG"
    local tools=
    if ! page_is_new; then
        # The previous page does not go with new modules.
        rm -f www/dist/index.html www/dist/index.html.gz
        step "its tools" scripts/setup.sh page &
        tools=$!
    fi
    cargo build --profile demo --package ldp-pca-cli "${features[@]}"
    if [ -n "$tools" ] && wait "$tools"; then
        page &
        # Ctrl-C reaches both. Where the demo ends otherwise, the build of the page ends with it.
        trap 'kill $! 2>/dev/null || true' EXIT
    fi
    "$(target_directory)/demo/ldp-pca" demo --www www/dist "$@"
}

# Whether the page was built from what is here.
page_is_new() {
    [ -f www/dist/index.html ] && [ -z "$(find Cargo.toml Cargo.lock package-lock.json src research/dps-pca/src \
        research/literature/src crates/fantope/src crates/lab/src crates/records/src crates/simulation/src \
        crates/bindgen/src pkg www scripts -newer www/dist/index.html -type f \
        -not -path 'www/dist/*' -not -path 'pkg/wasm/*' -print -quit)" ]
}

page() {
    step "the client, 1 of 2 modules" scripts/build-wasm.sh --quick client
    step "everything else, 2 of 2 modules" scripts/build-wasm.sh --quick lab
    step "its scripts" npm run --silent build:page
}

# step "what" command...: a line on a terminal when it starts, and the end of its output where it fails.
step() {
    local what=$1
    shift
    if [ -t 2 ]; then echo "page       building $what" >&2; fi
    nice -n 19 "$@" >>"$LOG" 2>&1 </dev/null && return
    printf 'page       NOT built: %s failed. The end of %s:\n' "$what" "$LOG" >&2
    tail -n 20 "$LOG" >&2
    exit 1
}

main "$@"
