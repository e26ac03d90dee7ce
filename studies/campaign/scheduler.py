"""A campaign under way: what is not done yet is run, and every try is written down as it ends."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Protocol

from studies.campaign.attempt import Attempted, RunCells
from studies.campaign.cell import Cell
from studies.campaign.directory import CampaignDirectory


class Audience(Protocol):
    """Who hears how cells went."""

    def end(self, attempted: Attempted, *, final: bool) -> None:
        """A try has ended and was written down; the cell is done if this was the final one."""


def undone(directory: CampaignDirectory, cells: Sequence[Cell]) -> list[Cell]:
    """The cells that have no result yet, in order."""
    return [cell for cell in cells if directory.result(cell) is None]


def conduct(
    directory: CampaignDirectory, cells: Sequence[Cell], retries: int, run: RunCells, audience: Audience
) -> None:
    """Runs cells and records every try at each. To be called while the directory is held."""
    with closing(run(cells)) as tries:
        for attempted in tries:
            tried = len(directory.attempts(attempted.cell)) + 1
            final = attempted.attempt.is_final(tried, retries)
            directory.record(attempted.cell, attempted.attempt, final=final)
            audience.end(attempted, final=final)
