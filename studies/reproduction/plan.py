"""The plan of a reproduction: the chosen claims, and one experiment for each scenario that they need."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from analysis.claims import Claim, Claims, Recipe
from analysis.claims.figures import FigureRecipe, load_figures
from analysis.claims.shipped import MEASURES
from record.errors import BadInputError
from record.installation import FILES
from scenario.loading import load
from scenario.model import Scenario
from scenario.sections.section import suggestion
from studies.reproduction.program import measures_digest, program_digest
from studies.reproduction.size import ScenarioSize

SCENARIOS = FILES / "scenarios"
SEEDS = 6
"""Runs of each scenario, unless the user or the claim sets another number."""

_FIXED = {
    "seed": "each run has its own; `--seeds` sets their number, or names them",
    "name": "results are stored under it",
    "vary": "claims compare the variants of the scenario",
}
"""Fields of a scenario that the user cannot set here, with the reasons."""
_MEASURING = ("scenario", "also", "measure", "parts", "in_words", "arguments", "runtimes")
"""Fields of a recipe that decide on what is measured."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """A scenario and the claims that are measured in its runs."""

    scenario: str
    """The scenario's file relative to the directory of scenarios, as claims name it."""
    name: str
    """Name of the scenario, with `-quick` for a smaller form of it; results are stored under it."""
    claims: tuple[Claim, ...]
    seeds: tuple[int, ...]
    weight: float
    """Size of a run, from its publications and brokers; only ratios matter."""
    fingerprint: str
    """Hash of the scenario, with the user's overrides, and of the recipes and measures of its claims. A result with
    another fingerprint belongs to another experiment."""
    figures: tuple[FigureRecipe, ...] = ()
    """Figures of the paper that are drawn from its runs."""
    quick_form: Mapping[str, str] = field(default_factory=dict)
    """Fields that make the scenario smaller for a quick reproduction; empty where it runs as it is."""
    resolved: Mapping[str, Any] = field(default_factory=dict)
    """The whole scenario, with the fields that the user or the quick form sets. Each run has a seed of its own."""
    changed: Mapping[str, str] = field(default_factory=dict)
    """Fields that the user sets in the scenario."""
    size: ScenarioSize = field(default_factory=ScenarioSize)
    program: str = ""
    """Digest of the code that runs the scenario and judges its runs."""


def chosen_claims(claims: Claims, names: Sequence[str]) -> tuple[Claim, ...]:
    """The measurable claims whose ids begin with one of the names; all of them without names. In the file's order.

    Raises `BadInputError` for a name without a measurable claim.
    """
    if not names:
        return claims.measurable
    found: dict[str, Claim] = {}
    for name in names:
        meant = [claim for claim in claims.claims if claim.id.startswith(name)]
        if not meant:
            raise BadInputError(f"there is no claim {name!r}{_nearest(name, claims)}")
        measurable = [claim for claim in meant if claim.measured_by is not None]
        if not measurable:
            raise BadInputError(
                f"{name}: brokerlab has no scenario for it yet; `brokerlab reproduce --list` describes it"
            )
        found |= {claim.id: claim for claim in measurable}
    return tuple(claim for claim in claims.measurable if claim.id in found)


def measurable_on(runtime: str, claims: Iterable[Claim]) -> tuple[tuple[Claim, ...], tuple[Claim, ...]]:
    """The claims that this runtime can measure, and the others, such as one about processes on the simulator."""
    able: list[Claim] = []
    unable: list[Claim] = []
    for claim in claims:
        fits = claim.measured_by is not None and claim.measured_by.measurable_on(runtime)
        (able if fits else unable).append(claim)
    return tuple(able), tuple(unable)


def plan_experiments(
    claims: Iterable[Claim],
    seeds: range | None,
    scenarios: Path = SCENARIOS,
    overrides: Mapping[str, str] | None = None,
    quick_forms: Mapping[str, Mapping[str, str]] | None = None,
) -> tuple[Experiment, ...]:
    """One experiment for each scenario that the claims name; claims with the same one share its runs.

    `seeds` are the user's for each scenario, `overrides` are fields that the user sets in every scenario.
    `quick_forms` holds fields that make scenarios smaller, by scenario; the user's own overrides prevail.
    Raises `UserError`s for scenarios, measures and fields that do not exist.
    """
    for key in overrides or ():
        if reason := _FIXED.get(key.split(".")[0]):
            raise BadInputError(f"--set {key}: not in a reproduction: {reason}")
    by_file: dict[str, list[Claim]] = {}
    numbers: dict[str, int] = {}
    for claim in claims:
        assert claim.measured_by is not None
        if (measure := claim.measured_by.measure) not in MEASURES:
            known = suggestion(measure, MEASURES)
            raise BadInputError(f"claim {claim.id}: measured_by.measure: no measure {measure!r}{known}")
        for number, file in enumerate(claim.measured_by.scenarios):
            by_file.setdefault(file, []).append(claim)
            numbers[file] = min(numbers.get(file, number), number)
    return tuple(
        _experiment(
            _Source(scenarios, file, overrides or {}, (quick_forms or {}).get(file, {})),
            tuple(measured),
            seeds,
            numbers[file],
        )
        for file, measured in by_file.items()
    )


@dataclass(frozen=True, slots=True)
class _Source:
    """A scenario of a directory of scenarios, and the fields that the user and a quick form set in it."""

    scenarios: Path
    name: str
    overrides: Mapping[str, str]
    quick_form: Mapping[str, str]

    @property
    def file(self) -> Path:
        return self.scenarios / self.name


def _experiment(source: _Source, claims: tuple[Claim, ...], seeds: range | None, number: int) -> Experiment:
    """The experiment of one scenario; `number` is its position among the scenarios that a claim combines.

    Each of the combined scenarios has seeds of its own, because runs with the same clients are not independent and the
    interval over them would be too narrow: the second one has as many, from the one after the first one's last.
    """
    if not source.file.is_file():
        raise BadInputError(f"claim {claims[0].id}: measured_by.scenario: {source.file} does not exist")
    scenario = load(source.file, {**source.quick_form, **source.overrides})
    recipes = [claim.measured_by for claim in claims]
    first = seeds or first_seeds(max((recipe.seeds or SEEDS) for recipe in recipes if recipe is not None))
    size = ScenarioSize.of(scenario)
    measures = {MEASURES[recipe.measure].__module__ for recipe in recipes if recipe is not None}
    return Experiment(
        scenario=source.name,
        name=f"{scenario.name}-quick" if source.quick_form else scenario.name,
        claims=claims,
        seeds=tuple(seed + number * len(first) for seed in first),
        weight=len(scenario.variants()) * size.weight,
        fingerprint=_fingerprint(scenario, [recipe for recipe in recipes if recipe is not None], measures),
        figures=tuple(load_figures().get(source.name, ())),
        quick_form=source.quick_form,
        resolved=scenario.resolved(),
        changed=source.overrides,
        size=size,
        program=program_digest({variant.scenario.routing.protocol for variant in scenario.variants()}, measures),
    )


def first_seeds(number: int) -> range:
    """The first seeds, which runs have unless the user names others."""
    return range(1, number + 1)


def _fingerprint(scenario: Scenario, recipes: Iterable[Recipe], measures: Iterable[str]) -> str:
    """Hash of scenario, recipes and the code of their measures.

    Of a recipe only the fields that decide on what is measured affect it.
    """
    measured = [{name: getattr(recipe, name) for name in _MEASURING} for recipe in recipes]
    content = [scenario.resolved(), measured, measures_digest(measures)]
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:16]


def _nearest(name: str, claims: Claims) -> str:
    nearest = suggestion(name, [claim.id for claim in claims.claims])
    return nearest if "mean" in nearest else "; `brokerlab reproduce --list` shows all"
