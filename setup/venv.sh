#!/bin/bash
# The virtual environment `.venv`, with the versions that constraints.txt pins.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"
cd "$ROOT"

# The stamp is in the environment, so that removing one removes the other. Settings of ruff and what comes after them
# install nothing.
stamp=.venv/made-from-$(content_hash <(sed '/^\[tool\.ruff/,$d' pyproject.toml) constraints.txt)
[ -e "$stamp" ] && .venv/bin/python -c '' 2>/dev/null && exit 0

use_ca_bundle
if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    python=$(setup/find-python.sh) || fail "no Python 3.11 or later with venv was found: install python3-venv, or name one in PYTHON."
    say "making the virtual environment .venv with $python ($("$python" -c 'import platform; print(platform.python_version())'))"
    rm -rf .venv
    quietly "$python" -m venv .venv
fi
say "installing pinned Python packages (minutes the first time; log in ${LOG#"$PWD"/})"
pip=(.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt)
# Packages that come as source, this one too, are built by the pinned setuptools and not by the newest one.
quietly "${pip[@]}" setuptools
quietly "${pip[@]}" --no-build-isolation --use-pep517 -e '.[emulation,hosts,spark,dev]'
# pip would compile one file after the other, and those that nobody imports, too. What is left out is compiled when it is
# imported.
.venv/bin/python -m compileall -qq -j 0 -x '/(tests?|pip|plotly)/' .venv/lib || true
rm -f .venv/made-from-*
rm -f .venv/lib/python*/site-packages/brokerlab_compiled.*  # of versions that could be compiled
: >"$stamp"
