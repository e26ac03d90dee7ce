"""The properties of MEDYM, each a function of a case and a protocol that raises `BrokenError`, as in `checks`.

Those about crowds are for the cases of `medym_strategies`, whose clients neither move nor withdraw anything, so that
the brokers which must get a publication follow from the texts of the steps.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations

import networkx as nx

from broker_service.language.content import encode_publication
from broker_service.language.formatting import format_subscription
from broker_service.language.notation import parse_publication, parse_subscription
from studies.conformance.model import BrokerFault, Case, ClientStep, Declaration
from tests.properties import checks
from tests.properties.checks import BrokenError, ended
from tests.properties.content import meet, suits
from tests.properties.oracle import NEVER, history
from tests.properties.trial import Arrival, Outcome

SOURCE, MST = "medym-source", "medym-mst"
ADVERTISED = "medym-advertised"
ALL = (MST, "medym-close", "medym-balanced", SOURCE)


def notified_as_by_tid(case: Case, protocol: str) -> None:
    """Clients are notified of the publications that TID routing notifies them of, and of no others."""
    outcome, by_tid = ended(case, protocol), ended(case, checks.FIXED)
    for client in sorted(outcome.got.keys() | by_tid.got.keys()):
        got, wanted = sorted(outcome.got.get(client, ())), sorted(by_tid.got.get(client, ()))
        if got != wanted:
            raise BrokenError(f"{client} was notified of {got}, and by TID routing of {wanted}", outcome, protocol)


def nothing_remains(case: Case, protocol: str) -> None:
    """No broker knows subscriptions of others when all have been withdrawn."""
    outcome = ended(case, protocol)
    if any(span.kind == "subscribe" and span.end == NEVER for span in history(case).spans):
        return
    for name, broker in outcome.overlay.brokers.cores.items():
        if left := broker.tables()["subscription_sums"]:
            raise BrokenError(f"{name} still has the sums {left}", outcome, protocol)


def advertisers_alone_know_subscriptions(case: Case, protocol: str) -> None:
    """A broker knows, when all is quiet, the subscriptions of others that match an advertisement of its clients."""
    outcome = ended(case, protocol)
    homes = {step.client: step.broker for step in case.steps if isinstance(step, ClientStep)}
    standing = [span for span in history(case).spans if span.end == NEVER]
    for name, broker in outcome.overlay.brokers.cores.items():
        offers = [span.text for span in standing if span.kind == "advertise" and homes[span.client] == name]
        expected: dict[str, set[str]] = defaultdict(set)
        for span in standing:
            if (
                span.kind == "subscribe"
                and homes[span.client] != name
                and any(meet(offer, span.text) for offer in offers)
            ):
                expected[homes[span.client]].add(format_subscription(parse_subscription(span.text)))
        known = broker.tables()["subscription_sums"]
        if known != {server: sorted(texts) for server, texts in expected.items()}:
            raise BrokenError(f"{name} knows {known} and not {dict(expected)}", outcome, protocol)


def crowds_are_notified_once(case: Case, protocol: str) -> None:
    """Every client whose broker runs in the end is notified once of what it wants, and of nothing else."""
    outcome = ended(case, protocol)
    ended_brokers = _ended_brokers(case)
    for published in _published(case):
        for subscribed in _subscribed(case):
            if subscribed.broker in ended_brokers:
                continue
            got = outcome.got.get(subscribed.client, ()).count(published.id)
            if got != suits(subscribed.text, published.text):
                raise BrokenError(f"{subscribed.client} got {published.id} {got} times", outcome, protocol)


def destinations_alone_receive_once(case: Case, protocol: str) -> None:
    """The brokers that run and want a publication receive it once each, and no other one does (properties i to iii)."""
    outcome = ended(case, protocol)
    for published in _published(case):
        wanted = _destinations(case, published)
        received = Counter(broker for broker, _ in _arrivals(outcome, published.id))
        if received != Counter(wanted):
            raise BrokenError(f"{published.id} came to {dict(received)}, and {wanted} want it", outcome, protocol)


def lists_are_as_long_as_paths(case: Case, protocol: str) -> None:
    """All destination lists of a publication together have as many servers as its paths have hops."""
    outcome = ended(case, protocol)
    for published in _published(case):
        arrivals = [arrival for _, arrival in _arrivals(outcome, published.id)]
        body = len(encode_publication(parse_publication(published.text)))
        lists = [arrival.size - body - 1 for arrival in arrivals]
        numbers = sum(4 * length // 9 if protocol == SOURCE else length // 2 for length in lists)
        hops = sum(arrival.hops for arrival in arrivals)
        if numbers != hops:
            raise BrokenError(f"{published.id}: {numbers} servers in lists, {hops} hops", outcome, protocol)


def trees_are_minimum(case: Case, protocol: str) -> None:
    """Publications follow the minimum spanning tree of their broker and their destinations."""
    outcome = ended(case, protocol)
    delays = {frozenset(link.between): link.delay for link in case.links}
    for published in _published(case):
        graph: nx.Graph[str] = nx.Graph()
        for pair in combinations({published.broker, *_destinations(case, published)}, 2):
            graph.add_edge(*pair, weight=delays[frozenset(pair)])
        wanted = {frozenset(edge) for edge in nx.minimum_spanning_edges(graph, data=False)}
        taken = {frozenset((broker, arrival.sender)) for broker, arrival in _arrivals(outcome, published.id)}
        if taken != wanted:
            raise BrokenError(f"{published.id} took {taken} instead of {wanted}", outcome, protocol)


def _published(case: Case) -> list[Declaration]:
    return [step for step in case.steps if isinstance(step, Declaration) and step.op == "publish"]


def _subscribed(case: Case) -> list[Declaration]:
    return [step for step in case.steps if isinstance(step, Declaration) and step.op == "subscribe"]


def _destinations(case: Case, published: Declaration) -> list[str]:
    """Brokers that run, and have a client who wants a publication, but for its own."""
    wanting = {subscribed.broker for subscribed in _subscribed(case) if suits(subscribed.text, published.text)}
    return sorted(wanting - _ended_brokers(case) - {published.broker})


def _ended_brokers(case: Case) -> set[str]:
    """Brokers that do not run in the end."""
    ended_brokers: set[str] = set()
    for step in case.steps:
        if isinstance(step, BrokerFault):
            (ended_brokers.add if step.op == "kill" else ended_brokers.discard)(step.broker)
    return ended_brokers


def _arrivals(outcome: Outcome, publication: str) -> Iterator[tuple[str, Arrival]]:
    for broker, arrivals in outcome.arrivals.items():
        for arrival in arrivals.journeys:
            if arrival.publication.endswith(f":{publication}") or arrival.publication == publication:
                yield broker, arrival
