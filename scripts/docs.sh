#!/usr/bin/env bash
# Builds the site of the documents into target/site: docs/ with a search, the notebook, rust/ and typings/. A link to a
# document, a heading or a file that is not there fails.
#
# usage: scripts/docs.sh [--documents]   (only the documents and the typings, without those of the Rust crates)
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"

SITE=$(target_directory)/site

scripts/setup.sh docs
rm -rf "$SITE"
.tools/site/bin/sphinx-build --quiet --fail-on-warning --keep-going -c scripts/site . "$SITE"
# Pages name them in HTML of their own.
cp -r docs/pictures "$SITE/docs/"
echo '<!doctype html><meta http-equiv="refresh" content="0; url=docs/README.html">' >"$SITE/index.html"
scripts/site/node_modules/.bin/typedoc --options scripts/site/typedoc.json --out "$SITE/typings"
if [ "${1:-}" != --documents ]; then
    RUSTDOCFLAGS="-D warnings" cargo doc "${CRATES[@]}" --no-deps
    cp -r "$(target_directory)/doc" "$SITE/rust"
fi
echo "$SITE/index.html"
