"""The properties of OctopiA, each a function of a case and a protocol that raises `BrokenError`, as in `checks`."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import networkx as nx

from broker_service.messages import BrokerId
from broker_service.routing.common.congestion import Congestion
from broker_service.routing.common.identifiers import split_id
from studies.conformance.model import BrokerFault, Case
from tests.properties.checks import BrokenError, Property, ended
from tests.properties.content import suits
from tests.properties.octopia.octopia_truth import Truth, is_of
from tests.properties.oracle import violations
from tests.properties.trial import Arrival, Outcome

SPR, IDR, BEYOND = "octopia-spr", "octopia-idr", "octopia-beyond"
BOTH = (SPR, IDR)


def delivered_exactly_once(case: Case, protocol: str) -> None:
    """Exactly once to everybody who must be notified, never to anybody who must not.

    Brokers match publications on the way, so that a client which moves ahead of one may be notified at both brokers.
    """
    outcome, truth = ended(case, protocol), Truth(case)
    found = [
        violation
        for violation in violations(case, outcome.got)
        if not 1
        <= violation.times
        <= len(truth.places(violation.client, truth.publications[violation.publication])) * violation.right
    ]
    if found:
        raise BrokenError("; ".join(map(str, found)), outcome, protocol)


def a_dead_broker_is_gone_round(case: Case, protocol: str) -> None:
    """Beyond the paper: while one broker is dead, every client of another one is notified of what it wants, once."""
    outcome, truth = ended(case, protocol), Truth(case)
    dead = {step.broker for step in case.steps if isinstance(step, BrokerFault)}
    for published in truth.publications.values():
        for client in sorted({span.client for span in truth.past.spans}):
            said = [span for span in truth.in_force("subscribe", published.step) if span.client == client]
            wants = any(suits(span.text, published.text) and truth.home(span) not in dead for span in said)
            got = outcome.got.get(client, ()).count(published.id)
            if got != wants:
                raise BrokenError(f"{client} got {published.id} {got} times, not {int(wants)}", outcome, protocol)


def only_target_clusters_receive(case: Case, protocol: str) -> None:
    """No broker of a cluster without a matching subscription receives a publication. (Sections 8 and 9.1)"""
    outcome, truth = ended(case, protocol), Truth(case)
    for broker, (id, *_) in _journeys(outcome):
        published = truth.publications[id]
        cluster = truth.cluster(broker)
        if cluster != truth.cluster(truth.home(published)) and not truth.may_want(published, cluster):
            raise BrokenError(f"{broker} received {id}, which nobody in its cluster wants", outcome, protocol)


def paths_are_short(case: Case, protocol: str) -> None:
    """At most diam(G_af) links within the host cluster, and one more to another. (Section 9.1)"""
    outcome, truth = ended(case, protocol), Truth(case)
    for broker, (id, hops, *_) in _journeys(outcome):
        elsewhere = truth.cluster(broker) != truth.cluster(truth.home(truth.publications[id]))
        if hops > truth.scot.cluster_diameter + elsewhere:
            raise BrokenError(f"{id} came to {broker} after {hops} hops", outcome, protocol)


def publications_take_the_papers_paths(case: Case, protocol: str) -> None:
    """Exactly the brokers on static routing's paths receive a publication that is made while nothing else is in flight,
    once each, after exactly as many hops as there are on the path."""
    outcome, truth = ended(case, protocol), Truth(case)
    for id, published in truth.publications.items():
        received = sorted((broker, journey.hops) for broker, journey in _journeys(outcome) if journey.publication == id)
        expected = sorted(truth.static_journeys(published).items())
        if received != expected:
            raise BrokenError(f"{id} came to {received}, and its paths are {expected}", outcome, protocol)


def order_is_kept(case: Case, protocol: str) -> None:
    """Publications of one advertisement come to each client that stays where it is in the order they were made."""
    outcome, truth = ended(case, protocol), Truth(case)
    for client, ids in outcome.got.items():
        if len({step.broker for step in case.steps if is_of(step, client)}) > 1:
            continue
        last: dict[int, int] = {}
        for published in (truth.publications[id] for id in ids):
            advertisement = truth.advertisement(published)
            begin = -1 if advertisement is None else advertisement.begin
            if last.get(begin, -1) > published.step:
                raise BrokenError(f"{client} got {published.id} after later ones of the same", outcome, protocol)
            last[begin] = published.step


def vectors_are_the_truth(case: Case, protocol: str) -> None:
    """Once the overlay is quiet, every cluster index vector says just which clusters have a matching subscription; and
    every subscription is known all over its cluster, with the way to its subscriber, and nowhere else."""
    outcome, truth = ended(case, protocol), Truth(case)
    for name, broker in outcome.overlay.brokers.cores.items():
        tables: Mapping[str, Any] = broker.tables()
        for host in case.brokers:
            kept = _of_host(tables["cluster_link_table"], host)
            vectors, last_hops = [row["civ"] for row in kept], {row["last_hop"] for row in kept}
            expected = truth.vectors(name, host)
            if case.faulty:  # clients of a broker that was restarted say it all again in whatever order they come back
                vectors, expected = sorted(vectors), sorted(expected)
            if vectors != expected or last_hops - {None if name == host else host}:
                raise BrokenError(f"{name} keeps {kept} with what {host} advertises, not {expected}", outcome, protocol)
            hops = _of_host(tables["publication_routing_table"], host)
            if hops != len(hops) * [_way(truth, name, host)]:
                raise BrokenError(f"{name} sends to {hops} what subscribers at {host} want", outcome, protocol)
            same_cluster = truth.cluster(name) == truth.cluster(host)
            if len(hops) != (len(truth.standing("subscribe", host)) if same_cluster else 0):
                raise BrokenError(f"{name} has {len(hops)} subscriptions of {host}'s clients", outcome, protocol)


def nothing_remains(case: Case, protocol: str) -> None:
    """Both tables are empty when everything has been taken back."""
    outcome = ended(case, protocol)
    for name, broker in outcome.overlay.brokers.cores.items():
        for table in ("cluster_link_table", "publication_routing_table"):
            if left := broker.tables()[table]:
                raise BrokenError(f"{name} still has in its {table}: {left}", outcome, protocol)


def clusters_are_entered_once(case: Case, protocol: str) -> None:
    """Dynamic routing ends: a publication crosses into each cluster over one link at most and never back into its own;
    within a cluster it keeps to the tree. So its path has at most diam(G_af) + 1 links for each cluster, less one."""
    outcome, truth = ended(case, protocol), Truth(case)
    longest = (truth.scot.cluster_diameter + 1) * len(truth.scot.clusters) - 1
    entered = {(id, truth.cluster(truth.home(published))) for id, published in truth.publications.items()}
    for broker, (id, hops, sender, _) in _journeys(outcome):
        if hops > longest:
            raise BrokenError(f"{id} came to {broker} after {hops} hops, at most {longest}", outcome, protocol)
        cluster = truth.cluster(broker)
        if cluster != truth.cluster(sender):
            if (id, cluster) in entered:
                raise BrokenError(f"{id} entered cluster {cluster} again, from {sender} to {broker}", outcome, protocol)
            entered.add((id, cluster))


class Fickle:
    """Links of which every look finds one congested or not, this share of the times."""

    def __init__(self, congested: float, seed: int) -> None:
        self._congested = congested
        self._draws = random.Random(f"{seed}:congestion")

    def __call__(self, link: object) -> bool:
        return self._draws.random() < self._congested


class Steady(Fickle):
    """Links that are as the first look finds them."""

    def __init__(self, congested: float, seed: int) -> None:
        super().__init__(congested, seed)
        self._found: dict[object, bool] = {}

    def __call__(self, link: object) -> bool:
        if link not in self._found:
            self._found[link] = super().__call__(link)
        return self._found[link]


@dataclass(frozen=True)
class UnderCongestion:
    """A property, when this share of the links is congested, and queues are of any length."""

    holds: Property
    congested: float
    links: type[Fickle] = Fickle

    def __call__(self, case: Case, protocol: str) -> None:
        with any_congestion(self.links(self.congested, case.seed), case.seed):
            self.holds(case, protocol)


@contextmanager
def any_congestion(congested: Fickle, seed: int) -> Iterator[None]:
    """Has links congested, and queues of any length, while the context lasts."""
    draws = random.Random(f"{seed}:loads")

    def level(self: Congestion, neighbour: BrokerId) -> float:
        return 1e6 if congested((self, neighbour)) else 0.0

    def load(self: Congestion, neighbour: BrokerId) -> float:
        return float(draws.randrange(4))

    with mock.patch.multiple(Congestion, level=level, load=load):
        yield


def _journeys(outcome: Outcome) -> Iterator[tuple[BrokerId, Arrival]]:
    """Everything that came over a link, with the broker that it came to."""
    for broker, arrivals in outcome.arrivals.items():
        for journey in arrivals.journeys:
            yield broker, journey


def _of_host(table: Mapping[str, Any], host: BrokerId) -> list[Any]:
    """The rows of what a broker's clients said, in the order they said it."""
    rows = [(split_id(id), row) for id, row in table.items()]
    return [row for (home, _), row in sorted(rows, key=lambda item: item[0][1]) if home.broker == host]


def _way(truth: Truth, broker: BrokerId, home: BrokerId) -> BrokerId | None:
    """The next broker on the way to another of the same cluster; None at home."""
    if broker == home or truth.cluster(broker) != truth.cluster(home):
        return None
    regions = truth.scot.coordinates[broker].region, truth.scot.coordinates[home].region
    way = nx.shortest_path(truth.scot.acyclic_factor, *regions)
    return truth.scot.broker(way[1], truth.cluster(broker))
