"""The account of an exploration on disk, from which the same command goes on."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from record.errors import BadInputError
from record.files import replace_file
from scenario.loading import load
from studies.exploration.directory import case_of, found_of, scenario_of
from studies.exploration.exploration import Account
from studies.exploration.findings import Cause, Finding
from studies.exploration.judged_run import Defect
from studies.exploration.surroundings import Surroundings

FILE = "exploration.json"


class SavedFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A finding without its scenarios, which are files of their own."""

    name: str
    kind: str
    faults: tuple[str, ...]
    altered: tuple[str, ...]
    number: int
    defects: tuple[tuple[str, str], ...]
    moments: tuple[str, ...]
    seen: int
    confirmed: str = ""


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """The object of an exploration. Only one with the same subject goes on with it."""

    scenario: str
    """The scenario's name."""
    protocol: str
    seed: int
    overlay: str
    """The kind of overlay, in words."""
    options: dict[str, Any]
    """Options of the protocol that the scenario sets."""
    composites: bool
    """True where clients make composite subscriptions."""

    @classmethod
    def of(cls, scenario: str, surroundings: Surroundings, seed: int) -> Subject:
        """The subject of an exploration around a scenario of this name."""
        return cls(
            scenario=scenario,
            protocol=surroundings.protocol,
            seed=seed,
            overlay=surroundings.shape.name.lower().replace("_", " "),
            options=msgspec.to_builtins(dict(surroundings.options)),
            composites=surroundings.composites,
        )

    def difference(self, other: Subject) -> str:
        """The first thing in which the other one differs, in words; empty where there is none."""
        for name in self.__struct_fields__:
            here, there = getattr(self, name), getattr(other, name)
            if here != there:
                return f"{name} {here}, not {there}"
        return ""


class SavedAccount(msgspec.Struct, frozen=True, kw_only=True):
    """The account, and what the exploration was asked to explore."""

    subject: Subject
    runs: int
    refused: int
    shrinking_runs: int
    processor: float
    seconds: float = 0.0
    seen: dict[str, int]
    kinds: dict[str, int]
    findings: list[SavedFinding]


def save_account(account: Account, subject: Subject, directory: Path) -> None:
    """Replaces the file of an exploration in one step."""
    saved = SavedAccount(
        subject=subject,
        runs=account.runs,
        refused=account.refused,
        shrinking_runs=account.shrinking_runs,
        processor=account.processor,
        seconds=account.seconds,
        seen=dict(account.seen),
        kinds=dict(account.kinds),
        findings=[_saved(finding) for finding in account.findings.values()],
    )
    content = msgspec.json.format(msgspec.json.encode(saved, order="sorted"), indent=2)
    replace_file(directory / FILE, content + b"\n")


def saved_account(directory: Path, subject: Subject) -> Account:
    """The account of an earlier exploration in this directory; an empty one where there was none.

    Raises `BadInputError` where that explored something else, or its files are damaged.
    """
    path = directory / FILE
    if not path.exists():
        return Account()
    try:
        saved = msgspec.json.decode(path.read_bytes(), type=SavedAccount)
    except (OSError, msgspec.DecodeError) as error:
        raise BadInputError(f"{path}: {error}; choose another directory with --out") from error
    if difference := saved.subject.difference(subject):
        raise BadInputError(
            f"--out {directory}: has an exploration of another kind: {difference}; choose another directory"
        )
    found = [_finding(finding, directory) for finding in saved.findings]
    return Account(
        runs=saved.runs,
        refused=saved.refused,
        shrinking_runs=saved.shrinking_runs,
        processor=saved.processor,
        seconds=saved.seconds,
        seen=Counter(saved.seen),
        kinds=Counter(saved.kinds),
        findings={finding.cause: finding for finding in found},
    )


def _saved(finding: Finding) -> SavedFinding:
    return SavedFinding(
        name=finding.name,
        kind=finding.cause.kind,
        faults=finding.cause.faults,
        altered=finding.cause.altered,
        number=finding.number,
        defects=tuple((defect.kind, defect.detail) for defect in finding.defects),
        moments=finding.moments,
        seen=finding.seen,
        confirmed=finding.confirmed,
    )


def _finding(saved: SavedFinding, directory: Path) -> Finding:
    return Finding(
        name=saved.name,
        cause=Cause(saved.kind, saved.faults, saved.altered),
        number=saved.number,
        scenario=load(scenario_of(saved.name, directory)),
        found=load(found_of(saved.name, directory)),
        defects=tuple(Defect(kind, detail) for kind, detail in saved.defects),
        moments=saved.moments,
        case=case.read_text() if (case := case_of(saved.name, directory)).exists() else "",
        seen=saved.seen,
        confirmed=saved.confirmed,
    )
