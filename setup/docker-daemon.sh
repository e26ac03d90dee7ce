#!/bin/bash
# docker-daemon.sh [stop]: makes sure that a Docker daemon answers; `stop` ends the one that this script has started, no other.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"

RUN=/run/brokerlab
PID_FILE=$RUN/dockerd.pid
DAEMON_LOG=/var/log/brokerlab-dockerd.log
PATIENCE=60  # seconds for the daemon's first answer, or its end

address=${DOCKER_HOST:-unix:///var/run/docker.sock}

answers() {
    "$(command -v /usr/bin/python3 || echo "$ROOT/.venv/bin/python")" -S -c '
import socket, sys
with socket.socket(socket.AF_UNIX) as daemon:
    daemon.settimeout(5)
    daemon.connect(sys.argv[1])
    daemon.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
    sys.exit(b" 200 " not in daemon.recv(64))' "${address#unix://}" 2>/dev/null
}

# The daemon that this script has started, if it still runs (one that ended and was not reaped has no program any more).
own_daemon() {
    local pid
    pid=$(cat "$PID_FILE" 2>/dev/null) && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = dockerd ] &&
        [ -e "/proc/$pid/exe" ] && echo "$pid"
}

wait_for_answer() {  # wait_for_answer STILL-RUNNING...
    local deadline=$((SECONDS + PATIENCE))
    until answers; do
        if [ $SECONDS -ge $deadline ] || ! "$@" 2>/dev/null; then return 1; fi
        sleep 0.1
    done
}

mount_cgroups() {
    awk '$3 ~ /^cgroup2?$/ { found = 1 } END { exit !found }' /proc/mounts && return
    say "mounting the control groups, which nothing has mounted here"
    quietly mount -t cgroup2 cgroup2 /sys/fs/cgroup
}

start_with_systemd() {
    say "starting Docker (systemctl start docker)"
    quietly systemctl start docker
    wait_for_answer true || fail "Docker does not answer at $address; see \`systemctl status docker\`."
}

start_detached() {
    say "starting Docker, as this system runs no systemd (log in $DAEMON_LOG, pid in $PID_FILE)"
    mkdir -p "$RUN"
    mount_cgroups
    if [ -n "${EXTRA_CA_BUNDLE:-}" ]; then  # for pulls, and where it outlives this clone
        use_ca_bundle
        cp "$CA_BUNDLE" "$RUN/ca-bundle.pem"
        export SSL_CERT_FILE=$RUN/ca-bundle.pem
    fi
    local before=0
    [ -e "$DAEMON_LOG" ] && before=$(wc -l <"$DAEMON_LOG")
    # Without the temporary directory of the command that starts it, which is removed with that command.
    env --unset=TMPDIR setsid dockerd --pidfile "$PID_FILE" --host "$address" </dev/null >>"$DAEMON_LOG" 2>&1 &
    local pid=$!
    disown
    wait_for_answer kill -0 "$pid" && return
    kill "$pid" 2>/dev/null || true
    tail -n "+$((before + 1))" "$DAEMON_LOG" | tail -n 10 | sed 's/^/    | /' >&2
    fail "Docker does not start here; its last lines are above, all of them in $DAEMON_LOG." \
        "The process runtime works without it: brokerlab emulate SCENARIO --runtime process"
}

stop_own() {
    local pid
    [ -e "$PID_FILE" ] || return 0
    require_root "Stopping Docker"
    pid=$(own_daemon) || return 0
    say "stopping the Docker daemon that set-up started (pid $pid)"
    kill "$pid"
    local deadline=$((SECONDS + PATIENCE))
    while own_daemon >/dev/null; do
        [ $SECONDS -lt $deadline ] || fail "the Docker daemon (pid $pid) does not end; see $DAEMON_LOG."
        sleep 0.1
    done
    rm -f "$PID_FILE"
}

if [ "${1:-}" = stop ]; then
    stop_own
    exit
fi
if [[ $address != unix://* ]]; then  # emulation needs the daemon's namespaces, so it must be on this host
    fail "DOCKER_HOST is $address; brokerlab needs a daemon on this host: unset it."
fi
answers && exit 0
command -v dockerd >/dev/null || fail "dockerd is missing: run \`make setup\`."
require_root "Starting Docker"
if [ -d /run/systemd/system ] && [ -z "${DOCKER_HOST:-}" ]; then start_with_systemd; else start_detached; fi
