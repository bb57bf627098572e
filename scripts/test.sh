#!/usr/bin/env bash
# Runs tests and checks, in lanes beside each other: what browsers and bundlers run, Python's, and the rest. Each leaves
# a core idle for long. Cheap checks come first. Stops at the first failure.
#
# usage: scripts/test.sh [test|check|native|wasm|browser|consumers|python|spark|spark3|quick]...
#   Two rings. The first is `make test`, the second `make check`; a change lands when both have passed (the default).
#   test       does it work: every product's contract, in Rust, Node, Chromium and Python
#   check      may it land: lints, docs, dependencies, laws, literature, other browsers, consumers, siege, Spark
#   Parts of both:
#   native     format, lints, docs, Rust tests and doctests
#   wasm       repository rules, lints for wasm, Rust tests in a headless Chromium
#   browser    the wasm builds, types, JavaScript tests in Node, the page, tests of both in real browsers
#   consumers  the packed package in bundlers, browsers and other runtimes
#   python     the formats in a second implementation; the wheel: lints, types, tests
#   spark      the wheel in Spark 4, on executors in processes of their own; spark3 the same in Spark 3.5
#   quick      the inner ring: format, lints, the library's unit tests and vectors
#   SKIP_SPARK=1 leaves Spark out of `check`.
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"

WASM=wasm32-unknown-unknown
GROUP_NAMES="test check native wasm browser consumers python spark spark3 quick"

# Of Python, what tests the guide and the types, and no product.
PYTHON_CHECKS=(python/tests/test_guide.py python/tests/test_typing.py)
# Of Chromium's, the methods of other papers on the page, and whatever can go wrong on the way to an aggregator.
CHROMIUM_CHECKS=(tests/browser/page-methods.test.js tests/browser/visits.test.js)
# What runs in other browsers than Chromium too.
OTHER_BROWSERS=(collect consent-dialog every-record ledger package page-firefox page-own visits worker)

main() {
    local group
    groups=" ${*:-test check} "
    for group in $groups; do
        if [[ " $GROUP_NAMES " != *" $group "* ]]; then
            echo "unknown group '$group': use ${GROUP_NAMES// /, }" >&2
            exit 2
        fi
    done

    # What is compiled once gains nothing from notes for the next time; who changes code and tests it again does.
    case $groups in *" quick "*) ;; *) export CARGO_INCREMENTAL=${CARGO_INCREMENTAL:-0} ;; esac
    trap ended EXIT
    rm -rf "$STATE"
    mkdir -p "$STATE"
    step "test check native quick" "tools" scripts/setup.sh native
    # Types of the Python package are checked by a package of npm.
    step "test check wasm browser consumers python" "tools for WebAssembly" scripts/setup.sh page
    beside web
    beside python
    rust
    passed=true
}

web() {
    # shellcheck disable=SC2046 # a list of words
    step "test check wasm browser consumers" "browsers and bundlers" scripts/setup.sh $(web_parts)
    step "test check browser consumers" "wasm builds" scripts/build-wasm.sh
    # What follows them waits until the Rust tests are compiled, for the command line.
    step "test wasm" "Rust tests in the browser" rust_tests_in_browser
    step "test check browser" "page" npm run --silent build:page
    step "test browser" "JavaScript tests in Node" node_tests tests/js/*.test.js
    step "test browser" "JavaScript tests in Chromium" tests_in_chromium
    step "check browser" "the rest of Chromium's tests" in_chromium "${CHROMIUM_CHECKS[@]}"
    step "check browser" "types of the npm package" npm run --silent test:types
    step "check browser" "JavaScript tests in Firefox and WebKit" tests_in_other_browsers
    step "check consumers" "the packed package" node_tests tests/consumers/*.test.js
    step "check wasm" "a host without JavaScript" node_tests tests/hosts/*.test.js
}

python() {
    # shellcheck disable=SC2046 # a list of words
    step "test check python spark spark3" "Python's packages" scripts/setup.sh $(python_parts)
    step "check python" "lints for Python" lints_for_python
    step "test python" "a second implementation of the formats" python3 tests/independent/test_format.py
    step "test check python spark spark3" "the wheel" scripts/build-wheel.sh dev
    step "test python" "Python tests" python_tests python -m "not sampling" python/tests \
        --ignore python/tests/spark "${PYTHON_CHECKS[@]/#/--ignore=}"
    step "check python" "Python tests with large samples" python_tests python -m sampling python/tests \
        --ignore python/tests/spark "${PYTHON_CHECKS[@]/#/--ignore=}"
    step "check python" "the guide and the types of Python" python_tests python "${PYTHON_CHECKS[@]}"
    step "check python" "the site of the documents" scripts/docs.sh --documents
    step "$(unless_skipped) spark" "tests in Spark 4" python_tests spark4 python/tests/spark
    step spark3 "tests in Spark 3.5" python_tests spark3 python/tests/spark
}

rust() {
    step "check native quick" "format" cargo fmt --all --check
    step "check wasm quick" "repository rules" node scripts/rules.js
    # With all that the default builds leave out.
    step "check native quick" "lints" cargo clippy --workspace --exclude ldp-pca-python --all-targets \
        --features ldp-pca-server/postgres,ldp-pca-server/tls,ldp-pca-studies/tls -- -D warnings
    step "check native" "lints of what the demo builds" \
        cargo clippy --package ldp-pca-cli --no-default-features -- -D warnings
    step "check wasm" "public items" public_items
    # Benches and the other tests are native: their development dependencies do not exist for wasm.
    step "check wasm" "lints for wasm" \
        cargo clippy --package ldp-pca --target $WASM --lib --test wasm --features client -- -D warnings
    step "check wasm" "lints for the lab" lints_for_the_lab
    step "check native" "features inert off their target" dependency_trees
    step "check native" "dependencies" dependencies
    step "check native" "docs" env RUSTDOCFLAGS="-D warnings" cargo doc "${CRATES[@]}" --no-deps
    step "check wasm" "docs for wasm" env RUSTDOCFLAGS="-D warnings" cargo doc --package ldp-pca --package ldp-pca-lab \
        --features ldp-pca/client,ldp-pca-lab/lab --no-deps --lib --target $WASM
    step quick "unit tests and vectors" cargo nextest run --profile without-laws --package fantope --package ldp-pca \
        --package ldp-pca-simulation -E 'kind(lib) | test(/^vectors::/)'
    # The methods of other papers are no product.
    # More at a time than cores: many of them wait for a server.
    step "test native" "Rust tests" cargo nextest run --profile without-laws --test-threads 4 "${CRATES[@]}" \
        -E 'default() - package(ldp-pca-literature) - package(ldp-pca-research)'
    step "check native" "tests of laws and of the literature" cargo nextest run --profile without-laws "${CRATES[@]}" \
        --ignore-default-filter -E 'package(ldp-pca-literature) + package(ldp-pca-research) + not default()'
    step "check native" "doctests" cargo test "${CRATES[@]}" --doc
    step "check native" "siege" scripts/siege.sh --short
    step any "Python's lane" lane_ended python
    step any "the lane of browsers" lane_ended web
}

# What a page loads in other modules than the client's.
lints_for_the_lab() {
    local features
    # And all as one, as the demo builds them.
    for features in lab methods records waves lab,methods,records,waves; do
        cargo clippy --package ldp-pca-lab --target $WASM --features "$features" -- -D warnings
    done
}

# What the setup installs for the groups that were asked for.
web_parts() {
    case $groups in *" check "*) echo consumers ;; *" test "*) echo wasm ;; esac
    asked wasm browser consumers
}

python_parts() {
    case $groups in *" check "* | *" test "* | *" python "*) echo python ;; esac
    case $groups in
        *" spark "*) echo spark ;;
        *" check "*) if [ -n "$(unless_skipped)" ]; then echo spark; fi ;;
    esac
    asked spark3
}

unless_skipped() { if [ "${SKIP_SPARK:-}" != 1 ]; then echo check; fi; }

# Those of the groups that were asked for.
asked() {
    local group
    for group in "$@"; do
        case $groups in *" $group "*) echo "$group" ;; esac
    done
}

# beside LANE: the function of that name, in a process group of its own, so that all that it started can be ended.
beside() {
    set -m
    (lane=$1 lanes=() && "$1") >"$STATE/$1.log" 2>&1 </dev/null &
    lanes[$1]=$!
    set +m
}

# lane_ended LANE: waits for it, and shows its output.
lane_ended() {
    local process=${lanes[$1]:-} status=0
    if [ -z "$process" ]; then return; fi
    wait "$process" || status=$?
    unset "lanes[$1]"
    cat "$STATE/$1.log"
    return $status
}

# A file that hangs fails, with its name. Three at a time: most of them wait for a browser or a server.
node_tests() {
    local folder
    build_as_tested ldp-pca ldp-pca-research
    folder=$(target_directory)/debug
    LDP_PCA_BIN=$folder/ldp-pca LDP_PCA_RESEARCH_BIN=$folder/ldp-pca-research \
        node --test --test-concurrency=3 --test-timeout=1200000 --test-reporter=spec "$@"
}

tests_in_chromium() {
    local other files
    files=" $(echo tests/browser/*.test.js) "
    for other in tests/browser/page-firefox.test.js "${CHROMIUM_CHECKS[@]}"; do files=${files/" $other "/ }; done
    # shellcheck disable=SC2086 # a list of words
    in_chromium $files
}

in_chromium() {
    LDP_PCA_BROWSERS=Chromium node_tests "$@"
}

tests_in_other_browsers() {
    local files=("${OTHER_BROWSERS[@]/#/tests/browser/}")
    LDP_PCA_BROWSERS=Firefox,WebKit node_tests "${files[@]/%/.test.js}"
}

lints_for_python() {
    local bin=$ROOT/.tools/python/bin
    cargo clippy --package ldp-pca-python -- -D warnings
    "$bin/ruff" check python
    "$bin/ruff" format --check python
    # By the same rules; patterns of paths in them are relative to their own folder.
    "$bin/ruff" check --config python/pyproject.toml scripts/site
    "$bin/ruff" format --config python/pyproject.toml --check scripts/site
}

# python_tests ENVIRONMENT argument...: pytest in .tools/ENVIRONMENT with the wheel installed, as users have it.
python_tests() {
    local bin=$ROOT/.tools/$1/bin
    shift
    build_as_tested ldp-pca
    "$bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall python/dist/*.whl
    LDP_PCA_BIN=$(target_directory)/debug/ldp-pca LDP_PCA_WHEEL=$(echo "$ROOT"/python/dist/*.whl) \
        "$bin/python" -m pytest --config-file python/pyproject.toml "$@"
}

# The library comes without a network stack and a command line, and without the JavaScript bindings where it is native.
dependency_trees() {
    absent "$WASM" '^(tokio|axum|hyper|clap|ureq|csv|npyz|svg) '
    absent "$(host)" '^(tokio|axum|hyper|rusqlite|clap|ureq|csv|npyz|svg|wasm-bindgen|js-sys|web-sys) '
}

# deny.toml. Advisories come over the network; without it the rest is still checked.
dependencies() {
    cargo deny --locked --workspace check bans licenses sources
    if cargo deny --workspace fetch db 2>/dev/null; then
        cargo deny --locked --workspace check advisories
    else
        echo "skipped: the database of advisories (RustSec) cannot be fetched from here"
    fi
}

# absent TARGET PATTERN: no package of the tree for TARGET matches.
absent() {
    local tree found
    tree=$(cargo tree --locked --package ldp-pca --edges normal --prefix none --target "$1")
    found=$(grep -E "$2" <<<"$tree" | sort -u || true)
    if [ -n "$found" ]; then
        printf 'the dependency tree for %s has:\n%s\n' "$1" "$found" >&2
        return 1
    fi
    printf '%s: %d packages, none of %s\n' "$1" "$(sort -u <<<"$tree" | wc -l)" "$2"
}

# The items that the library offers, as its documentation counts them. That output of rustdoc is not stable yet. The
# variable that allows it is only for rustdoc: build scripts that saw it would rebuild all dependencies.
public_items() {
    local rustdoc=$ROOT/.tools/rustdoc-json
    printf '#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc "$@"\n' >"$rustdoc"
    chmod +x "$rustdoc"
    # Of all crates, as the documentation after it: what both need is compiled once.
    RUSTDOC=$rustdoc RUSTDOCFLAGS="-Z unstable-options --output-format json" cargo doc --quiet "${CRATES[@]}" --no-deps
    node scripts/public-items.js "$(target_directory)/doc/ldp_pca.json"
}

rust_tests_in_browser() {
    local log=$STATE/wasm.log
    # The usual 20 and 5 seconds are too few where the other lanes have all cores.
    export WASM_BINDGEN_TEST_TIMEOUT=150 WASM_BINDGEN_TEST_DRIVER_TIMEOUT=60
    # The same browser as the JavaScript tests use, wherever it is.
    export WASM_BINDGEN_TEST_WEBDRIVER_JSON="$ROOT/.tools/webdriver.json"
    node tests/browser/chromium.js --webdriver >"$WASM_BINDGEN_TEST_WEBDRIVER_JSON"
    if wasm_pack_test | tee "$log"; then return; fi
    # Now and then a driver never answers the request for a session. A test that has begun is never tried again.
    if grep -q "^running [0-9]* test" "$log"; then return 1; fi
    echo "the browser did not start; it is started once more"
    wasm_pack_test
}

# As the modules are compiled that are shipped: what these need of others is there already.
wasm_pack_test() {
    wasm-pack test --mode no-install --headless --chrome . --features js --test wasm --profile wasm \
        --config "$(unplaced $WASM)" 2>&1
}

# step "GROUP..." "heading" command...: runs the command if one of its groups was asked for.
step() {
    local group asked=false start=$SECONDS used
    for group in $1; do
        case "$groups any " in *" $group "*) asked=true ;; esac
    done
    current=$2
    shift 2
    $asked || return 0
    # Where another lane has failed, this one need not go on.
    for group in "${!lanes[@]}"; do
        kill -0 "${lanes[$group]}" 2>/dev/null || lane_ended "$group"
    done
    printf '\n=== %s\n' "$current"
    echo "$current" >"$STATE/$lane.current"
    used=0
    if [ "$1" = lane_ended ]; then
        # It has counted its own steps.
        "$@"
    else
        # A shell of its own counts this command alone: this one also counts lanes, whenever they happen to end.
        (
            "$@"
            times >"$STATE/$lane.used"
        )
        used=$(awk -F '[ms ]+' '{ sum += 60 * ($1 + $3) + $2 + $4 } END { printf "%d", sum }' "$STATE/$lane.used")
    fi
    printf '%6d s %6d s  %s\n' $((SECONDS - start)) "$used" "$current" >>"$STATE/$lane.times"
    rm "$STATE/$lane.current"
}

# What failed stands above one line. The logs of other lanes and the times would push it out of sight.
ended() {
    local name
    for name in "${!lanes[@]}"; do
        # One that still runs has not failed.
        if kill -- "-${lanes[$name]}" 2>/dev/null; then
            wait "${lanes[$name]}" || true
            rm -f "$STATE/$name.current"
        fi
    done
    if $passed; then
        name=$TIMES/$(tr -s ' ' - <<<"$groups" | sed 's/^-//; s/-$//')
        mkdir -p "$TIMES"
        awk -v seconds=$SECONDS -v what="${name##*/}" '
            { print; used += $3 }
            END { printf "%6d s %6d s  in all of %s: everything passed\n", seconds, used, what }
        ' "$STATE"/*.times >"$name"
        printf '\n=== summary: time passed, processor time\n'
        cat "$name"
    else
        printf '\n=== FAILED at "%s" after %d s (times, and logs of what ran beside it, are in %s)\n' \
            "$(cat "$STATE"/*.current | paste -sd,)" $SECONDS "$STATE"
    fi
}

STATE=.tools/test
# The table of the last run of each kind that passed.
TIMES=.tools/times
lane=rust
declare -A lanes=()
passed=false
current=
main "$@"
