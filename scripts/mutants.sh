#!/usr/bin/env bash
# Changes what differs from main in small ways, one at a time, and lists the changes that no unit test notices:
# cargo-mutants, as .cargo/mutants.toml configures it. Files that git does not know yet do not count.
#
# usage: scripts/mutants.sh [BASE]   (a branch or a commit in place of main)
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"

scripts/setup.sh mutants
diff=$(mktemp)
trap 'rm -f "$diff"' EXIT
git diff --no-ext-diff --dst-prefix=b/ "${1:-main}" -- '*.rs' >"$diff"
cargo mutants --workspace --in-diff "$diff"
