#!/bin/sh
# The first process of a User-Mode-Linux guest whose root is the host's file system, read-only.
# The kernel command line gives PYTHON, ROOT, SCRIPT and SCRATCH, an empty directory of the test's own. Only that one is
# covered by a file system that can be written: a clone and its Python may be anywhere else, /tmp and /run included.
# The guest ends when the script does.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin PYTHONDONTWRITEBYTECODE=1
export HOME="$SCRATCH" TMPDIR="$SCRATCH"
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs "$SCRATCH"
mkdir -p /dev/pts
mount -t devpts devpts /dev/pts
cd "$ROOT" || exit 1
exec "$PYTHON" "$SCRIPT" --guest
