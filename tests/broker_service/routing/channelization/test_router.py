"""Channelization on simulated brokers: plans, and messages that no correct neighbour sends."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pytest

from broker_service.config import BrokerConfig, LinkConfig
from broker_service.core.broker import Broker
from broker_service.language import Operator, Predicate, Publication, Subscription
from broker_service.language.content import encode_publication
from broker_service.messages import Kind, Message
from broker_service.routing.channelization.messages import ChannelHeader, LateInterest, Leg, encode_interest
from broker_service.routing.channelization.options import ChannelizationOptions
from broker_service.routing.channelization.plan import read_partition, read_plan
from broker_service.routing.options import PlannedLink, Preparation
from record.log import Event
from tests.broker_service.manual_timers import ManualTimers
from tests.broker_service.overlay import ListTrace

SERVERS = ("A", "B", "C", "D")
AT = {"A": 0.0, "B": 1.0, "C": 2.0, "D": 5.0}
"""Positions on a line."""
BODY = encode_publication(Publication({"class": "E", "v": 1}))
LINKS = [PlannedLink(a, b, abs(AT[a] - AT[b]), abs(AT[a] - AT[b])) for a, b in combinations(SERVERS, 2)]


def wants(value: int) -> Subscription:
    return Subscription((Predicate("v", Operator.EQUAL, value),))


def preparation(**fields: object) -> Preparation:
    """A, C and D want 1, D wants 2, and nobody wants 3 but B."""
    given: dict[str, object] = {
        "brokers": {server: {} for server in SERVERS},
        "links": LINKS,
        "advertisements": {},
        "subscriptions": {"A": [wants(1)], "C": [wants(1)], "D": [wants(1), wants(2)], "B": [wants(3)]},
        "seed": 1,
    }
    return Preparation(**{**given, **fields})  # type: ignore[arg-type]


def test_a_channels_tree_joins_its_servers_and_others_hand_to_the_nearest() -> None:
    prepared = ChannelizationOptions(channels=50).prepare(preparation())
    plans = {server: read_plan(prepared[server]) for server in SERVERS}
    partition = read_partition(plans["A"].partition)
    channel = partition.channels[partition.space.cell_of({"v": 1})]
    assert partition.waste == 0
    assert {server: set(plan.places[channel].neighbours) for server, plan in plans.items()} == {
        "A": {"C"},
        "C": {"A", "D"},
        "D": {"C"},
        "B": {"A"},
    }
    assert not plans["B"].places[channel].member


def test_a_mesh_that_lacks_a_link_is_refused() -> None:
    with pytest.raises(ValueError, match="a link between any two brokers"):
        ChannelizationOptions().prepare(preparation(links=LINKS[1:]))


class Server:
    """A broker core by itself, with links to all others."""

    def __init__(self, name: str) -> None:
        prepared = ChannelizationOptions().prepare(preparation())[name]
        links = tuple(
            LinkConfig(neighbour=other, local="", remote="", dial=False) for other in SERVERS if other != name
        )
        config = BrokerConfig(id=name, incarnation=1, protocol="channelization", links=links, prepared=prepared)
        self.trace = ListTrace(name)
        self.broker = Broker(config, lambda: 0, self.trace, ManualTimers().schedule)
        self.epoch = read_plan(prepared).epoch
        partition = read_partition(read_plan(prepared).partition)
        self.channel = partition.channels[partition.space.cell_of({"v": 1})]

    def malformed(self, neighbour: str, message: Message) -> bool:
        """True when a message of a neighbour is dropped as malformed."""
        self.broker.neighbours.receive(neighbour, [message])
        return [(record.text or "").partition(":")[0] for record in self.trace.of(Event.DROPPED)] == ["malformed"]


HEADERS = {
    "another epoch": ("A", "C", lambda epoch, channel: ChannelHeader(epoch ^ 1, channel, Leg.TREE)),
    "an unknown channel": ("A", "C", lambda epoch, _: ChannelHeader(epoch, 60_000, Leg.TREE)),
    "a server outside of the channel": ("B", "A", lambda epoch, channel: ChannelHeader(epoch, channel, Leg.HANDED)),
    "a neighbour outside of the tree": ("A", "D", lambda epoch, channel: ChannelHeader(epoch, channel, Leg.TREE)),
}


@pytest.mark.parametrize(("name", "neighbour", "header"), HEADERS.values(), ids=HEADERS)
def test_hostile_headers_are_malformed(name: str, neighbour: str, header: Callable[[int, int], ChannelHeader]) -> None:
    server = Server(name)
    encoded = header(server.epoch, server.channel).encode()
    assert server.malformed(neighbour, Message(Kind.PUBLISH, "P:1", BODY, encoded))


def test_a_header_of_a_correct_neighbour_is_not() -> None:
    server = Server("A")
    encoded = ChannelHeader(server.epoch, server.channel, Leg.TREE).encode()
    assert not server.malformed("C", Message(Kind.PUBLISH, "P:1", BODY, encoded))


@pytest.mark.parametrize(
    "message",
    [
        Message(Kind.PUBLISH, "P:1", BODY, b"short"),
        Message(Kind.PUBLISH, "P:1", BODY, b"\0" * 6 + b"\x09"),
        Message(Kind.CONTROL, "A.1.1", header=b"\xc1"),
        Message(Kind.CONTROL, "A.1.1", header=encode_interest(LateInterest((10_000,)))),
        Message(Kind.CONTROL, "A.1.1", header=encode_interest(LateInterest((), (-1,)))),
        Message(Kind.SUBSCRIBE, "A.1.1"),
    ],
)
def test_what_cannot_be_read_is_malformed(message: Message) -> None:
    server = Server("A")
    assert server.malformed("C", message)
    assert server.broker.tables()["latecomers"] == {}
