"""Blocks of seconds of the phase `run`, which a bootstrap of delays draws as a whole.

Delays of neighbouring publications depend on each other through queues, so they are resampled together.
"""

from __future__ import annotations

from dataclasses import dataclass

from record.manifest import PhaseName, VariantRecord
from record.time_units import SECOND

BLOCK_SECONDS = 5
FEWEST_BLOCKS = 5
"""With fewer whole blocks no interval is given."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """The whole blocks of a variant's phase `run`."""

    count: int
    """At least 1, to which all seconds of a shorter phase belong."""

    def number(self, second: int | None) -> int:
        """The number of the block that a second belongs to, from 0.

        Seconds before the phase belong to the first block, and those after the last whole block to that one, so that
        no block is shorter than the others.
        """
        return min(max(0, second or 0) // BLOCK_SECONDS, self.count - 1)


def blocks_of(variant: VariantRecord) -> Blocks:
    """The blocks of a variant. Its phase `run` is taken to whole seconds, because its recorded ends are some
    milliseconds off the planned ones."""
    run = variant.phase(PhaseName.RUN)
    seconds = 0 if run is None else round((run.end - run.start) / SECOND)
    return Blocks(max(1, seconds // BLOCK_SECONDS))
