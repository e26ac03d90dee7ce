"""Rows of the gauntlet's tables: something wrong that is planted, and the sentence that the verdict must contain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.gauntlet.running import Edit, Verdict
from tests.gauntlet.scenarios import Scenario

Plant = Callable[[], None]
"""Replaces functions of the product, in the process of one run."""


@dataclass(frozen=True, slots=True)
class Row:
    """A defect or an infidelity."""

    name: str
    area: str
    scenario: Scenario
    plant: Plant
    names: str
    """A regular expression that a sentence of the verdict must match."""
    edit: Edit | None
    """Changes the run's files when its nodes have stopped; None for most rows."""

    def judged(self) -> Verdict:
        """Plants, runs and judges, in this process, which is of no use for anything else afterwards."""
        self.plant()
        return self.scenario.run.judged(self.edit)

    def is_named(self, verdict: Verdict) -> bool:
        return verdict.names(self.names)


class Area:
    """The rows of one area, in the order in which they were added."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._rows: dict[str, Row] = {}

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows.values())

    def add(self, name: str, scenario: Scenario, plant: Plant, names: str, edit: Edit | None = None) -> None:
        """Adds a row. Raises `ValueError` for a name that the area has already."""
        if name in self._rows:
            raise ValueError(f"{self.name}: two rows are named {name!r}")
        self._rows[name] = Row(name, self.name, scenario, plant, names, edit)

    def row(self, scenario: Scenario, names: str) -> Callable[[Plant], Plant]:
        """Adds a plant as a row, which is named after the function."""

        def added(plant: Plant) -> Plant:
            self.add(plant.__name__.replace("_", " "), scenario, plant, names)
            return plant

        return added

    def edited(self, scenario: Scenario, names: str) -> Callable[[Edit], Edit]:
        """Adds a change of the run's directory as a row, which is named after the function."""

        def added(edit: Edit) -> Edit:
            self.add(edit.__name__.replace("_", " "), scenario, _nothing, names, edit)
            return edit

        return added


def _nothing() -> None:
    """The plant of a row that changes nothing but the run's files."""
