"""Runs code and commands in the network namespace of another process."""

from __future__ import annotations

import ctypes
import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from emulation.network.model import NetworkError

_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)
_Result = TypeVar("_Result")


def enter_namespace(pid: int) -> None:
    """Moves the calling thread, and no other, into the network namespace of process `pid`."""
    try:
        descriptor = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise NetworkError(
            f"process {pid}, whose network namespace is a broker's, is gone ({error.strerror})"
        ) from error
    try:
        enter_open_namespace(descriptor)
    finally:
        os.close(descriptor)


def enter_open_namespace(descriptor: int) -> None:
    """Moves the calling thread, and no other, into the network namespace that `descriptor` holds open."""
    if _libc.setns(descriptor, _CLONE_NEWNET):
        _fail("enter", "a network namespace")


def enter_new_namespace() -> None:
    """Moves the calling thread, and no other, into a fresh network namespace."""
    if _libc.unshare(_CLONE_NEWNET):
        _fail("make", "a network namespace")


def _fail(verb: str, what: str) -> None:
    reason = os.strerror(ctypes.get_errno())
    raise NetworkError(f"cannot {verb} {what} ({reason}): run as root, with CAP_SYS_ADMIN and CAP_NET_ADMIN")


def in_thread(enter: Callable[[], None], work: Callable[[], _Result]) -> _Result:
    """Runs `enter`, then `work`, in a thread of their own, and returns what `work` returns or raises what they raise.

    Sockets, TAP interfaces and processes made by `work` belong to the namespace that `enter` moved the thread to.
    """
    results: list[_Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            enter()
            results.append(work())
        except BaseException as error:  # handed to the caller
            errors.append(error)

    thread = threading.Thread(target=run, name="network-namespace")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def in_namespace(pid: int, work: Callable[[], _Result]) -> _Result:
    """Runs `work` in the network namespace of process `pid`; the caller's own namespace stays what it is."""
    return in_thread(lambda: enter_namespace(pid), work)


def run_in_namespace(pid: int, command: Sequence[str], text: str | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a command in the network namespace of process `pid` (and the caller's file system), `text` on its input."""
    return in_namespace(pid, lambda: subprocess.run(command, input=text, capture_output=True, text=True, check=False))


def read_send_drops(pid: int) -> dict[str, int]:
    """Frames that each interface in the namespace of process `pid` failed to send, by interface name."""
    text = in_namespace(pid, lambda: Path("/proc/thread-self/net/dev").read_text(encoding="ascii"))
    lines = (line.split(":", 1) for line in text.splitlines() if ":" in line)
    return {name.strip(): int(fields.split()[11]) for name, fields in lines}
