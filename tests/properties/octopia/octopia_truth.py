"""The right behaviour of OctopiA in a case, derived from its steps and from the structure of its overlay alone.

Where a client is when it says something is where its step says so; `oracle.history` knows what stands when.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import TypeGuard

import networkx as nx

from studies.conformance.model import Case, Declaration, Step, Withdrawal
from tests.properties.content import CLASSES, PRICES, suits
from tests.properties.oracle import NEVER, Published, Span, history
from topology.structures.scot import Scot, scot_of

_PUBLICATIONS = [f"[class,'{name}'],[price,{price}]" for name, price in product(sorted(set(CLASSES)), PRICES)]
"""All there can be, for bounds are whole numbers."""


def intersect(advertisement: str, subscription: str) -> bool:
    """True when some publication fits both."""
    return any(suits(advertisement, publication) and suits(subscription, publication) for publication in _PUBLICATIONS)


def is_of(step: Step, client: str) -> TypeGuard[Declaration | Withdrawal]:
    """True for a step of a client."""
    return isinstance(step, Declaration | Withdrawal) and step.client == client


@dataclass
class Truth:
    """One case, when all its steps have been taken and the overlay is quiet."""

    case: Case
    scot: Scot = field(init=False)

    def __post_init__(self) -> None:
        self.scot = scot_of(self.case.overlay())
        self.past = history(self.case)

    def home(self, said: Span | Published) -> str:
        """The broker that a client said something at."""
        step = self.case.steps[said.begin if isinstance(said, Span) else said.step]
        assert isinstance(step, Declaration)
        return step.broker

    def cluster(self, broker: str) -> int:
        return self.scot.coordinates[broker].cluster

    def standing(self, kind: str, broker: str = "") -> list[Span]:
        """Declarations in force at the end, oldest first; those of one broker's clients, if it is named."""
        return [
            span
            for span in self.past.spans
            if span.kind == kind and span.end == NEVER and (not broker or self.home(span) == broker)
        ]

    # Tables

    def vectors(self, broker: str, host: str) -> list[str]:
        """The vectors that a broker keeps with the advertisements of a host broker's clients, as they were said.

        At the host broker, CIV_a: its own cluster, and those with a matching subscription. At a secondary broker,
        CIV_s: the host cluster, and its own if that has a matching subscription. At all others there are none.
        (Section 8)
        """
        if self.scot.coordinates[broker].region != self.scot.coordinates[host].region:
            return []
        concerns = range(len(self.scot.clusters)) if broker == host else (self.cluster(broker),)
        return [
            "".join(
                "1" if cluster == self.cluster(host) or (cluster in concerns and self._wanted(said, cluster)) else "0"
                for cluster in reversed(range(len(self.scot.clusters)))
            )
            for said in self.standing("advertise", host)
        ]

    def _wanted(self, advertisement: Span, cluster: int) -> bool:
        return any(
            self.cluster(self.home(span)) == cluster and intersect(advertisement.text, span.text)
            for span in self.standing("subscribe")
        )

    # Publications

    @cached_property
    def publications(self) -> dict[str, Published]:
        return {published.id: published for published in self.past.publications}

    def in_force(self, kind: str, step: int) -> Iterator[Span]:
        return (span for span in self.past.spans if span.kind == kind and span.begin < step < span.end)

    def advertisement(self, published: Published) -> Span | None:
        """The oldest one of its publisher that the publication conforms to; None where it is rejected."""
        standing = self.in_force("advertise", published.step)
        return next((s for s in standing if s.client == published.client and suits(s.text, published.text)), None)

    def static_journeys(self, published: Published) -> dict[str, int]:
        """Brokers that receive a publication over a link, with the hops, when nothing else is in flight. (Section 9.1)

        It goes to the subscribers of the host cluster along the tree; and over one link into every cluster with a
        subscription that matches the advertisement, and on along the tree to those that match the publication.
        """
        advertisement = self.advertisement(published)
        if advertisement is None:
            return {}
        host = self.scot.coordinates[self.home(published)]
        journeys: dict[str, int] = {}
        for cluster in range(len(self.scot.clusters)):
            inside = [s for s in self.in_force("subscribe", published.step) if self.cluster(self.home(s)) == cluster]
            entered = int(cluster != host.cluster)
            if entered and any(intersect(advertisement.text, span.text) for span in inside):
                journeys[self.scot.broker(host.region, cluster)] = 1
            for span in inside:
                if suits(span.text, published.text):
                    way = nx.shortest_path(
                        self.scot.acyclic_factor, host.region, self.scot.coordinates[self.home(span)].region
                    )
                    journeys |= {self.scot.broker(region, cluster): n + entered for n, region in enumerate(way)}
            if not entered:
                journeys.pop(self.home(published), None)
        return journeys

    def places(self, client: str, published: Published) -> set[str]:
        """The brokers that a client was at while a publication may have been in flight."""
        before = [step.broker for step in self.case.steps[: published.step] if is_of(step, client)]
        since = [
            step.broker
            for number, step in enumerate(self.case.steps)
            if number >= published.step and is_of(step, client)
            if not self.past.settled_between(published.step, number)
        ]
        return {*before[-1:], *since}

    def may_want(self, published: Published, cluster: int) -> bool:
        """True when the cluster may count as a target: it has, or has had until a moment ago, or is just getting a
        subscription that matches what the publisher advertises."""
        advertised = [span for span in self.past.spans if span.client == published.client and span.kind == "advertise"]
        return any(
            self.cluster(self.home(span)) == cluster
            and any(intersect(advertisement.text, span.text) for advertisement in advertised)
            and not self.past.settled_between(span.end, published.step)
            and not self.past.settled_between(published.step, span.begin)
            for span in self.past.spans
            if span.kind == "subscribe"
        )
