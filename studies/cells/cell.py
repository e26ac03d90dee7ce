"""A cell: one scenario with one seed, run with all its variants, and what a study reads from the finished run."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Generic, TypeAlias, TypeVar

import msgspec

from analysis.tables.summary import CORRECT, Summary
from emulation.planning.plan import Plan, make_plan
from emulation.run.directory import RunOutcome
from emulation.runtimes.protocol_code import PackedProtocol
from emulation.simulation.run import simulate
from record.files import replace_file
from record.manifest import ChosenDilation
from scenario.loading import load_text
from scenario.yaml_files.source import as_yaml, parse


class CellResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a cell; each study adds fields. It holds no time of day, no path and no host."""

    fingerprint: str
    """Hash of the scenario that was run."""
    runtime: str
    delivery: list[str]
    """`correct` or `unjudged` alone, or the defects of all variants."""
    fidelity: str
    """The worst verdict of the variants."""

    @property
    def correct(self) -> bool:
        return self.delivery == [CORRECT]

    @property
    def passed(self) -> bool:
        """False for a finding, which no further attempt may hide."""
        return self.correct

    @property
    def outcome(self) -> str:
        """The result in one line."""
        return f"{', '.join(self.delivery)}; {self.fidelity}"

    @property
    def doubts(self) -> list[str]:
        """The reasons why the run is not VALID."""
        return []

    def encode(self) -> bytes:
        """The canonical bytes of a result: the same for equal results."""
        return msgspec.json.format(msgspec.json.encode(self, order="sorted"), indent=2) + b"\n"


Result = TypeVar("Result", bound=CellResult)
Result_co = TypeVar("Result_co", bound=CellResult, covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell(ABC, Generic[Result_co]):
    """A cell with everything that is needed to run it on any host. It can be written as JSON, and pickled."""

    study: ClassVar[str]
    """The kind of study that has such cells, by which `studies.on_host` knows what it reads."""
    key: str
    """The cell's name within the study: letters, digits and `_.+-`."""
    scenario: str
    """The whole resolved scenario, with seed and faults, as YAML in the form of JSON."""
    cost: float = 1.0
    """The time that the cell takes in comparison with others of the study, in any unit."""
    protocols: tuple[PackedProtocol, ...] = ()
    """The scenario's protocols from outside, with their code."""
    dilation: ChosenDilation | msgspec.UnsetType = msgspec.UNSET
    """The time dilation, where the scenario leaves it to rehearsals and they chose one."""

    @property
    def fingerprint(self) -> str:
        """Hash of the scenario and its protocols' code: the same for cells that run the same."""
        digest = hashlib.sha256(self.scenario.encode())
        for protocol in self.protocols:
            digest.update(protocol.digest.encode())
        return digest.hexdigest()[:16]

    def plan(self) -> Plan:
        """The plan of a run of this cell. Raises `UserError`s."""
        for protocol in self.protocols:
            protocol.provide()
        return make_plan(load_text(self.scenario, self.key))

    def write_scenario(self, directory: Path) -> Path:
        """Makes `directory/scenario.yaml`, which `brokerlab emulate` runs too."""
        directory.mkdir(parents=True, exist_ok=True)
        file = directory / "scenario.yaml"
        replace_file(file, as_yaml(parse(self.scenario, self.key).data, indent=2).encode() + b"\n")
        return file

    def simulate(self, plan: Plan, directory: Path) -> RunOutcome:
        """Runs the plan in virtual time with its run directory below `directory`."""
        return simulate(plan, directory)

    @abstractmethod
    def read(self, outcome: RunOutcome, summary: Summary, runtime: str) -> Result_co:
        """The result of a run that was analysed. The same simulated cell has the same one wherever it runs."""


AnyCell: TypeAlias = Cell[CellResult]
SomeCell = TypeVar("SomeCell", bound=AnyCell)


class CellInterruptedError(Exception):
    """The run was interrupted before its end, so there is nothing to judge."""
