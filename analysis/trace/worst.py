"""The worst journeys of a variant as a file beside the run's report, for a trace viewer."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

from analysis.run_files.run_directory import RunDirectory
from analysis.tables.summary import Summary
from analysis.trace.choice import Chosen
from analysis.trace.making import content_of, draw
from analysis.trace.records import Read

LARGEST = 5_000_000
"""Bytes of a file that a viewer in a browser opens at once."""


@dataclass(frozen=True, slots=True)
class WorstJourneys:
    """A file of journeys."""

    variant: str
    publications: int
    """The publications that it shows, those with the greatest delays."""
    content: bytes = field(repr=False)

    @property
    def file(self) -> str:
        """Name of the file. The name of the variant is a part of it."""
        return f"worst-{self.variant}.pftrace"


def draw_worst(run: RunDirectory, chosen: Chosen, read: Read, summary: Summary) -> WorstJourneys:
    """Draws publications that are chosen, the worst first; not all of them where the file would be too large."""
    count = len(chosen.publications)
    while True:
        shown = dataclasses.replace(chosen, publications=sorted(chosen.publications[:count]))
        content = content_of(draw(run, shown, read, summary))
        if len(content) <= LARGEST or count <= 1:
            return WorstJourneys(chosen.variant.name, count, content)
        count = min(count - 1, count * LARGEST // len(content)) or 1
