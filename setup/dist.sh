#!/bin/bash
# dist.sh [DIRECTORY]: the source distribution and the wheel, in DIRECTORY, `dist` by default. The wheel is built from the
# source distribution, which so is shown to be whole, with the pinned tools of the virtual environment.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"
cd "$ROOT"

python=$ROOT/.venv/bin/python
[ -x "$python" ] || fail "the virtual environment is missing: run \`make setup\`."
mkdir -p "${1:-dist}" "$CACHE"
directory=$(cd "${1:-dist}" && pwd)
work=$(mktemp -d "$CACHE/dist.XXXXXX")
trap 'rm -rf "$work"' EXIT
quietly "$python" -c 'import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])' "$work"
source=$(ls "$work"/brokerlab-*.tar.gz)
quietly "$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation -w "$work" "$source"
rm -f "$directory"/brokerlab-*.tar.gz "$directory"/brokerlab-*.whl
mv "$work"/brokerlab-* "$directory/"
ls "$directory"/brokerlab-*
