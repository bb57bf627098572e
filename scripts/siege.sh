#!/usr/bin/env bash
# Attacks an aggregator through its network and its storage: hostile connections, kills of it and of the commands on its
# folder, failing and full disks, flipped bits, and, where PostgreSQL is installed, a database that loses data. Takes a
# quarter of an hour on two cores when everything is compiled.
#
# usage: scripts/siege.sh [--short]     (a minute of the hostile connections, on the build of the tests)
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"

if [ "${1:-}" = --short ]; then
    build_as_tested ldp-pca siege
    exec "$(target_directory)/debug/siege" --short
fi

# TLS, so that unfinished handshakes are among the attacks.
cargo build --release --package ldp-pca-cli --package ldp-pca-studies --features tls --bin ldp-pca --bin siege
"$(target_directory)/release/siege" --seconds 5
cargo test --package ldp-pca-server --features postgres --lib -- store
cargo test --package ldp-pca-server --features postgres --lib -- --ignored --nocapture ten_thousand_flips
LDP_PCA_KILLS=100 cargo test --package ldp-pca-cli --features postgres --test suite -- --nocapture kill
