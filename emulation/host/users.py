"""Users of the host that brokers run as: one for each broker of a run.

Processes of two users cannot signal or trace each other, nor open each other's sockets, logs and stored state, and the
kernel counts the processes of each by itself. No account is made: a number is enough.

1. The numbers of a run are consecutive, from a start that follows from the run's id, so that runs at the same time have
   different ones.
2. They are in a range that systemd's documentation on users keeps free. Where the host is itself a container that maps
   few users, they are at the upper end of those.
3. A number that an account of this host has is passed over.
"""

from __future__ import annotations

import hashlib
import pwd
from collections.abc import Iterator
from pathlib import Path

from topology.link_properties import BrokerId

_FREE = range(1_900_000_000, 2_100_000_000)
_FEW = range(20_000, 60_000)
"""The range where not all numbers are mapped."""
_MAPPED = Path("/proc/self/uid_map")


class BrokerUsers:
    """The users of one run's brokers; the group of each has the same number."""

    def __init__(self, run_id: str) -> None:
        self._of: dict[BrokerId, int] = {}
        self._next = _numbers(run_id, _range())

    def of(self, broker: BrokerId) -> int:
        """The broker's user, the same one whenever the run asks for it."""
        if broker not in self._of:
            self._of[broker] = next(number for number in self._next if not _has_account(number))
        return self._of[broker]


def _numbers(run_id: str, numbers: range) -> Iterator[int]:
    first = int.from_bytes(hashlib.sha256(run_id.encode()).digest()[:8]) % len(numbers)
    yield from numbers[first:]
    yield from numbers[:first]


def _range() -> range:
    try:
        mapped = [line.split() for line in _MAPPED.read_text().splitlines()]
    except OSError:  # a kernel without user namespaces
        return _FREE
    whole = any(int(first) <= _FREE.start and int(first) + int(count) >= _FREE.stop for first, _, count in mapped)
    return _FREE if whole else _FEW


def _has_account(number: int) -> bool:
    try:
        pwd.getpwuid(number)
    except KeyError:
        return False
    return True
