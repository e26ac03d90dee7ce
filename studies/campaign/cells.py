"""Makes the cells of a campaign: every combination of factors, fault schedules and seeds, checked before any is run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from emulation.runtimes.protocol_code import packed_protocols
from record.errors import BadInputError
from record.wording import count_of
from scenario.loading import load
from scenario.model import Scenario
from scenario.sections.faults import FaultItem
from scenario.sections.vary import name_at
from scenario.yaml_files.errors import ScenarioError
from scenario.yaml_files.source import as_yaml
from studies.campaign.cell import CampaignCell
from studies.campaign.model import AS_WRITTEN, Campaign

MOST_CELLS = 100_000
_LONGEST_NAME = 60
"""Limit of the characters for factors in a cell's key, which is part of paths."""


def cells(campaign: Campaign, file: Path) -> tuple[CampaignCell, ...]:
    """All cells, with seeds innermost. `file` is the campaign's name in errors.

    Raises `BadInputError` for values that the scenario does not accept, and for more than `MOST_CELLS` cells.
    """
    count = prod(map(len, campaign.factors.values())) * len(_schedules(campaign)) * len(campaign.seeds)
    if count > MOST_CELLS:
        raise BadInputError(f"{file}: {count_of(count, 'cell')}; a campaign has at most {MOST_CELLS:,}")
    made: dict[str, CampaignCell] = {}
    for values in product(*campaign.factors.values()):
        settings = dict(zip(campaign.factors, values, strict=True))
        for cell in _with_settings(campaign, settings, file):
            if cell.key in made:
                raise BadInputError(f"{file}: factors: two cells would be called {cell.key!r}; let their values differ")
            made[cell.key] = cell
    return tuple(made.values())


def fingerprint(campaign: Campaign, planned: tuple[CampaignCell, ...]) -> str:
    """Hash of everything that is run. Comments and descriptions in the file may change without effect."""
    content = [campaign.name, campaign.runtime, [[cell.key, cell.fingerprint] for cell in planned]]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def _with_settings(campaign: Campaign, settings: Mapping[str, Any], file: Path) -> Iterator[CampaignCell]:
    """The cells with the same factors."""
    prefix = key_prefix(settings)
    for schedule, faults in _schedules(campaign).items():
        overrides = {path: as_yaml(value) for path, value in (campaign.set | dict(settings)).items()}
        if campaign.expect is not None:
            wanted = campaign.expect.model_dump(mode="json", exclude_none=True)
            overrides |= {f"expect.{field}": as_yaml(value) for field, value in wanted.items()}
        if faults is not None:
            overrides["faults"] = as_yaml([fault.model_dump(mode="json", exclude_none=True) for fault in faults])
        for seed in campaign.seeds:
            key = f"{prefix}{schedule}-{seed}"
            scenario = _scenario(campaign, overrides | {"seed": str(seed)}, file, key)
            yield CampaignCell(
                key=key,
                factors=tuple((path, json.dumps(value)) for path, value in settings.items()),
                schedule=schedule,
                seed=seed,
                scenario=as_yaml(scenario.resolved()),
                protocols=packed_protocols(variant.scenario.routing.protocol for variant in scenario.variants()),
            )


def _schedules(campaign: Campaign) -> Mapping[str, Sequence[FaultItem] | None]:
    """The fault schedules by name; None means the faults of the scenario itself."""
    return campaign.faults or {AS_WRITTEN: None}


def _scenario(campaign: Campaign, overrides: Mapping[str, str], file: Path, key: str) -> Scenario:
    """The scenario of a cell. Errors in values from the campaign name the campaign."""
    try:
        return load(Path(campaign.scenario), overrides)
    except ScenarioError as error:
        raise BadInputError(f"{file}: cell {key}: {str(error).replace('--set ', '')}") from error


def key_prefix(settings: Mapping[str, Any]) -> str:
    """The values of the factors as the beginning of a key."""
    if not settings:
        return ""
    name = "+".join(name_at(path, value) for path, value in settings.items())
    if len(name) > _LONGEST_NAME:
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]
        name = f"{name[:_LONGEST_NAME]}-{digest}"
    return f"{name}+"
