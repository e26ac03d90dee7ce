#!/bin/bash
# system.sh [runs|all|tests|images|python]: installs the missing system packages that runs on this host need, and changes
# nothing that is present. A requirement is met if the command works, whatever package it came from: a host with another
# Docker or Java keeps it. With `all`, those that other commands need as well; with `tests`, those that tests need, too; with
# `images`, only those for building and running images; with `python`, only those for the virtual environment.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"

mode=${1:-runs}

have_python() { "$ROOT/setup/find-python.sh"; }
have() { command -v "$1" >/dev/null; }
have_java() {
    have java || return 1
    local major
    major=$(java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p')
    [ "${major:-0}" -ge 17 ]
}
# User-Mode-Linux needs a small library built for it on processors with AMX (see the test of the netem driver).
needs_no_compiler() { ! grep -qw amx_tile /proc/cpuinfo; }
have_compiler() { needs_no_compiler || have cc; }
have_c_library() { needs_no_compiler || test -e /usr/include/stdlib.h; }
have_compose() { have docker-compose || docker compose version >/dev/null 2>&1; }

# package, the test that shows that it is not needed, its purpose
REQUIREMENTS=(
    "python3-venv|have_python|the virtual environment"
    "docker.io|have dockerd|broker containers"
    "mininet|have mnexec|emulated nodes"
    "iproute2|have tc|links and their shaping"
    "ethtool|have ethtool|offloads of link ends"
    "iputils-ping|have ping|probes of links"
    "procps|have ps|the state of processes"
    "default-jre-headless|have_java|the analysis in Spark (Java 17 or later)"
    "debootstrap|have debootstrap|a base image where no image registry answers"
    "debian-archive-keyring|test -e /usr/share/keyrings/debian-archive-keyring.gpg|signatures of that base image"
    "ca-certificates|test -e $SYSTEM_CA_BUNDLE|downloads"
    "docker-compose|have_compose|the smoke test, the emulator and Spark in containers"
    "openssh-client|have ssh|runs on several hosts"
    "openssh-server|test -x /usr/sbin/sshd|the test of runs on several hosts"
    "tshark|have tshark|the test of the profile for Wireshark"
    "user-mode-linux|have linux.uml|the test of the netem link driver"
    "chromium|have chromium|the tests of pages"
    "mosquitto|test -x /usr/sbin/mosquitto|the tests of deployed systems"
    "activemq|have activemq|the tests of deployed systems"
    "gcc|have_compiler|the test of the netem link driver on this processor"
    "libc6-dev|have_c_library|the test of the netem link driver on this processor"
)
FOR_IMAGES=" python3-venv docker.io debootstrap debian-archive-keyring ca-certificates docker-compose "
FOR_PYTHON=" python3-venv ca-certificates "
FOR_OTHER_COMMANDS=" default-jre-headless openssh-client "
FOR_TESTS=" chromium docker-compose activemq mosquitto openssh-server tshark user-mode-linux gcc libc6-dev "
OPTIONAL=" chromium user-mode-linux docker-compose openssh-server activemq mosquitto tshark "  # not on every release; runs do without them

missing=()
reasons=()
for requirement in "${REQUIREMENTS[@]}"; do
    IFS='|' read -r package test purpose <<<"$requirement"
    [ "$mode" != images ] || [[ $FOR_IMAGES == *" $package "* ]] || continue
    [ "$mode" != python ] || [[ $FOR_PYTHON == *" $package "* ]] || continue
    [ "$mode" != runs ] || [[ "$FOR_OTHER_COMMANDS$FOR_TESTS" != *" $package "* ]] || continue
    [ "$mode" != all ] || [[ $FOR_TESTS != *" $package "* ]] || continue
    $test >/dev/null 2>&1 || { missing+=("$package"); reasons+=("$package: $purpose"); }
done
[ "${#missing[@]}" -gt 0 ] || exit 0

# Simulated runs need only Python, so that a user without rights to install packages can use them.
go_on_simulated() {
    have_python || fail "$@"
    printf 'set-up: %s\n' "$@" "going on without: simulated runs need none of these (see \`make doctor\`)" >&2
    exit 0
}
have apt-get || go_on_simulated \
    "this is not a Debian system; install by its own means what these Debian packages hold:" "${reasons[@]/#/  }"
[ "$(id -u)" -eq 0 ] || go_on_simulated \
    "Installing system packages needs root: run the same command as root, or with sudo, to have" "${reasons[@]/#/  }"
use_ca_bundle
apt=(apt-get -q -o DPkg::Lock::Timeout=300 ${CA_BUNDLE:+-o "Acquire::https::CaInfo=$CA_BUNDLE"})

say "installing system packages: ${missing[*]} (minutes on a fresh host; log in ${LOG#"$PWD"/})"
# Not twice in one set-up, whose first step fetches the lists for Python.
fetched=$CACHE/package-lists
[ -n "$(find "$fetched" -mmin -10 2>/dev/null)" ] && [ -n "$(find /var/lib/apt/lists -name '*_Packages*' -print -quit)" ] || {
    quietly "${apt[@]}" update
    touch "$fetched"
}
available=()
for package in "${missing[@]}"; do
    if [[ $OPTIONAL == *" $package "* ]] && ! apt-get install --simulate -y "$package" >/dev/null 2>&1; then
        say "this system has no package $package: only what it is for goes without"
    else
        available+=("$package")
    fi
done
# The tests start an SSH server of their own. Set-up must not start the system's, now or at boot.
install_ssh_server() {
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        trap 'rm -f "$policy"' EXIT
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
    fi
    quietly "${apt[@]}" install -y --no-install-recommends openssh-server
    [ ! -d /run/systemd/system ] || quietly systemctl disable ssh.service
}

others=()
for package in "${available[@]}"; do
    [ "$package" = openssh-server ] || others+=("$package")
done
[ "${#others[@]}" -eq 0 ] || quietly "${apt[@]}" install -y --no-install-recommends "${others[@]}"
[ "${#others[@]}" -eq "${#available[@]}" ] || install_ssh_server
say "installed ${#available[@]} packages and what they need in $SECONDS s"
