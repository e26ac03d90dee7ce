#!/bin/bash
# Generates broker_service/generated from proto/, with types for mypy; again only if the definitions or the generated code have changed.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"
cd "$ROOT"

generated=broker_service/generated
hash=$(content_hash proto/*.proto <(grep -E '^(grpcio-tools|protobuf|mypy-protobuf)==' constraints.txt) "$ROOT/setup/proto.sh")
complete() {
    local source name
    for source in proto/*.proto; do
        name=$(basename "$source" .proto)
        [ -e "$generated/${name}_pb2.py" ] && [ -e "$generated/${name}_pb2.pyi" ] &&
            [ -e "$generated/${name}_pb2_grpc.py" ] || return 1
    done
}
stamped proto "$hash" && complete && exit 0

mkdir -p "$CACHE"
say "generating protobuf code"
work=$(mktemp -d "$ROOT/.cache/proto.XXXXXX")
trap 'rm -rf "$work"' EXIT
# The directory is given under the package's name, so that the generated modules import each other by that name.
PATH=$ROOT/.venv/bin:$PATH quietly .venv/bin/python -m grpc_tools.protoc "-I$generated=proto" \
    "--python_out=$work" "--grpc_python_out=$work" "--mypy_out=$work" proto/*.proto
mv "$work/$generated"/* "$generated/"
stamp proto "$hash"
