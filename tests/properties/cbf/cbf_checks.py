"""The properties of content-based forwarding, each a function of a case and a protocol that raises `BrokenError`."""

from __future__ import annotations

from collections.abc import Iterable

import networkx as nx

from broker_service.messages import BrokerId
from broker_service.routing.cbf.tree import cbf_tree
from broker_service.routing.options import PlannedLink
from studies.conformance.model import Case, ClientStep
from tests.properties.checks import BrokenError, ended
from tests.properties.content import suits
from tests.properties.oracle import NEVER, History, Published, Span, history

PLAIN, AGGREGATING = "cbf", "cbf-aggregating"
BOTH = (PLAIN, AGGREGATING)


def only_ways_to_subscribers_receive(case: Case, protocol: str) -> None:
    """Exactly the brokers on the tree's ways from a publisher to matching subscribers receive its publication, once.

    For publications that are made while nothing else is in flight.
    """
    outcome, past, tree = ended(case, protocol), history(case), _tree(case)
    for published in past.publications:
        home = _home(case, published.client, published.step)
        ends = {
            _home(case, span.client, published.step)
            for span in _suitable(past, published, "subscribe")
            if any(offer.client == published.client for offer in _suitable(past, published, "advertise"))
        }
        expected = {broker for end in ends for broker in nx.shortest_path(tree, home, end)} - {home}
        times = {name: arrivals.publications[published.id] for name, arrivals in outcome.arrivals.items()}
        received = {name: count for name, count in times.items() if count}
        if received != dict.fromkeys(expected, 1):
            raise BrokenError(f"{published.id} came to {received}, not to {sorted(expected)}", outcome, protocol)


def nothing_remains(case: Case, protocol: str) -> None:
    """Forwarding tables are empty when all subscriptions are withdrawn, and tables of advertisements likewise."""
    outcome = ended(case, protocol)
    standing = {span.kind for span in history(case).spans if span.end == NEVER}
    for name, broker in outcome.overlay.brokers.cores.items():
        tables = broker.tables()
        directions, advertisements = tables["forwarding_table"], tables["advertisements"]
        assert isinstance(directions, dict)
        if "subscribe" not in standing and any(directions.values()):
            raise BrokenError(f"{name} still has in its forwarding table: {directions}", outcome, protocol)
        if "advertise" not in standing and advertisements:
            raise BrokenError(f"{name} still has advertisements: {advertisements}", outcome, protocol)


def _suitable(past: History, published: Published, kind: str) -> Iterable[Span]:
    """Declarations that are in force when a publication is made, and fit it."""
    return [
        span
        for span in past.spans
        if span.kind == kind and span.begin < published.step < span.end and suits(span.text, published.text)
    ]


def _homes(case: Case, client: str) -> list[BrokerId]:
    """Brokers of a client, step by step."""
    return [step.broker for step in case.steps if isinstance(step, ClientStep) and step.client == client]


def _home(case: Case, client: str, number: int) -> BrokerId:
    """The broker of a client at a step."""
    until = case.model_copy(update={"steps": case.steps[: number + 1]})
    return _homes(until, client)[-1]


def _tree(case: Case) -> nx.Graph[BrokerId]:
    links = [PlannedLink(*link.between, link.delay, link.delay) for link in case.links]
    tree: nx.Graph[BrokerId] = nx.Graph()
    tree.add_nodes_from(case.brokers)
    for broker, neighbours in cbf_tree(case.brokers, links).items():
        tree.add_edges_from((broker, neighbour) for neighbour in neighbours)
    return tree
