"""A composite subscription that a detector detects at present."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from broker_service.detection.matches import Arrival, Leaf, Match
from broker_service.detection.plans import PatternPlans
from broker_service.detection.search import Search
from broker_service.detection.slots import Values
from broker_service.language import Subscription, Value
from broker_service.language.canonical import canonical
from broker_service.language.composite import Composite
from broker_service.language.composite_subscription import relaxed


class Standing:
    """A pattern with the matches of its leaves, and their publications in the order of arrival."""

    def __init__(self, id: str, pattern: Composite, within: int) -> None:
        """`within` is the window in nanoseconds."""
        self.id = id
        self.within = within
        plans = PatternPlans(id, canonical(pattern))
        subscriptions = [relaxed(part) for part in plans.parts]
        self.parts: tuple[Subscription, ...] = tuple(dict.fromkeys(subscriptions))
        """Subscriptions by which the parts are routed, all different; several leaves may have the same."""
        self._leaves: list[list[Leaf]] = [
            [leaf for leaf, own in zip(plans.leaves, subscriptions, strict=True) if own == part] for part in self.parts
        ]
        """Leaves of each part."""
        self._plans = plans.plans
        self.reads_content = plans.slots.count > 0
        """True when the pattern has variables, so that contents have to be decoded."""
        self._blank: Values = (None,) * plans.slots.count
        self._all_slots = tuple(range(plans.slots.count))
        self._arrivals: deque[Arrival] = deque()
        """Publications with matches here, in the order of arrival, among them some that were dropped."""
        self._dropped = 0
        """Number of publications that were dropped since those were sorted out."""

    def fill(
        self, arrival: Arrival, parts: Iterable[int], attributes: Mapping[str, Value], candidates: int
    ) -> Search | None:
        """Adds a publication to the leaves of these parts, and finds what it completes that was not complete before.

        `candidates` bounds the matches that are tried. Returns None where it is clear that nothing is complete.
        """
        kept = [match for match in arrival.matches if match.leaf.composite == self.id] if arrival.matches else []
        new = self._new_matches(arrival, parts, attributes, kept)
        if not new:
            return None
        search = None
        if kept:
            search = self._search(None, kept, candidates)
            if search is not None:
                search.set_aside()
        else:
            self._arrivals.append(arrival)
        for match in new:
            for path in match.leaf.paths:
                path.add(match)
        arrival.matches += tuple(new)
        return self._search(search, new, candidates)

    def _new_matches(
        self, arrival: Arrival, parts: Iterable[int], attributes: Mapping[str, Value], kept: list[Match]
    ) -> list[Match]:
        new: list[Match] = []
        for part in parts:
            for leaf in self._leaves[part]:
                values = leaf.reader.read(attributes)
                if values is not None and not (kept and any(match.leaf is leaf for match in kept)):
                    new.append(Match(arrival.key, arrival, leaf, values))
        return new

    def _search(self, search: Search | None, matches: Iterable[Match], candidates: int) -> Search | None:
        """Finds whatever contains one of these matches. A search is begun where there may be something to find."""
        for match in matches:
            plan, values = self._plans[match.leaf], self._values(match)
            if plan.may_succeed(values):
                search = search or Search(self.within, candidates)
                search.start(match, plan, values)
        return search

    def _values(self, match: Match) -> Values:
        """Values of all slots of the pattern where this match alone is chosen."""
        slots = match.leaf.reader.slots
        if slots == self._all_slots:
            return match.values
        values = list(self._blank)
        for slot, value in zip(slots, match.values, strict=True):
            values[slot] = value
        return tuple(values)

    def expired(self, before: int) -> Sequence[Arrival]:
        """Takes out the publications that arrived before this time, oldest first.

        Their matches are still here, except for those that were dropped.
        """
        arrivals = self._arrivals
        if not arrivals or arrivals[0].time >= before:
            return ()
        expired = [arrivals.popleft()]
        while arrivals and arrivals[0].time < before:
            expired.append(arrivals.popleft())
        return expired

    def all_arrivals(self) -> Iterator[Arrival]:
        """Publications with matches here."""
        return filter(self._has, self._arrivals)

    def dropped(self, arrival: Arrival) -> None:
        """The matches of this publication were removed before they expired."""
        if self._arrivals[0] is arrival:
            self._arrivals.popleft()
            return
        self._dropped += 1
        if self._dropped * 2 > len(self._arrivals):
            self._arrivals = deque(self.all_arrivals())
            self._dropped = 0

    def _has(self, arrival: Arrival) -> bool:
        return any(match.leaf.composite == self.id for match in arrival.matches)
