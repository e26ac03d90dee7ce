"""Rows of the kit: checks that are named after the statements of the contract, and the outcome of each."""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from studies.broker_kit.bench import Bench


class Suite(enum.StrEnum):
    """Parts of the kit, in the order in which they run."""

    START = "start"
    SESSION = "session"
    CONTENT = "content"
    STATUS = "status"
    LOGS = "logs"
    BEHAVIOUR = "behaviour"
    WIRE = "wire"


class RowVerdict(enum.StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    ADVISED = "advised"
    """The broker does not do what it SHOULD; no fault."""
    NOT_APPLICABLE = "not applicable"


Check = Callable[[Bench], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Row:
    """One check. `statement` names what it checks, such as `S-9`, and `name` the check, in words."""

    statement: str
    name: str
    suite: Suite
    level: int
    """The least level of a broker that it is for."""
    demand: str
    """The sentence that a broker which passes makes true."""
    check: Check
    should: bool = False
    """True where the contract says SHOULD."""
    within: float = 60.0
    """Seconds after which the check is given up as failed."""

    @property
    def id(self) -> str:
        return f"{self.statement} {self.name}"


@dataclass(frozen=True, slots=True)
class RowResult:
    """The outcome of a row."""

    row: Row
    verdict: RowVerdict
    reason: str = ""
    """Why it did not pass, in one sentence."""
    seconds: float = 0.0


class Rows:
    """The rows of a suite, which its functions are added to."""

    def __init__(self, suite: Suite) -> None:
        self.suite = suite
        self.all: list[Row] = []

    def must(self, statement: str, *, level: int = 1, within: float = 60.0) -> Callable[[Check], Check]:
        """Adds a check of something that the contract demands; its docstring is the demand."""
        return self._adding(statement, level, within, should=False)

    def should(self, statement: str, *, level: int = 1) -> Callable[[Check], Check]:
        """Adds a check of something that the contract recommends."""
        return self._adding(statement, level, 60.0, should=True)

    def _adding(self, statement: str, level: int, within: float, *, should: bool) -> Callable[[Check], Check]:
        def add(check: Check) -> Check:
            name = check.__name__.replace("_", "-")
            demand = " ".join((check.__doc__ or "").split())
            self.all.append(Row(statement, name, self.suite, level, demand, check, should, within))
            return check

        return add
