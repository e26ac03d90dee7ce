"""Processor time that the hypervisor of a virtual machine gives to others while a test measures."""

from __future__ import annotations

from pathlib import Path

SPOILS = 0.01
"""Share of the processors' time, stolen, from which on a measurement of milliseconds is one of the neighbours."""


def stolen_and_all() -> tuple[int, int]:
    """Ticks that were stolen since the start of this machine, and ticks in all (proc(5), /proc/stat)."""
    ticks = [int(number) for number in Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]]
    return ticks[7], sum(ticks)


def share(before: tuple[int, int], after: tuple[int, int]) -> float:
    """The stolen share of the time between two readings."""
    return (after[0] - before[0]) / max(1, after[1] - before[1])
