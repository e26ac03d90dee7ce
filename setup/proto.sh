#!/bin/bash
# Generates protobuf code from proto/, with types for mypy; again only if the definitions or the generated code have changed:
# broker_service/generated from proto/*.proto, with the services' code, and analysis/generated from proto/viewers/.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"
cd "$ROOT"

wire=broker_service/generated
viewers=analysis/generated
hash=$(content_hash proto/*.proto proto/viewers/*.proto \
    <(grep -E '^(grpcio-tools|protobuf|mypy-protobuf)==' constraints.txt) "$ROOT/setup/proto.sh")
complete() {
    local source name
    for source in proto/*.proto; do
        name=$(basename "$source" .proto)
        [ -e "$wire/${name}_pb2.py" ] && [ -e "$wire/${name}_pb2.pyi" ] && [ -e "$wire/${name}_pb2_grpc.py" ] || return 1
    done
    for source in proto/viewers/*.proto; do
        name=$(basename "$source" .proto)
        [ -e "$viewers/${name}_pb2.py" ] && [ -e "$viewers/${name}_pb2.pyi" ] || return 1
    done
}
stamped proto "$hash" && complete && exit 0

mkdir -p "$CACHE"
say "generating protobuf code"
work=$(mktemp -d "$ROOT/.cache/proto.XXXXXX")
trap 'rm -rf "$work"' EXIT
# A directory is given under the package's name, so that the generated modules import each other by that name.
protoc() { PATH=$ROOT/.venv/bin:$PATH quietly .venv/bin/python -m grpc_tools.protoc "--python_out=$work" "--mypy_out=$work" "$@"; }
protoc "-I$wire=proto" "--grpc_python_out=$work" proto/*.proto
protoc "-I$viewers=proto/viewers" proto/viewers/*.proto
mkdir -p "$wire" "$viewers"
mv "$work/$wire"/* "$wire/"
mv "$work/$viewers"/* "$viewers/"
stamp proto "$hash"
