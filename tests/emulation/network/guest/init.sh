#!/bin/sh
# The first process of a User-Mode-Linux guest whose root is the host's file system, read-only.
# The kernel command line gives PYTHON, ROOT and SCRIPT. The guest ends when the script does.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp PYTHONDONTWRITEBYTECODE=1
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
mkdir -p /dev/pts
mount -t devpts devpts /dev/pts
cd "$ROOT" || exit 1
exec "$PYTHON" "$SCRIPT" --guest
