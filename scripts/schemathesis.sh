#!/usr/bin/env bash
# Property tests of the aggregator's interface against its own description (/openapi.json): no status 5xx, no
# undescribed answer, and no forbidden request accepted. Needs Python; installs schemathesis into .tools.
#
# usage: scripts/schemathesis.sh [EXAMPLES]   (per operation, 100 by default)
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"

TOKEN=schemathesis-0123456789abcdef0123456789
CHECKS=not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance
CHECKS+=,response_headers_conformance,unsupported_method,negative_data_rejection
EXAMPLES=${1:-100}

main() {
    scripts/setup.sh schemathesis
    build_as_tested ldp-pca
    folder=$(mktemp -d)
    trap stop EXIT
    start
    id=$(curl --silent --fail "$url/openapi.json" | python3 -c 'import json, sys
document = json.load(sys.stdin)
body = document["paths"]["/tasks/{id}"]["put"]["requestBody"]
json.dump(body["content"]["application/json"]["example"], open(sys.argv[1], "w"))
print(document["components"]["parameters"]["Id"]["example"])' "$folder/put.json")
    # First with ids that it makes up.
    : >"$folder/schemathesis.toml"
    check
    # Then a task that is there and stays: deleting it was among the first.
    put
    printf '[parameters]\n"path.id" = "%s"\n' "$id" >"$folder/schemathesis.toml"
    check --exclude-method DELETE
}

start() {
    local binary
    binary=$(target_directory)/debug/ldp-pca
    cat >"$folder/config.toml" <<TOML
data = "$folder/data"
listen = "127.0.0.1:0"
open_recovery = true
minimum_batch = 1
[log]
level = "warn"
# One token for both roles only one can be given to every request.
[tokens]
admin = "$TOKEN"
collector = "$TOKEN"
TOML
    "$binary" serve --config "$folder/config.toml" >"$folder/out" &
    server=$!
    for _ in $(seq 100); do
        url=$(sed -n 's/^listening on //p' "$folder/out")
        [ -n "$url" ] && return
        sleep 0.1
    done
    echo "the aggregator did not start" >&2
    return 1
}

put() {
    curl --silent --fail --output "$folder/put.out" --request PUT --header "Authorization: Bearer $TOKEN" \
        --header "Content-Type: application/json" --data @"$folder/put.json" "$url/tasks/$id"
}

# check OPTION...: without streams, which stay open: it would wait for their end.
check() {
    .tools/schemathesis/bin/schemathesis --config-file "$folder/schemathesis.toml" run "$url/openapi.json" --seed 1 \
        --header "Authorization: Bearer $TOKEN" --max-examples "$EXAMPLES" --request-timeout 10 --checks "$CHECKS" \
        --exclude-path '/tasks/{id}/events' --no-color "$@"
}

stop() {
    [ -z "${server:-}" ] || kill "$server" 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$folder"
}

main
