"""The lock on a file or directory by which processes exclude each other (flock(2)); it ends with its holder."""

from __future__ import annotations

import fcntl


def take_lock(descriptor: int) -> bool:
    """Takes the lock unless another process has it; returns whether this process has it now."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
