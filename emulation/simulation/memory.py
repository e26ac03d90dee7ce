"""Memory of simulated variants: room for several of them at a time, and rare runs of the cyclic garbage collector,
because a simulation makes hardly any cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from emulation.host.room import Host
from emulation.planning.plan import VariantPlan

_THRESHOLDS = 100_000, 50, 100
"""A simulation makes millions of short-lived objects and hardly any cycles, and its tables stay until the end."""

_OF_A_PROCESS = 150 << 20
_OF_A_BROKER = 5 << 20
"""Bytes, of which 1,000 brokers with 1,000 subscribers and their logs need so many."""


def at_a_time(variants: Sequence[VariantPlan], host: Host) -> int:
    """The number of variants to run side by side: as many as a host has processors and memory for, at least one."""
    largest = max(_OF_A_PROCESS + _OF_A_BROKER * len(variant.overlay.brokers) for variant in variants)
    return max(1, min(host.processors, len(variants), host.memory // largest))


@contextmanager
def rare_collections() -> Iterator[None]:
    """Context in which garbage is collected rarely; messages and log records are freed at once, as nothing refers to
    them in turn."""
    former = gc.get_threshold()
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*former)
