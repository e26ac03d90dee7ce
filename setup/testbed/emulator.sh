#!/bin/sh
# emulator.sh ARGUMENT...: `brokerlab ARGUMENT...` in the container `emulator` of docker-compose.yml. Where control groups
# are version 2, Docker shows a container its own part of them only; the host's first process sees the whole tree, in
# which brokers' quotas are looked up. Where it may not be followed (or need not), the view stays what it is.
if nsenter --target 1 --cgroup true 2>/dev/null; then
    exec nsenter --target 1 --cgroup -- python3 -m emulation "$@"
fi
exec python3 -m emulation "$@"
