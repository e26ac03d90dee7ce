"""Discovery of the processes of a run's nodes, which come and go.

A process that was just forked still has the environment and the command of its parent, so one that is not of the run is
looked at again for `_SETTLES` seconds, and one of the run as long as it is no node.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from emulation.processors.request import SamplingRequest
from record.processors import RELAY
from record.time_units import SECOND

_SETTLES = 2 * SECOND


class Discovery:
    """The search for the processes of one run that are nodes of it."""

    def __init__(self, request: SamplingRequest) -> None:
        self._request = request
        self._mark = request.mark.encode()
        self._foreign: dict[int, int] = {}
        """The time at which each process that is not of the run was seen first."""
        self._nodes: dict[int, str] = {}

    def nodes(self, now: int) -> Iterator[tuple[int, str]]:
        """Pid and name of each process that is a node now."""
        names = os.listdir("/proc")  # noqa: PTH208 - paths would take three times as long
        alive = {int(name) for name in names if name.isdigit()}
        self._foreign = {pid: since for pid, since in self._foreign.items() if pid in alive}
        self._nodes = {pid: node for pid, node in self._nodes.items() if pid in alive}
        for pid in sorted(alive - self._nodes.keys()):
            if now - self._foreign.get(pid, now) <= _SETTLES:
                self._look_at(pid, now)
        yield from self._nodes.items()

    def forget(self, pid: int) -> None:
        """Forgets a process that has ended, because another one may get its pid."""
        self._nodes.pop(pid, None)

    def _look_at(self, pid: int, now: int) -> None:
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes()
            if self._mark not in environment.split(b"\0"):
                self._foreign.setdefault(pid, now)
            elif node := self._node(pid):
                self._nodes[pid] = node
        except OSError:  # it has ended, or belongs to another user
            self._foreign.setdefault(pid, now)

    def _node(self, pid: int) -> str | None:
        """The name of the node that a process of the run is; None for one that is no node."""
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").rstrip("\0").split("\0")
        if self._request.broker_program in command:
            return self._request.brokers.get(Path(f"/proc/{pid}/ns/net").stat().st_ino)
        if any(program in command for program in self._request.acting_programs):
            return Path(command[-1]).stem
        return RELAY if self._request.relay_program in command else None
