#!/bin/bash
# venv.sh [runs|all|tests]: the virtual environment `.venv`, with the versions that constraints.txt pins: what runs on this
# host need; with `all`, what other commands need as well; with `tests`, what style, types, tests and the site of the
# documentation need, too.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"
cd "$ROOT"

mode=${1:-runs}
extras=emulation,checkout
[ "$mode" = runs ] || extras+=,hosts,spark
[ "$mode" != tests ] || extras+=,dev,docs,systems,activemq
# Stamps are in the environment, so that removing one removes the other. Settings of ruff and what comes after them
# install nothing.
hash=$(content_hash <(sed '/^\[tool\.ruff/,$d' pyproject.toml) constraints.txt)
stamp=.venv/made-for-$mode-$hash
for made in $mode all tests; do  # each of them has what those before it have
    [ "$made $mode" != "all tests" ] || continue
    [ ! -e ".venv/made-for-$made-$hash" ] || ! .venv/bin/python -c '' 2>/dev/null || exit 0
done

use_ca_bundle
if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    python=$(setup/find-python.sh) || fail "no Python 3.11 or later with venv was found: install python3-venv, or name one in PYTHON."
    say "making the virtual environment .venv with $python ($("$python" -c 'import platform; print(platform.python_version())'))"
    rm -rf .venv
    quietly "$python" -m venv .venv
fi
say "installing pinned Python packages for $mode (minutes the first time; log in ${LOG#"$PWD"/})"
pip=(.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt)
# Packages that come as source, this one too, are built by the pinned setuptools and not by the newest one.
quietly "${pip[@]}" setuptools
quietly "${pip[@]}" --no-build-isolation --use-pep517 -e ".[$extras]"
# pip would compile one file after the other, and those that nobody imports, too. What is left out is compiled when it is
# imported.
.venv/bin/python -m compileall -qq -j 0 -x '/(tests?|pip|plotly)/' .venv/lib || true
rm -f .venv/made-from-* .venv/made-for-*
rm -f .venv/lib/python*/site-packages/brokerlab_compiled.*  # of versions that could be compiled
: >"$stamp"
say "the environment for $mode is complete after $SECONDS s"
