"""The plain Python engine: nothing to install and nothing to start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import ClassVar

from analysis.engines.frames import Workers
from analysis.engines.in_process import InProcess

MEMORY_OF_A_PROCESS = 350 << 20
"""Bytes that each process takes at most, with what it shares with the driver."""


@dataclass(frozen=True, slots=True)
class PlainEngine:
    """Runs stages in this process, or in forked ones side by side. Buckets wait in a temporary file (about 50 bytes for
    each record of a publication), so that memory does not grow with them."""

    processes: int = 1
    """The number of tables that are computed at a time; by default one in this process, because it may be one of many
    that analyse runs."""
    name: ClassVar[str] = "plain Python"

    @contextmanager
    def open(self) -> Iterator[Workers]:
        with closing(InProcess(self.processes)) as workers:
            yield workers


def processes_within(processors: int, memory: int) -> int:
    """The number of processes for a host with so many processors and free bytes of memory."""
    return max(1, min(processors, memory // MEMORY_OF_A_PROCESS))
