"""Names of the files in a run directory, and how they are replaced.

A run directory is `runs/<run id>/`. The emulation writes the manifest, the overlays, the logs, the journal and the
fidelity verdict; the analysis adds the results, the summary and the report. A run may hold a second one, its simulated
twin, and the comparison with it.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from io import BufferedReader
from pathlib import Path

import msgspec

MANIFEST = "manifest.json"
TOPOLOGY = "topology.json"
"""The overlay of the first variant. A variant over another overlay has a file of its own, named in the manifest."""
UNDERLAY = "underlay.json"
"""The network of routers under the first variant's overlay, for a topology that has one; named in the manifest."""
MOVEMENTS = "overlay.movements"
"""The movements of the first variant's brokers, for a scenario in which brokers move; named in the manifest.

The format is BonnMotion's, with times in seconds since the start of the join phase.
"""
SITES = "sites.json"
"""The sites of the first variant's clients, where there are any; named in the manifest."""
LOGS = "logs"
"""The folder of the logs, one file for each node."""
JOURNAL = "journal.jsonl"
"""The changes of the run to the host, each recorded before it is made."""
FIDELITY = "fidelity.json"
PROCESSORS = "processors.jsonl"
"""The times for which processes ran and waited for a processor; see `record.processors`. Of several hosts, each has a
file of its own (`processors_of`)."""
RESULTS = "results"
"""The folder of the tables."""
SUMMARY = "summary.json"
LOADS = "workload"
"""The folder with a description of each variant's load, as planned (`record.load`)."""
REPORT = "report/index.html"
TWIN = "twin"
"""The run directory of the simulated twin of a run on real brokers, inside of that run's."""
TWIN_COMPARISON = "twin.json"
"""The comparison of the two."""

LONGEST_LINE = 64 << 20
"""Bytes of a line of a log that are read together, at most; a longer line is no record."""

LARGEST_FILE = 256 << 20
"""Bytes of a file of a run or a campaign that is read as a whole, at most."""

_LOG_SUFFIX = ".jsonl"
_READABLE = 0o666
"""Permissions of a new file, before the mask of the process."""
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def log_file(logs: Path, node: str) -> Path:
    """The log of a broker or a driver in a folder of logs."""
    return logs / f"{node}{_LOG_SUFFIX}"


def log_files(logs: Path) -> list[Path]:
    """The logs of all nodes in a folder of logs, by name."""
    return sorted(logs.glob(f"*{_LOG_SUFFIX}"))


def is_log(name: str) -> bool:
    """True for the name of a log."""
    return name.endswith(_LOG_SUFFIX)


def node_of(log: str) -> str:
    """The name of the broker or the driver that wrote a log, from the name of the file."""
    return log.removesuffix(_LOG_SUFFIX)


def processors_of(host: str) -> str:
    """The name of the file `PROCESSORS` of one of several hosts."""
    return on_host(node_of(PROCESSORS), host) + _LOG_SUFFIX


def on_host(node: str, host: str) -> str:
    """The name of a node of which each of several hosts has one; `host` is empty where one host has all of a run."""
    return f"{node}@{host}" if host else node


def open_log(log: Path) -> BufferedReader:
    """Opens a log to be read. Raises `OSError` for what is no file of its own, such as a link or a pipe.

    A pipe is opened without waiting for somebody to write to it.
    """
    return _open_regular(log, _READ | os.O_NOFOLLOW)


def open_file(path: Path) -> BufferedReader:
    """Opens a file that a user brings, to be read. Raises `OSError`, also for a pipe, which might never end."""
    return _open_regular(path, _READ)


def read_file(path: Path) -> bytes:
    """The content of a file that a user brings. Raises `OSError`, also for a pipe, which might never end, and for one
    of more than `LARGEST_FILE` bytes."""
    with open_file(path) as file:
        content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise OSError(errno.EFBIG, f"larger than {LARGEST_FILE >> 20} MiB", str(path))
    return content


def require_regular(path: Path) -> None:
    """Raises `OSError` for what another program is not to open, because it might read it for ever."""
    open_file(path).close()


def _open_regular(path: Path, flags: int) -> BufferedReader:
    descriptor = os.open(path, flags)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        raise OSError(errno.EINVAL, "it is a pipe or a device; write its content to a file", str(path))
    return os.fdopen(descriptor, "rb")


def write_json(path: Path, content: msgspec.Struct) -> None:
    """Writes a struct as JSON for people and scripts, in one step. Raises `OSError`."""
    replace_file(path, msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")


def replace_file(path: Path, content: bytes) -> None:
    """Writes a file in one step, so that a reader sees the old content or the new. Raises `OSError`.

    The part that is written first has a name of its own and is made anew, so no link that stands in a directory of
    unknown origin is followed.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        with os.fdopen(os.open(part, _NEW_FILE, _READABLE), "wb") as file:
            file.write(content)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
