"""The search itself: every variant is bisected by itself, and the loads that are due are run side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from record.errors import BadInputError
from scenario.loading import load
from scenario.model import Scenario
from scenario.sections.search import HoldsWhile, Search
from scenario.sections.vary import value_name
from scenario.yaml_files.errors import ScenarioError
from scenario.yaml_files.fields import set_field
from scenario.yaml_files.source import as_yaml
from studies.saturation.bisection import Bisection, LoadOutcome
from studies.saturation.capacity import Capacity, LoadPoint, SeedPoint
from studies.saturation.cell import SaturationCell, SaturationResult

RunCells = Callable[[Sequence[SaturationCell]], Sequence[SaturationResult]]
"""Runs cells, of which some may have been run before, and gives their results in order."""


class SaturationSearch:
    """The search over the variants of one scenario."""

    def __init__(self, file: Path, overrides: dict[str, str]) -> None:
        """Raises `UserError`s for a scenario that has nothing to search, or a load that it does not take."""
        self._scenario = load(file, overrides)
        if self._scenario.search is None:
            raise BadInputError(f"{file}: has no `search`; docs/saturation.md describes it")
        self.search: Search = self._scenario.search
        variants = self._scenario.variants()
        self._variants = {variant.name: variant.scenario for variant in variants}
        for variant in variants:
            if self.search.raised in variant.settings:
                raise BadInputError(f"{file}: search.raise: {self.search.raised} varies as well; leave one of both out")
        self._require_possible(file)

    @property
    def scenario(self) -> Scenario:
        """The scenario as its file has it."""
        return self._scenario

    def run(self, run_cells: RunCells) -> list[Capacity]:
        """The capacities of all variants, in their order."""
        loads = self.search.loads
        searches = {name: Bisection(loads, self.search.within) for name in self._variants}
        points: dict[str, dict[float, LoadPoint]] = {name: {} for name in self._variants}
        seeds = self._seeds
        while due := [(name, tried) for name, search in searches.items() for tried in search.next_loads()]:
            results = run_cells([self._cell(name, tried, seed) for name, tried in due for seed in seeds])
            for place, (name, tried) in enumerate(due):
                point = self._point(tried, results[place * len(seeds) : (place + 1) * len(seeds)])
                points[name][tried] = point
                searches[name].note(tried, point.outcome)
        return [
            Capacity(
                variant=name,
                highest=search.highest,
                least_failing=search.least_failing,
                holding_beyond=search.holding_beyond,
                points=[point for _, point in sorted(points[name].items())],
            )
            for name, search in searches.items()
        ]

    @property
    def _seeds(self) -> list[int]:
        return [self._scenario.seed + number for number in range(self.search.seeds)]

    def _require_possible(self, file: Path) -> None:
        """Raises `BadInputError` where a variant does not take one of the ends."""
        for name in self._variants:
            for end in (self.search.loads.least, self.search.loads.most):
                try:
                    self._cell(name, end, self._scenario.seed).plan()
                except ScenarioError as error:
                    written = self.search.loads.written(end)
                    raise BadInputError(f"{file}: search: {self.search.raised}: {written}: {error}") from error

    def _cell(self, variant: str, load: float, seed: int) -> SaturationCell:
        data: dict[str, Any] = self._variants[variant].resolved()
        data.pop("search", None)
        data.pop("expect", None)
        data |= {"seed": seed}
        if expected := _expected(self.search.holds_while):
            data["expect"] = expected
        set_field(data, self.search.raised, self.search.loads.written(load))
        return SaturationCell(
            key=f"{value_name(variant)}-{load:g}-{seed}",
            scenario=as_yaml(data),
            cost=load,
            variant=variant,
            load=load,
            seed=seed,
        )

    def _point(self, load: float, results: Sequence[SaturationResult]) -> LoadPoint:
        outcomes = [result.load_outcome for result in results]
        held = outcomes.count(LoadOutcome.HOLDS)
        needed = self.search.share * len(outcomes)
        possible = held + outcomes.count(LoadOutcome.NOT_JUDGED)
        unheld = LoadOutcome.NOT_JUDGED if possible >= needed else LoadOutcome.FAILS
        outcome = LoadOutcome.HOLDS if held >= needed else unheld
        return LoadPoint(
            load=load,
            outcome=outcome,
            held=held,
            seeds=[SeedPoint.of(result) for result in results],
        )


def _expected(holds_while: HoldsWhile) -> dict[str, Any]:
    """The limits as a scenario's `expect`. Correct deliveries need no mention there."""
    return holds_while.model_dump(mode="json", exclude_none=True, exclude={"delivery"})
