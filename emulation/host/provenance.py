"""Facts about this host and this tree that the manifest states."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import sys
from functools import cache
from pathlib import Path

from record.installation import CODE, INSTALLED, packaged_commit
from record.manifest import Host

CLOCK = "CLOCK_MONOTONIC of this host, in nanoseconds"

_PACKAGES = ("docker", "grpcio", "h2", "mininet", "msgspec", "numpy", "protobuf", "pyspark", "uvloop")


def versions() -> dict[str, str]:
    """Versions of brokerlab, of Python, and of packages that can change a measurement."""
    found = {"python": platform.python_version()}
    for package in ("brokerlab", *_PACKAGES):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def kernel() -> str:
    return f"{platform.system()} {platform.release()} {platform.version()}"


@cache
def git_revision() -> str | None:
    """The commit of the running tree, with `+` if files differ from it; None where it is not known.

    A process asks once: what it runs it has loaded, whatever happens to the files later.
    """
    if INSTALLED:
        return packaged_commit()
    # Without its lock of the index, which would stay, and stop the user's next commit, where a slow `status` is ended.
    git = ["git", "--no-optional-locks", "-C", str(CODE), "-c", f"safe.directory={CODE}"]
    try:
        revision = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True, timeout=10)
        status = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    return revision.stdout.strip() + ("+" if status.stdout.strip() else "")


def host() -> Host:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Host(cpus=len(os.sched_getaffinity(0)), memory=memory, processor=_processor(), system=_system())


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _system() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", sys.platform)
    except OSError:
        return sys.platform
