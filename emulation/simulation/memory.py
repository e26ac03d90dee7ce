"""Rare runs of the cyclic garbage collector, because a simulation makes hardly any cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_THRESHOLDS = 100_000, 50, 100
"""A simulation makes millions of short-lived objects and hardly any cycles, and its tables stay until the end."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collects garbage rarely within; messages and log records are freed at once, as nothing refers to them in turn."""
    former = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*former)
        gc.unfreeze()
