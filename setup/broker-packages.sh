#!/bin/bash
# broker-packages.sh DIRECTORY: what a broker imports, unpacked for the image's Python 3.11 on this machine's processor.
# The host's pip does it, so that the host's own settings (proxy, CA, indexes) apply and none of them enters the image.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"

directory=$1
python=$ROOT/.venv/bin/python
[ -x "$python" ] || fail "the virtual environment is missing: run \`make setup\`."
use_ca_bundle

machine=$(uname -m)
platforms=()
for minor in $(seq 36 -1 17); do  # bookworm has glibc 2.36 and runs what was built for older ones
    platforms+=(--platform "manylinux_2_${minor}_$machine")
done
platforms+=(--platform "manylinux2014_$machine")

mapfile -t dependencies < <("$python" -c '
import sys, tomllib
print(*tomllib.load(open(sys.argv[1], "rb"))["project"]["dependencies"], sep="\n")' "$ROOT/pyproject.toml")

rm -rf "$directory" "$directory.new"
quietly "$python" -m pip install --quiet --disable-pip-version-check --no-compile --target "$directory.new" \
    --only-binary :all: --implementation cp --python-version 3.11 --abi cp311 --abi abi3 --abi none \
    "${platforms[@]}" -c "$ROOT/constraints.txt" "${dependencies[@]}"
# Tests and typing stubs are most of the files, and nothing a broker imports.
find "$directory.new" \( -type d \( -name tests -o -name bin \) -prune -o -name '*.pyi' \) -exec rm -rf {} +
mv "$directory.new" "$directory"
