#!/bin/bash
# bootstrap-base.sh TARBALL: a root file system with Debian 12 and Python 3.11, for hosts that reach no image registry.
# It comes from the mirror that the host's own apt uses, if that has bookworm.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"

tarball=$1
command -v debootstrap >/dev/null || fail "debootstrap is missing: run \`make setup\`."
require_root "Bootstrapping the base image"
use_ca_bundle

mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
    awk '$2 == "bookworm" && $3 == "main" { print $1; exit }')
proxy=$(apt-config dump --format '%v' Acquire::http::Proxy 2>/dev/null || true)
if [ -n "$proxy" ] && [ "$proxy" != DIRECT ]; then
    export http_proxy=$proxy
fi

mkdir -p "$CACHE"
work=$(mktemp -d "$CACHE/base.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/root"
options=(--variant=minbase --include=python3)
# Signatures are checked if the host has Debian's keys; debootstrap by itself checks them only where it finds keys.
[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] &&
    options+=(--force-check-gpg --keyring=/usr/share/keyrings/debian-archive-keyring.gpg)
quietly debootstrap "${options[@]}" bookworm "$work/root" ${mirror:+"$mirror"}

# A broker needs an interpreter; documentation, translations and package lists only cost start-up time and disk.
cd "$work/root"
rm -rf usr/share/doc/* usr/share/man/* usr/share/locale/* usr/share/info/* usr/share/lintian \
    var/lib/apt/lists/* var/cache/apt/* var/cache/debconf/* var/log/* tmp/* dev/* etc/resolv.conf etc/hostname
ln -s ../../bin/python3 usr/local/bin/python
tar --numeric-owner --one-file-system -cf "$work/base.tar" .
mv "$work/base.tar" "$tarball"
