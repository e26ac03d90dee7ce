# Sourced by every step of set-up: paths, messages, and access to the network.
# shellcheck shell=bash

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CACHE=$ROOT/.cache
LOG=$CACHE/setup.log
STAMPS=$CACHE/stamps
SYSTEM_CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

say() { printf 'set-up: %s\n' "$*"; }

# The host cannot do what was requested: exit code 4, as for `brokerlab emulate`.
fail() {
    printf 'set-up: %s\n' "$@" >&2
    exit 4
}

# require_root WHAT: fails without root, which only steps that change the host need.
require_root() {
    [ "$(id -u)" -eq 0 ] || fail "$1 needs root: run the same command as root, or with sudo."
}

# quietly COMMAND...: output goes to the log; when the command fails, the end of it is shown.
quietly() {
    mkdir -p "$CACHE"
    printf '\n### %s\n' "$*" >>"$LOG"
    local start status=0
    start=$(wc -l <"$LOG")
    "$@" >>"$LOG" 2>&1 || status=$?
    [ "$status" -eq 0 ] && return
    tail -n "+$((start + 1))" "$LOG" | tail -n 15 | sed 's/^/    | /' >&2
    fail "\`$1\` failed with exit code $status; its last lines are above, all of it in $LOG"
}

# A stamp records that a step was done for inputs of this content, so that repeating the step costs only a hash.
content_hash() { cat "$@" | sha256sum | cut -c1-16; }
stamped() { [ -e "$STAMPS/$1-$2" ]; }
stamp() {
    mkdir -p "$STAMPS"
    rm -f "$STAMPS/$1"-*
    : >"$STAMPS/$1-$2"
}

# Behind a proxy that inspects TLS, the host's private CA must reach every client. EXTRA_CA_BUNDLE names a PEM file;
# without it, the CAs of the host in /usr/local/share/ca-certificates are used. The bundle also holds the public CAs,
# because some clients replace their own bundle by it.
use_ca_bundle() {
    local extra=()
    if [ -n "${EXTRA_CA_BUNDLE:-}" ]; then
        [ -r "$EXTRA_CA_BUNDLE" ] ||
            fail "EXTRA_CA_BUNDLE names $EXTRA_CA_BUNDLE, which cannot be read: name a PEM file, or unset it."
        extra=("$EXTRA_CA_BUNDLE")
    else
        mapfile -t extra < <(find /usr/local/share/ca-certificates -name '*.crt' 2>/dev/null)
    fi
    [ "${#extra[@]}" -gt 0 ] || return 0
    [ ! -r "$SYSTEM_CA_BUNDLE" ] || extra=("$SYSTEM_CA_BUNDLE" "${extra[@]}")
    mkdir -p "$CACHE"
    export CA_BUNDLE=$CACHE/ca-bundle.pem WGETRC=$CACHE/wgetrc
    awk 1 "${extra[@]}" >"$CA_BUNDLE.$$"  # awk ends the last line of each, which cat would not
    mv "$CA_BUNDLE.$$" "$CA_BUNDLE"
    printf 'ca_certificate = %s\n' "$CA_BUNDLE" >"$WGETRC"
    export PIP_CERT="${PIP_CERT:-$CA_BUNDLE}" SSL_CERT_FILE="${SSL_CERT_FILE:-$CA_BUNDLE}"
}
