#!/usr/bin/env bash
# Writes python/requirements/*.txt from the .in files beside them: every package that they bring, with its version and
# the hashes of its files. pip installs nothing without the hashes.
#
# usage: scripts/lock-python.sh [--upgrade]   (--upgrade also renews what the .in files do not name)
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"

uv_found
cd python/requirements
for listed in *.in; do
    "$(uv_path)" pip compile --quiet --universal --python-version 3.11 --generate-hashes \
        --no-header --no-annotate "$@" "$listed" --output-file "${listed%.in}.txt"
done
