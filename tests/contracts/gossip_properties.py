"""Properties of gossip, in words: over links that come and go, and over what a broker keeps and sends."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise

import networkx as nx

from broker_service.core.broker import Broker
from emulation.simulation import SimulatedOverlay
from record.errors import BrokerDefectError
from studies.conformance.case_runner import CaseRun, CaseRunner, settle
from studies.conformance.clients import CaseClients
from studies.conformance.model import Case, Declaration
from studies.conformance.protocols import ConformanceProtocol
from studies.conformance.simulated import SimulatedCaseRunner
from tests.contracts.properties import CORRECT
from tests.contracts.routers.gossip import GossipRouter
from tests.contracts.running import STOCKS
from tests.properties.trial import Arrivals
from topology.link_properties import Link, LinkProperties

BROKERS = tuple(f"B{number}" for number in range(1, 7))
RING = (*pairwise(BROKERS), (BROKERS[0], BROKERS[-1]))
MESH = tuple(combinations(BROKERS, 2))
PUBLICATIONS = 12
SEEDS = range(4)
REMEMBERED, FANOUT = 5, 2
_LINK = LinkProperties(delay=0.002)


class Trial:
    """An overlay in the simulator with a subscriber at every broker, and a publisher at the first one."""

    def __init__(self, protocol: ConformanceProtocol, links: tuple[tuple[str, str], ...], seed: int) -> None:
        self.random = random.Random(seed)
        self.arrivals: dict[str, Arrivals] = {}
        self.remembered = 0
        """The most that any broker remembers in the end."""
        self.got: dict[str, list[str | tuple[str, ...]]] = {}
        self._links = set(links)
        advertise = _step("advertise", "P", BROKERS[0], "a", STOCKS)
        self._steps = [advertise, *(_step("subscribe", f"S-{broker}", broker, "s", STOCKS) for broker in BROKERS)]
        self._protocol = protocol
        self.case = Case(id="changing", brokers=BROKERS, links=list(links), steps=self._steps, expect={}, seed=seed)

    def declare(self, run: CaseRun, clients: CaseClients) -> None:
        """Advertises and subscribes."""
        for step in self._steps:
            clients.perform(step)
        settle(run)

    def publish(self, *, changing: bool) -> None:
        """Publishes one after another; the links change before each where they are `changing`."""
        runner = SimulatedCaseRunner(lambda broker: self.arrivals.setdefault(broker, Arrivals(broker)))
        with runner.run(self.case, self._protocol) as run:
            clients = CaseClients(run, set(BROKERS), {}, {})
            self.got = clients.got
            self.declare(run, clients)
            for number in range(PUBLICATIONS):
                if changing:
                    self._replace_link(run.overlay)
                    settle(run)
                clients.perform(_publication(number))
                settle(run)
            self.remembered = max(map(_remembered, run.overlay.brokers.cores.values()))

    def _replace_link(self, overlay: SimulatedOverlay) -> None:
        """Adds a link, and removes one that the overlay does not fall apart without."""
        added = self.random.choice(sorted(set(MESH) - self._links))
        self._links.add(added)
        overlay.links.add(Link(*added, _LINK, _LINK))
        removed = self.random.choice([link for link in sorted(self._links) if link != added and self._spares(link)])
        self._links.remove(removed)
        overlay.links.remove(*removed)

    def _spares(self, link: tuple[str, str]) -> bool:
        graph = nx.Graph(list(self._links - {link}))
        return len(graph) == len(BROKERS) and nx.is_connected(graph)


def everyone_is_notified_though_links_change(row: ConformanceProtocol) -> str:
    """With a fanout above the number of neighbours, each publication reaches everybody once; else `missing`, `surplus`
    or, where a router sends to a broker that is not a neighbour, `defect`."""
    for seed in SEEDS:
        trial = Trial(row, RING, seed)
        try:
            trial.publish(changing=True)
        except BrokerDefectError:
            return "defect"
        if (finding := _finding(trial.got, PUBLICATIONS)) != CORRECT:
            return finding
    return CORRECT


def everyone_is_notified_over_links_that_return(runner: CaseRunner, row: ConformanceProtocol) -> str:
    """Each link of a ring vanishes in turn and comes back, on brokers of any runtime; `missing` or `surplus` where a
    subscriber is not notified of each publication once."""
    trial = Trial(row, RING, 0)
    with runner.run(trial.case, row) as run:
        clients = CaseClients(run, set(BROKERS), {}, {})
        trial.declare(run, clients)
        for number, link in enumerate(trial.case.overlay().links):
            run.overlay.links.remove(link.a, link.b)
            settle(run)
            clients.perform(_publication(number))
            settle(run)
            run.overlay.links.add(link)
            settle(run)
    return _finding(clients.got, len(RING))


def few_publications_are_remembered(row: ConformanceProtocol) -> str:
    """No broker remembers more than the option allows; else `unbounded`."""
    trial = Trial(replace(row, options={"remembered": REMEMBERED}), RING, 0)
    trial.publish(changing=False)
    return CORRECT if trial.remembered == REMEMBERED else "unbounded"


def few_copies_are_sent(row: ConformanceProtocol) -> str:
    """In a mesh, each broker that has a publication sends no more copies than the fanout; else `too many`."""
    trial = Trial(replace(row, options={"fanout": FANOUT}), MESH, 0)
    trial.publish(changing=False)
    copies = sum(sum(arrivals.publications.values()) for arrivals in trial.arrivals.values())
    return CORRECT if copies <= PUBLICATIONS * len(BROKERS) * FANOUT else "too many"


def _finding(got: Mapping[str, Sequence[object]], publications: int) -> str:
    wanted = [f"p{number}" for number in range(publications)]
    for notified in (got.get(f"S-{broker}", []) for broker in BROKERS):
        if notified != wanted:
            return "missing" if set(wanted) - set(notified) else "surplus"
    return CORRECT


def _publication(number: int) -> Declaration:
    return _step("publish", "P", BROKERS[0], f"p{number}", "[class,'STOCK']")


def _remembered(broker: Broker) -> int:
    router = broker._router
    assert isinstance(router, GossipRouter)
    return router.remembered


def _step(op: str, client: str, broker: str, id: str, text: str) -> Declaration:
    return Declaration.model_validate({"op": op, "client": client, "broker": broker, "id": id, "text": text})
