"""The edge of a system at one broker, with a system that these tests play."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import cast
from unittest import mock

import msgspec
import pytest

from broker_service.config import BrokerConfig
from broker_service.core.session import Session
from broker_service.language import Operator, Predicate, Publication, Subscription
from broker_service.language.content import encode_predicates, encode_publication
from broker_service.messages import UNSTATED_HOPS, ClientEvent, ClientRequest, Operation, Outcome
from broker_service.routing import PROTOCOLS
from broker_service.routing.declaration import Protocol
from broker_service.routing.interface import MalformedMessageError
from broker_service.routing.options import PlannedLink, Preparation
from broker_service.routing.systems import MOSQUITTO, SYSTEMS, MosquittoOptions
from emulation.adapters.edge import EdgeBroker, EdgeRouter, EdgeTrace
from emulation.adapters.system import Arrived, Envelope
from emulation.adapters.topics import Filter, filter_for
from record.contract import CAME_AGAIN, CANARY, NOT_WANTED


class _PlayedSystem:
    """A system that notes what it is asked for."""

    def __init__(self) -> None:
        self.watched: list[Filter] = []
        self.published: list[tuple[Publication, Envelope]] = []

    async def start(self, arrived: Arrived) -> None: ...

    def cover(self, subscription: Subscription) -> Filter:
        return filter_for(subscription, ("class",))

    def watch(self, chosen: Filter) -> None:
        self.watched.append(chosen)

    def unwatch(self, chosen: Filter) -> None:
        self.watched.remove(chosen)

    def publish(self, publication: Publication, payload: bytes) -> None:
        self.published.append((publication, msgspec.msgpack.decode(payload, type=Envelope)))

    async def ended(self) -> str:
        return ""

    async def stop(self) -> None: ...


class _Edge:
    """A broker at the edge of a played system, with one session."""

    def __init__(self, folder: Path, prepared: bytes = b"") -> None:
        self.system = _PlayedSystem()
        protocol = Protocol(lambda context: EdgeRouter(context, self.system), MosquittoOptions)
        self._log = folder / "B1.jsonl"
        self._trace = EdgeTrace(self._log, "B1", "base")
        config = BrokerConfig(id="B1", incarnation=1, protocol=MOSQUITTO, prepared=prepared)
        with mock.patch.dict(cast(dict[str, Protocol], PROTOCOLS), {MOSQUITTO: protocol}):
            self.broker = EdgeBroker(config, time.monotonic_ns, self._trace, lambda *_: pytest.fail("no timer"))
        self.session: Session = self.broker.sessions.open()
        self._number = 0
        self.ask(Operation.ATTACH)

    def ask(self, operation: Operation, id: str = "", body: bytes = b"") -> list[ClientEvent]:
        self._number += 1
        request = ClientRequest("C", self._number, operation, id, body)
        self.broker.sessions.handle(self.session, [request])
        return self.session.take(100)

    def subscribe(self, id: str, *predicates: Predicate) -> None:
        (event,) = self.ask(Operation.SUBSCRIBE, id, encode_predicates(predicates))
        assert event.outcome is Outcome.CONFIRMED

    def arrive(self, number: int, chosen: Filter | None = None, **attributes: str | float) -> list[ClientEvent]:
        body = encode_publication(Publication({"class": "STOCK", **attributes}))
        self.broker.arrive(msgspec.msgpack.encode(Envelope("B2", 1, number, f"p{number}", 7, body)), chosen)
        return self.session.take(100)

    def dropped(self) -> Counter[str]:
        self._trace.flush()
        return Counter(msgspec.json.decode(line)["text"] for line in self._log.read_bytes().splitlines())


@pytest.fixture
def edge(tmp_path: Path) -> _Edge:
    return _Edge(tmp_path)


_STOCK = Predicate("class", Operator.STRING_EQUAL, "STOCK")


def test_a_publication_reaches_the_system_with_its_content(edge: _Edge) -> None:
    edge.ask(Operation.ADVERTISE, "a", encode_predicates([_STOCK, Predicate("price", Operator.GREATER, 0)]))
    edge.ask(Operation.PUBLISH, "p", body := encode_publication(Publication({"class": "STOCK", "price": 8})))
    ((publication, envelope),) = edge.system.published
    assert publication.attributes == {"class": "STOCK", "price": 8}
    assert (envelope.broker, envelope.number, envelope.id, envelope.body) == ("B1", 1, "p", body)


def test_a_filter_is_watched_as_long_as_any_subscription_needs_it(edge: _Edge) -> None:
    edge.subscribe("s1", _STOCK)
    edge.subscribe("s2", _STOCK, Predicate("price", Operator.GREATER, 5))
    edge.subscribe("s3", Predicate("price", Operator.GREATER, 5))
    assert edge.system.watched == [("sSTOCK",), (None,)]
    edge.ask(Operation.UNSUBSCRIBE, "s1")
    assert edge.system.watched == [("sSTOCK",), (None,)]
    edge.broker.sessions.close(edge.session)
    assert edge.system.watched == []


def test_what_no_client_wants_is_counted_and_notifies_nobody(edge: _Edge) -> None:
    edge.subscribe("s", _STOCK, Predicate("price", Operator.GREATER, 5))
    assert [event.id for event in edge.arrive(1, price=6)] == ["p1"]
    assert edge.arrive(2, price=5) == []
    assert edge.dropped() == {NOT_WANTED: 1}


def test_a_copy_through_the_same_filter_is_counted_and_notifies_nobody(edge: _Edge) -> None:
    edge.subscribe("s", _STOCK)
    assert len(edge.arrive(1, ("sSTOCK",))) == 1
    assert edge.arrive(1, (None,)) == []
    assert edge.dropped() == {}
    assert edge.arrive(1, ("sSTOCK",)) == []
    assert edge.dropped() == {CAME_AGAIN: 1}


def test_canaries_are_no_price_of_topics(edge: _Edge) -> None:
    edge.arrive(1, **{"class": CANARY})
    assert edge.dropped() == {}


def test_what_nobody_has_published_is_a_defect(edge: _Edge) -> None:
    with pytest.raises(MalformedMessageError, match="nobody has published"):
        edge.broker.arrive(b"noise", None)


def test_links_crossed_are_told_where_there_is_one_way_only(tmp_path: Path) -> None:
    links = [PlannedLink("B1", "B3", 0.1, 0.1), PlannedLink("B3", "B2", 0.1, 0.1)]
    planned = Preparation(
        brokers={name: {} for name in ("B1", "B2", "B3")}, links=links, advertisements={}, subscriptions={}, seed=0
    )
    options = SYSTEMS[MOSQUITTO].options()
    on_tree = _Edge(tmp_path, options.prepare(planned)["B1"])
    on_tree.subscribe("s", _STOCK)
    assert [event.hops for event in on_tree.arrive(1)] == [2]
    planned = _with_links(planned, [*links, PlannedLink("B1", "B2", 0.1, 0.1)])
    assert options.prepare(planned) == {}


def test_links_crossed_are_not_told_elsewhere(edge: _Edge) -> None:
    edge.subscribe("s", _STOCK)
    assert [event.hops for event in edge.arrive(1)] == [UNSTATED_HOPS]


def _with_links(planned: Preparation, links: list[PlannedLink]) -> Preparation:
    """A preparation with other links."""
    return Preparation(brokers=planned.brokers, links=links, advertisements={}, subscriptions={}, seed=planned.seed)
