"""State of one broker: what it knows of the subscriptions of all sources (rule 1 of `propagation`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from broker_service.routing.gryphon.overlay.local_view import LocalView
from broker_service.routing.gryphon.overlay.routing_tree import NodeNumber
from broker_service.routing.gryphon.propagation.messages import Addition, News
from broker_service.routing.gryphon.subscriptions.conjunctions import Conjunction
from broker_service.routing.gryphon.subscriptions.roots import Difference, RootSets
from broker_service.routing.gryphon.virtual_time.clock import VirtualTime
from broker_service.routing.gryphon.virtual_time.vectors import Leaf, Vector, dominates, part_of, raise_to

Observer = Callable[[NodeNumber, Iterable[Conjunction], Iterable[Conjunction]], None]
"""Called with a source and the roots that it has added and removed."""


class KnownState:
    """The roots of each source around one broker, and its V_b."""

    def __init__(self, view: LocalView, roots: RootSets, announced: VirtualTime, observe: Observer) -> None:
        """Before the time `announced`, the broker's own leaf has no subscription."""
        self.known: dict[Leaf, VirtualTime] = {view.leaf: announced} if announced else {}
        """The broker's vector V_b: the virtual time up to which it knows the changes of each leaf."""
        self.version = 0
        """Number that grows whenever V_b does."""
        self.roots = roots
        self.overstated: set[NodeNumber] = set()
        """Sources that may have fewer roots than are known here (rule 7)."""
        self._view = view
        self._observe = observe

    def applies(self, news: News, base: Vector) -> bool:
        """True when a change can be applied to the present state (rule 3)."""
        if isinstance(news, Addition):
            return self.known.get(news.leaf, 0) >= news.time - 1
        known = part_of(self.known, self._view.behind[news.source])
        return known == base and self.roots.received[news.source].fingerprint == news.fingerprint

    def takes(self, source: NodeNumber, known: Vector) -> bool:
        """True when a state can take the place of what is known of a source (rule 4)."""
        return dominates(known, part_of(self.known, self._view.behind[source]))

    def replace(self, source: NodeNumber, known: Vector, roots: Iterable[Conjunction]) -> None:
        """Takes a state of a source in place of what is known."""
        wanted = {root.body for root in roots}
        self.update(source, roots, [each for each in self.roots.received[source] if each.body not in wanted])
        self.raise_to(known)

    def update(
        self, source: NodeNumber, added: Iterable[Conjunction], removed: Iterable[Conjunction]
    ) -> Mapping[NodeNumber, Difference]:
        """Changes the roots of a source. Returns the difference that this makes in each direction."""
        received = self.roots.received[source].by_body
        removed = [each for each in removed if each.body in received]
        added = [each for each in added if each.body not in received]
        self._observe(source, added, removed)
        return self.roots.update(source, added, removed)

    def advance(self, leaf: Leaf, time: VirtualTime) -> None:
        """Raises the element of a leaf to a time if it is below."""
        if self.known.get(leaf, 0) < time:
            self.known[leaf] = time
            self.version += 1

    def raise_to(self, known: Vector) -> None:
        """Raises V_b to a vector where it is below."""
        if raise_to(self.known, known):
            self.version += 1
