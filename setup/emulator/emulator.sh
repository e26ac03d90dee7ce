#!/bin/sh
# emulator.sh ARGUMENT...: `brokerlab ARGUMENT...` in the container `emulator` of docker-compose.yml, with the same control
# groups as on its host, as far as that lets it.

# Version 1: only the outermost group has time for real-time processes, of which the relay is one.
for groups in /sys/fs/cgroup/cpu /sys/fs/cgroup/cpu,cpuacct; do
    if [ -e "$groups/cpu.rt_runtime_us" ]; then
        echo $$ 2>/dev/null >"$groups/cgroup.procs"
        break
    fi
done 2>/dev/null

# Version 2: Docker shows a container its own part of the tree; the host's first process sees all of it, brokers' quotas
# included.
if nsenter --target 1 --cgroup true 2>/dev/null; then
    exec nsenter --target 1 --cgroup -- python3 -m command_line "$@"
fi
exec python3 -m command_line "$@"
