"""Messages that a hostile neighbour of each routing protocol may send: the headers of every kind, at any size."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

from broker_service.core.broker import Broker
from broker_service.language import Publication
from broker_service.language.composite_subscription import CompositeSubscription
from broker_service.language.composite_wire import encode_composite
from broker_service.language.content import encode_publication
from broker_service.language.notation import parse_composite
from broker_service.messages import Kind, Message
from broker_service.routing.cbf import messages as cbf
from broker_service.routing.channelization import messages as channelization
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.common.identifiers import Home
from broker_service.routing.gryphon.detours import messages as detours
from broker_service.routing.gryphon.propagation import messages as propagation
from broker_service.routing.gryphon.streams import messages as streams
from broker_service.routing.gryphon.virtual_time import encode_vector
from broker_service.routing.medym import messages as medym
from broker_service.routing.octopia import messages as octopia
from broker_service.routing.semi_probabilistic import messages as semi_probabilistic
from broker_service.routing.tid import messages as tid
from broker_service.routing.tid.placement import messages as placement
from broker_service.routing.tid.placement.rates.statistics import Statistics
from emulation.live_overlay import BrokerConfigs, BrokerSettings
from emulation.live_overlay.preparation import Declarations, prepared_by
from studies.conformance.protocols import PROTOCOLS
from tests.broker_service.manual_timers import ManualTimers
from tests.broker_service.overlay import ListTrace
from tests.proof import IS_WHOLE
from tests.wire.grammar import Grammar
from topology import shapes
from topology.link_properties import Link
from topology.links import LinkTemplates, build
from topology.model import Broker as OverlayBroker
from topology.model import Overlay

Header = Callable[[Grammar, int], bytes]
"""A header of about so many items."""

BROKERS = 6
HOME = "X"
"""The home of units."""
COMPOSITE = encode_composite(CompositeSubscription(parse_composite("{[class,eq,'STOCK']} & {[class,eq,'NEW']}"), 10**9))


def of(kind: Any) -> Header:
    """Headers of a type that msgspec decodes."""
    return lambda grammar, size: encode_header(grammar.value(kind, size))


def empty(_grammar: Grammar, _size: int) -> bytes:
    return b""


def trees(grammar: Grammar, size: int) -> tuple[str, ...]:
    return tuple(grammar.id() for _ in range(size))


def listed(grammar: Grammar, _size: int) -> bytes:
    """A destination list of MEDYM with the receiver and some other servers."""
    numbers = sorted({1, *grammar.source.sample(range(BROKERS), 4)})
    return b"\0" + b"".join(number.to_bytes(2, "little") for number in numbers)


def vector(grammar: Grammar, size: int) -> bytes:
    return grammar.source.randbytes(min(size, 4096))


def bundle(grammar: Grammar, size: int) -> bytes:
    """Announcements of one server after another, in the versions in which they are applied."""
    versions: dict[int, int] = {}
    announcements = []
    for _ in range(size):
        server = grammar.source.choice([0, 2, 3])
        versions[server] = versions.get(server, 0) + 1
        version = medym.Version(grammar.source.choice([9, 9, 9, 10]), versions[server])
        announcements.append(medym.Change(server, version, (grammar.content(),), ()))
    return encode_header(medym.Bundle(tuple(announcements)))


def incarnations(_grammar: Grammar, size: int) -> bytes:
    """One incarnation of a server after another."""
    states = [medym.State(2, medym.Version(incarnation, 0), ()) for incarnation in range(10, 10 + size)]
    return encode_header(medym.Bundle(tuple(states)))


def channel(grammar: Grammar, _size: int) -> bytes:
    """A channel of the plan that all brokers have, whose epoch is a digest of it."""
    leg = grammar.source.choice(list(channelization.Leg))
    return channelization.ChannelHeader(grammar.epoch, grammar.source.randrange(grammar.numbers), leg).encode()


def interest(grammar: Grammar, size: int) -> bytes:
    joined, left = ([grammar.source.randrange(grammar.numbers) for _ in range(size)] for _ in range(2))
    return encode_header(channelization.LateInterest(tuple(joined), tuple(left)))


def _leaf(grammar: Grammar) -> int:
    """A leaf of Gryphon's overlay, or a node."""
    return grammar.source.randrange(4)


def conjunctions(grammar: Grammar, size: int) -> tuple[bytes, ...]:
    """Conjunctions of Gryphon, many of which cover each other."""
    return tuple(grammar.content() for _ in range(size if IS_WHOLE or size <= 100 else 20))


def _place(grammar: Grammar) -> tuple[int, int]:
    """Node and leaf of the neighbour, or those behind its node."""
    return {"B1": (0, 3), "B4": (2, 6)}.get(grammar.names[0], (0, 3))


def roots(grammar: Grammar, size: int) -> bytes:
    """A state in which a neighbour is, at a time that grows with the size."""
    node, leaf = _place(grammar)
    return encode_header(propagation.State(node, encode_vector({leaf: size}), conjunctions(grammar, size)))


def additions(grammar: Grammar, size: int) -> bytes:
    """Conjunctions that a leaf adds after that."""
    node, leaf = _place(grammar)
    return encode_header(propagation.Addition(node, leaf, size + 1, conjunctions(grammar, size)))


def removals(grammar: Grammar, size: int) -> bytes:
    """An empty state in place of that."""
    node, leaf = _place(grammar)
    return encode_header(propagation.State(node, encode_vector({leaf: size + 1}), ()))


def stamp(grammar: Grammar, _size: int) -> bytes:
    position = grammar.source.randrange(1, 99)
    return encode_header(streams.Stamp(_leaf(grammar), position, grammar.source.randrange(position), 0))


def ranges(grammar: Grammar, size: int) -> bytes:
    """Positions of a stream that are silent, in as many pieces as a message has."""
    pieces = tuple((2 * place + 1, 2 * place + 2) for place in range(min(size, streams.MOST_RANGES)))
    return encode_header(streams.Silence(_leaf(grammar), pieces))


def numbered(kind: Any, low: int, high: int) -> Header:
    return lambda grammar, _size: encode_header(kind(grammar.source.randint(low, high)))


CONTROL: Mapping[str, tuple[Header, ...]] = {
    "tid": (of(tid.Restarted), of(tid.Lost), of(placement.PlacementMessage)),
    "octopia": (of(octopia.ControlHeader),),
    "cbf": (of(tuple[cbf.BundledChange, ...]),),
    "channelization": (interest,),
    "gryphon": (
        of(propagation.Control),
        of(streams.StreamControl),
        of(detours.DetourControl),
        roots,
        additions,
        removals,
        ranges,
    ),
    "medym": (of(medym.Versions), of(medym.Confirmation), bundle, incarnations),
    "semi-probabilistic": (numbered(bool, 0, 1),),
}
HEADERS: Mapping[str, Mapping[Kind, tuple[Header, ...]]] = {
    "tid": {
        Kind.ADVERTISE: (of(tid.AdvertiseHeader),),
        Kind.UNADVERTISE: (empty,),
        Kind.SUBSCRIBE: (of(tid.SubscribeHeader),),
        Kind.UNSUBSCRIBE: (of(tid.UnsubscribeHeader),),
        Kind.PUBLISH: (of(tid.PublishHeader),),
        Kind.COMPOSE: (of(placement.ComposeHeader),),
        Kind.DETECTION: (of(placement.ContributionHeader),),
    },
    "octopia": {
        Kind.ADVERTISE: (vector,),
        Kind.UNADVERTISE: (empty,),
        Kind.SUBSCRIBE: (empty,),
        Kind.UNSUBSCRIBE: (empty,),
        Kind.PUBLISH: (empty, of(octopia.PublicationHeader)),
    },
    "cbf": {Kind.SUBSCRIBE: (empty,), Kind.UNSUBSCRIBE: (empty,), Kind.ADVERTISE: (empty,), Kind.PUBLISH: (empty,)},
    "channelization": {Kind.PUBLISH: (channel,)},
    "gryphon": {Kind.PUBLISH: (stamp,)},
    "medym": {
        Kind.SUBSCRIBE: (of(medym.Multicast),),
        Kind.UNSUBSCRIBE: (of(medym.Multicast),),
        Kind.PUBLISH: (listed,),
    },
    "semi-probabilistic": {
        Kind.SUBSCRIBE: (numbered(int, 1, 2),),
        Kind.UNSUBSCRIBE: (empty,),
        Kind.PUBLISH: (of(semi_probabilistic.EventHeader),),
    },
}

MADE: Mapping[type, Callable[[Grammar, int], Any]] = {
    tid.SubscribeHeader: lambda grammar, size: tid.SubscribeHeader("S", trees(grammar, size)),
    tid.UnsubscribeHeader: lambda grammar, size: tid.UnsubscribeHeader(trees(grammar, size)),
    Statistics: lambda grammar, _size: Statistics(grammar.source.random(), {}),
    tid.Lost: lambda grammar, _size: tid.Lost(grammar.id()),
    semi_probabilistic.EventHeader: lambda grammar, _size: semi_probabilistic.EventHeader(
        f"{grammar.name()}.1", grammar.source.randrange(1, 99)
    ),
    tid.AdvertiseHeader: lambda grammar, size: tid.AdvertiseHeader(
        (*(f"X{number}" for number in range(size)), grammar.names[0])
    ),
    tid.PublishHeader: lambda grammar, size: tid.PublishHeader(
        grammar.name(),
        9,
        {
            f"{name}.1": [tuple(grammar.source.choices(range(40), k=grammar.source.randint(1, 3))) for _ in range(size)]
            for name in grammar.names[:2]
        },
    ),
    placement.ComposeHeader: lambda grammar, size: placement.ComposeHeader(
        "c",
        "u",
        grammar.source.randrange(9),
        grammar.source.randrange(9),
        None,
        (Home(HOME, 1), *(Home(f"X{number}", 1) for number in range(size)), Home(grammar.names[0], 1)),
        (((f"{grammar.names[0]}.1.1", 1.0),) * min(size, 50),) * 2,
    ),
    medym.Multicast: lambda grammar, size: medym.Multicast(
        2, grammar.source.randrange(9), grammar.source.randrange(1, 99), 1, listed(grammar, size)
    ),
}


@dataclass
class Attacked:
    """A broker whose neighbour is hostile."""

    broker: Broker
    neighbour: str
    grammar: Grammar
    protocol: str

    def messages(self, size: int) -> Iterator[Message]:
        """One message of each kind and with each header that the protocol has."""
        source, headers = self.grammar.source, HEADERS[self.protocol] | {Kind.CONTROL: CONTROL[self.protocol]}
        for kind, made in headers.items():
            for header in made:
                body = self.grammar.content()
                if kind is Kind.PUBLISH:
                    body = encode_publication(Publication({"class": "STOCK", "price": source.randrange(1000)}))
                id = f"{self.neighbour}.1.{source.randrange(40)}"
                if kind in (Kind.COMPOSE, Kind.DETECTION):
                    id, body = f"{HOME}.1.{source.randrange(9)}", COMPOSITE
                yield Message(kind, id, body, header(self.grammar, size), source.randrange(1, 9))


def attacked(name: str, seed: int) -> Attacked:
    """A broker in the middle of an overlay, for a protocol as in conformance cases, whose links are all up."""
    protocol = PROTOCOLS[name]
    overlay = _overlay(protocol.protocol, protocol.full_mesh, seed)
    settings = BrokerSettings(
        protocol=protocol.protocol,
        options=protocol.options,
        prepared=prepared_by(protocol.protocol, protocol.options, overlay, seed, lambda: Declarations({}, {})),
    )
    place = sorted(broker.id for broker in overlay.brokers)[1]
    config = BrokerConfigs(overlay, settings).of(place)
    timers = ManualTimers()
    broker = Broker(config, lambda: 0, ListTrace(place), timers.schedule)
    for neighbour in broker.links:
        broker.neighbours.link_up(neighbour, 1, 0)
    neighbour = sorted(broker.links)[seed % len(broker.links)]
    names = (neighbour, *(other.id for other in overlay.brokers if other.id not in (neighbour, place)), place)
    return Attacked(broker, neighbour, Grammar(random.Random(seed), names, *plan_of(broker), MADE), protocol.protocol)


def plan_of(broker: Broker) -> tuple[int, int]:
    """The servers or channels that there are, and the digest of channelization's plan: a neighbour knows both."""
    router: Any = broker._router
    return (len(router._places), router._epoch) if broker.protocol == "channelization" else (BROKERS, 0)


def _overlay(protocol: str, full_mesh: bool, seed: int) -> Overlay:
    if protocol == "octopia":
        return build("scot", shapes.scot(shapes.lettered(shapes.tree(3)), 2), LinkTemplates(), seed)
    if protocol == "gryphon":
        nodes = {"B1": "n1", "B2": "n2", "B3": "n2", "B4": "n3"}
        brokers = tuple(OverlayBroker(name, {"node": node}) for name, node in nodes.items())
        joined = [("B1", "B2"), ("B1", "B3"), ("B2", "B3"), ("B2", "B4"), ("B3", "B4")]
        return Overlay("hostile", brokers, tuple(Link(a, b) for a, b in joined))
    names = [f"B{number}" for number in range(1, BROKERS + 1)]
    pairs = combinations(names, 2) if full_mesh else pairwise(names)
    return Overlay("hostile", tuple(map(OverlayBroker, names)), tuple(Link(a, b) for a, b in pairs))


def size_of(message: Message) -> int:
    return len(message.header) + len(message.body) + len(message.id)
