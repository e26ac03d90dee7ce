"""Results of cases."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from broker_service.messages import BrokerId, ClientId
from studies.conformance.model import Notification


class CaseVerdict(enum.StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Difference:
    """Expected and actual notifications of one client, where they differ."""

    client: ClientId
    expected: tuple[Notification, ...]
    got: tuple[Notification, ...]

    @property
    def missing(self) -> tuple[Notification, ...]:
        return tuple((Counter(self.expected) - Counter(self.got)).elements())

    @property
    def surplus(self) -> tuple[Notification, ...]:
        """Got more often than expected, or not expected at all."""
        return tuple((Counter(self.got) - Counter(self.expected)).elements())

    @property
    def concerns(self) -> tuple[Notification, ...]:
        """The notifications to look into: those of the wrong number, else the first in the wrong place."""
        if wrong := tuple(dict.fromkeys((*self.missing, *self.surplus))):
            return wrong
        return next(((got,) for got, expected in zip(self.got, self.expected, strict=True) if got != expected), ())


@dataclass(frozen=True, slots=True)
class TablesOnTheWay:
    """The routing tables on the way of publications, when they had been published."""

    publications: tuple[str, ...]
    publisher: BrokerId
    subscriber: BrokerId
    tables: Mapping[BrokerId, Mapping[str, object]]
    """Tables of the brokers that can lie on a path between those two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One cell of the table: a case, under a protocol, on a runtime. A relation has neither of the two."""

    case: str
    verdict: CaseVerdict
    protocol: str = ""
    selected_by: str = ""
    """The value of the option `--protocol` that selects its protocol; empty where that is its name."""
    runtime: str = ""
    differences: tuple[Difference, ...] = ()
    crossings: tuple[str, ...] = ()
    """Sentences on the links that publications crossed and should not have, or the other way round."""
    problem: str = ""
    """Why it could not be brought to its end; or, of a relation, what differs."""
    defect: str = ""
    """Sentence on a defect of the router's code that ended it."""
    note: str = ""
    """Reason for which the case was skipped."""
    refused: tuple[str, ...] = ()
    """Brokers' reasons for rejecting operations."""
    losses: tuple[str, ...] = ()
    """Sentences on what brokers dropped and refused, in a case that failed."""
    on_the_way: tuple[TablesOnTheWay, ...] = ()
    seconds: float = field(default=0.0, compare=False)
    """Seconds of real time that the case took."""


def differences(
    expected: Mapping[ClientId, Sequence[Notification]],
    got: Mapping[ClientId, Sequence[Notification]],
    *,
    ordered: bool,
) -> tuple[Difference, ...]:
    """Compares what clients got with what they should have got; a client that is not mentioned should get nothing."""
    found = []
    for client in dict.fromkeys((*expected, *sorted(got))):
        wanted, had = tuple(expected.get(client, ())), tuple(got.get(client, ()))
        if (wanted != had) if ordered else (Counter(wanted) != Counter(had)):
            found.append(Difference(client, wanted, had))
    return tuple(found)
