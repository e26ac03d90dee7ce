"""A campaign: the runs of one scenario under every combination of factors, fault schedules and seeds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints, ValidationError, field_validator

from record.errors import BadInputError
from scenario.model import AUTO
from scenario.sections.expect import Expect
from scenario.sections.faults import FaultItem
from scenario.sections.messages import describe
from scenario.sections.section import AlsoWritten, FilePath, Name, Section
from scenario.yaml_files.fields import dotted
from scenario.yaml_files.source import YamlSource, read

MOST_SEEDS = 10_000
AS_WRITTEN = "as-written"
"""The schedule of a campaign that names none: the faults of the scenario itself."""

_SEED_RANGE = re.compile(r"(?P<first>\d{1,18})\s*\.\.\s*(?P<last>\d{1,18})", re.ASCII)
_FROM_CAMPAIGN = ("vary", "name", "description", "seed", "faults")
"""Fields of a scenario that a campaign does not set by path, because it has fields of its own for them, or because they
have no meaning there."""


def _seeds(value: object) -> object:
    """`1..20` as a list."""
    match = _SEED_RANGE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return value
    first, last = int(match["first"]), int(match["last"])
    if not first <= last < first + MOST_SEEDS:
        raise ValueError(f"{value} is not a range of seeds: write 1..20, with at most {MOST_SEEDS:,}")
    return list(range(first, last + 1))


Seed = Annotated[int, Field(strict=True, ge=0, lt=2**63)]
_RANGE = {
    "type": "string",
    "pattern": r"^\s*[0-9]{1,18}\s*\.\.\s*[0-9]{1,18}\s*$",
    "title": "range",
    "examples": ["1..20"],
}
Seeds = Annotated[
    tuple[Seed, ...], BeforeValidator(_seeds), Field(min_length=1, max_length=MOST_SEEDS), AlsoWritten(_RANGE)
]


class Campaign(Section):
    """The contents of a campaign's file."""

    name: Name
    """The name of the campaign's directory and of its report."""
    description: Annotated[str, StringConstraints(strip_whitespace=True)] = ""
    """The purpose of the campaign, for the report."""
    scenario: FilePath
    """The scenario's file, relative to the campaign's."""
    runtime: Literal["auto", "container", "process", "simulated"] = "auto"
    """The runtime of the brokers of every cell."""
    set: dict[str, Any] = Field(default_factory=dict)
    """Fields of the scenario, by dotted path, that every cell changes."""
    factors: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(default_factory=dict)
    """Fields of the scenario, by dotted path, with the values of each: every combination is run."""
    seeds: Seeds
    """`1..10`, or a list: each gives an overlay, links, a workload and random faults of its own."""
    faults: dict[Name, tuple[FaultItem, ...]] = Field(default_factory=dict)
    """Named fault schedules, each a list as a scenario's `faults`; every one is run. The scenario's own by default."""
    expect: Expect | None = None
    """The least result of every cell, as a scenario's `expect`."""
    retries: Annotated[int, Field(strict=True, ge=0, le=10)] = 1
    """Further attempts at a cell that something outside of the run disturbed. Every attempt is recorded."""

    @field_validator("set", "factors")
    @classmethod
    def _changes_what_can_change(cls, fields: dict[str, Any]) -> dict[str, Any]:
        for path in fields:
            if path.split(".")[0] in _FROM_CAMPAIGN:
                raise ValueError(f"{path} cannot be set here; a campaign has `seeds` and `faults` for every cell")
        return fields

    @field_validator("factors")
    @classmethod
    def _has_one_chosen_dilation(cls, factors: dict[str, list[Any]]) -> dict[str, list[Any]]:
        if AUTO in factors.get("time_dilation", ()):
            raise ValueError(f"time_dilation: `{AUTO}` gives all cells the same factor; write it under `set`")
        return factors

    @field_validator("seeds")
    @classmethod
    def _each_seed_once(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(seeds)) < len(seeds):
            raise ValueError("a seed appears twice; each gives the same run again")
        return seeds


def load_campaign(file: Path) -> Campaign:
    """Reads and checks a campaign's file. `studies.campaign.cells` checks the scenarios that result from it.

    Raises `BadInputError` with one line for each mistake: file, line, field, problem.
    """
    source = read(file)
    if not isinstance(source.data, dict):
        raise BadInputError(f"{file}:1: a campaign is a mapping of fields such as name, scenario and seeds")
    try:
        return Campaign.model_validate(source.data, context={"directory": file.parent.absolute()})
    except ValidationError as error:
        raise BadInputError(_in_words(error, source)) from error


def _in_words(error: ValidationError, source: YamlSource) -> str:
    return "\n".join(
        f"{source.file}:{source.line(problem.path)}: {dotted(problem.path)}: {problem.message}"
        for problem in describe(error, source.data)
    )
