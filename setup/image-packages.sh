#!/bin/bash
# image-packages.sh DIRECTORY broker|emulator PACKAGE...: unpacks Python packages for an image's Python 3.11 on this
# machine's processor. The host's pip does it, so that the host's settings (proxy, CA, indexes) apply,
# none of them enters the image, and packages in its cache are not fetched again.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"

directory=$1 image=$2 dependencies=("${@:3}")
python=$ROOT/.venv/bin/python
[ -x "$python" ] || fail "the virtual environment is missing: run \`make setup\`."
use_ca_bundle

machine=$(uname -m)
platforms=()
for minor in $(seq 36 -1 17); do  # bookworm has glibc 2.36 and runs what was built for older ones
    platforms+=(--platform "manylinux_2_${minor}_$machine")
done
platforms+=(--platform "manylinux2014_$machine")

pip=("$python" -m pip)
options=(--quiet --disable-pip-version-check -c "$ROOT/constraints.txt")

# Packages that are published only as source are pure Python, so that a wheel built by the host works in the image, too.
wheels=$CACHE/wheels
for name in mininet pyspark; do
    [[ " ${dependencies[*]%%[*} " == *" $name "* ]] || continue  # `pyspark[connect]` is pyspark
    pin=$(grep -E "^$name==" "$ROOT/constraints.txt")
    compgen -G "$wheels/$name-${pin#*==}-*none-any.whl" >/dev/null ||
        quietly "${pip[@]}" wheel "${options[@]}" --no-deps --no-build-isolation --wheel-dir "$wheels" "$pin"
done

rm -rf "$directory" "$directory.new"
quietly "${pip[@]}" install "${options[@]}" --no-compile --target "$directory.new" --find-links "$wheels" \
    --only-binary :all: --implementation cp --python-version 3.11 --abi cp311 --abi abi3 --abi none \
    "${platforms[@]}" "${dependencies[@]}"
cd "$directory.new"
# Tests and typing stubs are most of the files, and are never imported; extensions are built with headers and archives.
find . \( -type d -name tests -prune -o -name '*.py[ix]' -o -name '*.pxd' -o -name '*.[ach]' \) -exec rm -rf {} +
if [ "$image" = broker ]; then
    rm -rf bin
else
    sed -i '1s|^#!.*python.*|#!/usr/bin/env python3|' bin/*
    # brokerlab's own name and version; its source is not a part of the emulator's image.
    "$python" - "$ROOT/pyproject.toml" <<'METADATA'
import sys, tomllib
from pathlib import Path
project = tomllib.load(open(sys.argv[1], "rb"))["project"]
directory = Path(f"{project['name']}-{project['version']}.dist-info")
directory.mkdir()
directory.joinpath("METADATA").write_text(
    f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
)
METADATA
fi
cd "$ROOT"
mv "$directory.new" "$directory"
