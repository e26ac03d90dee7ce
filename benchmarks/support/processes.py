"""Processor time and memory that processes use, read from /proc."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
"""Units of processor time in a second, as /proc counts them."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Processor time and memory that a process has used since its start."""

    cpu: float
    """Seconds."""
    resident: float
    """Greatest resident memory, MB."""

    @classmethod
    def of(cls, process: int) -> Usage:
        """Usage of a running process. Raises `OSError` or `KeyError` for one that has ended."""
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        status = dict(line.split(":\t") for line in Path(f"/proc/{process}/status").read_text().splitlines())
        return cls((int(fields[11]) + int(fields[12])) / TICKS, int(status["VmHWM"].split()[0]) / 1024)
