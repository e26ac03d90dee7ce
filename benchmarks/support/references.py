"""Speed of the machine by reference loops (`emulation.host.reference_loops`), so that targets hold on any machine.

    python -m benchmarks.support.references

prints the speeds of this machine. A target of time or rate names the kind of work that dominates it, and is scaled by
the speed that this loop has in the same process, just after the measurement.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from emulation.host.reference_loops import Reference, time_of

STANDARD: Mapping[Reference, int] = {
    Reference.INTERPRETER: 1_620_000,
    Reference.MEMORY: 1_410_000,
    Reference.SYSCALLS: 1_680_000,
    Reference.LOOPBACK: 1_590_000,
}
"""Nanoseconds of the loops on the machine on which the targets were set. They were not timed there: a program that took
16 us of processor time for a hop takes 9.9 us on one whose loops were timed, so these are 1.61 times its times."""


@cache
def speed_of(reference: Reference) -> float:
    """Speed of this machine, measured once in a process; 1 is that of the machine on which the targets were set."""
    return STANDARD[reference] / time_of(reference)


if __name__ == "__main__":
    for kind in Reference:
        print(f"{kind:12}  speed {speed_of(kind):.2f}")
