"""The times of this host's reference loop, which a command measures and later commands need not measure again.

A measurement takes one to two seconds of a command's start. The speed that a host has at its best stays as it is, so
what one process measured counts for the others of this boot and this Python for ten minutes. Each of them makes a tenth
of the rounds nevertheless, and the least of all counts, because a measurement may have fallen into seconds in which the
whole machine was slow.
"""

from __future__ import annotations

import sys
import time
from functools import cache
from pathlib import Path

import msgspec

from emulation.host.processes import boot_id
from emulation.host.reference_loops import Reference, time_of
from record.files import read_file, write_json
from record.host_speed import LoopTimes
from record.installation import cache_directory
from record.time_units import SECOND

_KEPT = cache_directory() / "loop-times.json"
_KEPT_FOR = 600 * SECOND
"""Nanoseconds after which all rounds are made again, because machines are moved and throttled."""
_AGAIN = 10
"""Part of the rounds, as its divisor, that each further process makes."""


class KeptTimes(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the file that keeps the times."""

    boot: str
    """The boot of the machine, to whose clock `measured` belongs."""
    python: str
    """The interpreter's version and build."""
    measured: int
    """Time at which all rounds were made, in nanoseconds of the monotonic clock."""
    times: LoopTimes

    def holds(self, now: int) -> bool:
        """True when the times count for this process at this time."""
        return (self.boot, self.python) == (boot_id(), sys.version) and 0 <= now - self.measured < _KEPT_FOR


@cache
def loop_times() -> LoopTimes:
    """The time of this host's loop, by which costs that were measured on another host are scaled."""
    return kept_or_measured(_KEPT)


def kept_or_measured(path: Path) -> LoopTimes:
    """The times that a file keeps, or those of a few rounds now if these are quicker; otherwise those of all rounds.

    Keeps them in the file, unless it cannot be written: then the next process measures again.
    """
    kept = _read(path)
    if kept is not None and kept.holds(time.monotonic_ns()):
        measured, least = kept.measured, kept.times.interpreter
        interpreter = min(least, time_of(Reference.INTERPRETER, _AGAIN))
    else:
        measured, least = time.monotonic_ns(), 0
        interpreter = time_of(Reference.INTERPRETER)
    times = LoopTimes(interpreter=interpreter)
    if interpreter != least:
        _keep(path, KeptTimes(boot=boot_id(), python=sys.version, measured=measured, times=times))
    return times


def _read(path: Path) -> KeptTimes | None:
    try:
        return msgspec.json.decode(read_file(path), type=KeptTimes)
    except (OSError, msgspec.DecodeError, ValueError):
        return None


def _keep(path: Path, kept: KeptTimes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, kept)
    except OSError:
        return
