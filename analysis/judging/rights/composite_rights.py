"""Rights to the parts of detections: a publication that matches a part of a composite subscription is judged as if the
composite subscription were a plain one that it matches.

Where starts of subscriptions are announced, a publication that comes after the announced start of a composite
subscription is due as it is to a plain one (`analysis.judging.rights.duties`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from analysis.judging.doubt import Doubt
from analysis.judging.histories.history import History
from analysis.judging.language import Value
from analysis.judging.rights.declared import declared_parts
from analysis.judging.rights.duties import Duties
from analysis.judging.rights.interests import ReadContent
from analysis.judging.rights.standing import Flight, Standing, Status, standings_of
from analysis.judging.rights.subscribed import doubt_of, judged_right, moments_of, spurious_cause
from analysis.judging.trace import Step
from analysis.tables.deliveries import Cause, Right
from record.promises import Completeness


class PartMatch(msgspec.Struct, array_like=True, gc=False):
    """A publication that matches parts of a composite subscription."""

    stamp: int
    """The time of its publishing, in nanoseconds."""
    publication: str
    intended: int | None
    lifetime: int
    """The number of the composite subscription in its variant's history."""
    right: Right
    """Right of the client to the publication as part of a detection: must, may or none. It is may where there is a
    doubt, though the client is owed it."""
    cause: Cause | None
    """The reason for none."""
    until: int
    """The time until which it may have been in flight."""
    origin: str | None
    """The publisher's broker."""
    leaves: list[int]
    """The numbers of the parts, ascending."""
    values: list[list[Value]]
    """For each of them, the values that it compares with variables; empty where no part has variables."""
    doubt: Doubt | None = None
    """The fault that may have cost the client what it is owed, whatever way the publication took; None without any."""
    tree: int | None = None
    """The number of the advertisement on whose tree the publication certainly travels."""
    steps: list[Step] = []
    """The records of its copies, in order of time; where no fault may have cost one, only the last of them on the way
    to the client."""
    logged: bool = True
    """False where brokers logged a sample of publications without it."""


class _JudgedParts(NamedTuple):
    """The parts of one composite subscription that a publication matches, and its right to it."""

    lifetime: int
    right: Right
    cause: Cause | None
    doubt: Doubt | None
    leaves: list[int]
    attributes: list[tuple[str, ...]]
    """For each of the leaves; empty where none has variables."""


_JudgedKey = tuple[int, tuple[int, ...], Status, Doubt | None]
"""The time between two moments, the parts matched, the publisher's entitlement, and the doubt."""
_MOST_KNOWN = 10_000
"""Combinations of these that are kept with their judgement."""


class _Leaf(msgspec.Struct, frozen=True):
    """A part of a composite subscription."""

    made: Standing
    number: int
    attributes: tuple[str, ...]
    """Attributes that the part compares with variables, in the order of its predicates."""


class CompositeRights:
    """The composite subscriptions of one variant."""

    def __init__(self, history: History, status_of: Callable[[Standing, Flight], Status]) -> None:
        """`status_of` gives the status of a subscription towards a publication."""
        self._status_of = status_of
        self._best_effort = history.promises.delivery is not Completeness.EVERY
        self._leaves: list[list[_Leaf]] = []
        """Parts by their numbers (`ReadContent.parts`), each once for every broker at which its client is."""
        self._known: dict[_JudgedKey, list[_JudgedParts]] = {}
        self._made: dict[int, list[Standing]] = {}
        for number, place, part in declared_parts(history):
            if number not in self._made:
                self._made[number] = list(standings_of(number, history.lifetimes[number], history))
            attributes = tuple(made.attribute for made in part.variables)
            self._leaves.append([_Leaf(made, place, attributes) for made in self._made[number]])
        standings = (made for of_lifetime in self._made.values() for made in of_lifetime)
        self._moments = None if history.has_cuts else moments_of(standings)

    def matches(self, content: ReadContent, flight: Flight, entitled: Status) -> Sequence[PartMatch]:
        """The composite subscriptions that have parts which a publication matches, with the right to it."""
        return list(self._matches(content, flight, entitled)) if content.parts else ()

    def refused(self, content: ReadContent, flight: Flight) -> Sequence[PartMatch]:
        """Matches of a publication that its broker refused: no client has a right to it."""
        matches = self.matches(content, flight, Status.NONE)
        for match in matches:
            match.cause = Cause.REFUSED
        return matches

    def raise_announced(self, matches: Iterable[PartMatch], flight: Flight, duties: Duties) -> None:
        """Raises rights to must where the start of the composite subscription had been announced."""
        for match in matches:
            standing = (made for made in self._made[match.lifetime] if made.concerns(flight.published.time))
            if match.right is Right.MAY and any(duties.is_announced(made, flight) for made in standing):
                match.right, match.doubt = Right.MUST, None

    def _matches(self, content: ReadContent, flight: Flight, entitled: Status) -> Iterator[PartMatch]:
        published, attributes = flight.published, content.attributes
        numbers = tuple(sorted(content.parts))
        for judged in self._judged(numbers, flight, entitled):
            yield PartMatch(
                published.time,
                published.publication,
                published.intended,
                judged.lifetime,
                judged.right,
                judged.cause,
                flight.until,
                published.broker,
                judged.leaves,
                [[attributes[name] for name in of_leaf] for of_leaf in judged.attributes],
                judged.doubt,
            )

    def _judged(self, numbers: tuple[int, ...], flight: Flight, entitled: Status) -> list[_JudgedParts]:
        """The parts with these numbers by composite subscription. While no status changes, they are judged once."""
        between = None if self._moments is None else self._moments.between(flight.published.time, flight.until)
        if between is None:
            return self._judged_now(numbers, flight, entitled)
        key = between, numbers, entitled, flight.doubt
        known = self._known.get(key)
        if known is None:
            known = self._judged_now(numbers, flight, entitled)
            if len(self._known) < _MOST_KNOWN:
                self._known[key] = known
        return known

    def _judged_now(self, numbers: tuple[int, ...], flight: Flight, entitled: Status) -> list[_JudgedParts]:
        by_lifetime: dict[int, list[_Leaf]] = {}
        for number in numbers:
            for leaf in self._leaves[number]:
                if leaf.made.concerns(flight.published.time):
                    by_lifetime.setdefault(leaf.made.number, []).append(leaf)
        found = []
        for lifetime, leaves in by_lifetime.items():
            status = self._status_of(leaves[0].made, flight)
            right = judged_right(status, entitled, flight.doubt)
            doubt = doubt_of(status, entitled, flight.doubt) if right is Right.MAY else None
            if self._best_effort and right is not Right.NONE:
                right, doubt = Right.MAY, None
            cause = spurious_cause(status) if right is Right.NONE else None
            names = [leaf.attributes for leaf in leaves] if any(leaf.attributes for leaf in leaves) else []
            found.append(_JudgedParts(lifetime, right, cause, doubt, [leaf.number for leaf in leaves], names))
        return found
