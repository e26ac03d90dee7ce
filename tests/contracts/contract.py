"""The proof that one router gives: its scenarios and cases, and what catches each broken variant of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from broker_service.routing.interface import Router
from record.errors import BadInputError
from studies.conformance.case_runner import settings
from studies.conformance.model import Case
from studies.conformance.protocols import ConformanceProtocol
from studies.conformance.result import CaseVerdict, Result
from tests.contracts.properties import CORRECT
from tests.contracts.protocols import in_place_of, registered
from tests.contracts.running import cases, judged, tried

Property = Callable[[], str]
"""Returns what is wrong in words of its own, or `CORRECT`."""


@dataclass(frozen=True)
class Catch:
    """A broken variant and the scenario, case or property that catches it."""

    router: type[Router]
    by: str
    """Name in `Contract.scenarios` or `Contract.properties`, or the id of a case."""
    found: str
    """The finding: verdicts of the oracle, one of `_finding`'s words, or a property's own words."""


@dataclass(frozen=True, kw_only=True)
class Contract:
    """The proof for one protocol."""

    protocol: str
    options: Mapping[str, object] = field(default_factory=dict)
    """Options with which conformance cases run."""
    scenarios: Mapping[str, str]
    """Texts by name; the oracle finds each one correct."""
    file: str
    """File with the protocol's own cases, beside this module."""
    shipped: Sequence[str]
    """Files of `tests/conformance` whose cases apply, but those in which brokers or links fail."""
    real: Sequence[str]
    """Ids of own cases that run on processes and containers, too."""
    properties: Mapping[str, Property] = field(default_factory=dict)
    catches: Sequence[Catch]

    @property
    def row(self) -> ConformanceProtocol:
        return ConformanceProtocol(self.protocol, self.protocol, self.options)

    @property
    def cases(self) -> list[Case]:
        return cases(self.file)

    @property
    def on_real_brokers(self) -> list[Case]:
        return [case for case in self.cases if case.id in self.real]

    def suits(self, case: Case) -> bool:
        """True unless the protocol refuses to prepare for the overlay of a case."""
        with registered():
            try:
                settings(case, self.row)
            except BadInputError:
                return False
        return True

    def kind(self, name: str) -> str:
        """The judge behind a name that a `Catch` gives."""
        if name in self.scenarios:
            return "oracle"
        return "property" if name in self.properties else "conformance"

    def finding(self, name: str, directory: Path) -> str:
        """The finding of the scenario, case or property of a name; `CORRECT` when all is well."""
        if name in self.scenarios:
            return ", ".join(judged(self.scenarios[name], directory).verdicts)
        if name in self.properties:
            return self.properties[name]()
        return _finding(tried(next(case for case in self.cases if case.id == name), self.row))

    def caught(self, catch: Catch, directory: Path) -> str:
        """The finding when all brokers run the broken variant."""
        with in_place_of(self.protocol, catch.router):
            return self.finding(catch.by, directory)


def _finding(result: Result) -> str:
    """A result in one word."""
    if result.verdict is CaseVerdict.PASSED:
        return CORRECT
    if result.problem:
        return "unsettled" if "does not settle" in result.problem else "defect"
    if any(difference.missing for difference in result.differences):
        return "missing"
    return "surplus" if any(difference.surplus for difference in result.differences) else "order"
