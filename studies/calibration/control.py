"""Processor time of a control message: that of a publication, and the difference between the two in a broker's core.

No client makes control messages, so a line of real brokers (`work`) cannot be given them at a rate. But the service
takes both kinds in the same frames, so that only the core treats them differently: one core in this process receives
frames of publications and frames of control messages in turns, decodes them, routes and logs each message, and encodes
those that it passes on to another neighbour. A round's difference is one sample; the median is the result, because
other work of the host disturbs some rounds and neither kind more than the other.

The control messages are those by which TID-based routing announces that a broker has restarted. Each is new to the
broker and is passed on. Protocols whose control messages cause more work than that take more time.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from broker_service.config import BrokerConfig, LinkConfig
from broker_service.core.broker import Broker
from broker_service.language import Operator, Predicate, Publication
from broker_service.language.content import encode_predicates, encode_publication
from broker_service.links.frames import MessageFrame
from broker_service.messages import BrokerId, ClientRequest, Message, Operation
from broker_service.routing.interface import SetTimer
from broker_service.tracing.trace import FileTrace, NullTrace, Trace
from broker_service.transport.wire import decode_link_frame, encode_link_frame

ROUNDS, FRAMES, FRAME = 30, 10, 50
"""Each round gives the core as many frames of both kinds, of as many messages each."""
_LARGEST = 1 << 20
"""Bytes of a frame."""
_STOCK = Predicate("class", Operator.STRING_EQUAL, "STOCK")

Frames = list[bytes]


def surplus_of_control() -> float:
    """Nanoseconds that a control message takes beyond a publication; below 0 where it takes less."""
    with tempfile.TemporaryDirectory(prefix="calibration-") as directory:
        trace = FileTrace(Path(directory) / "B2.jsonl", "B2", "base")
        core = _broker("B2", ("B1", "B3"), trace)
        publications, controls = _publications(core), _controls()
        surplus = []
        for number in range(ROUNDS):
            rounds = [next(publications), next(controls)]
            spent = [_handled(core, frames) for frames in (rounds if number % 2 else rounds[::-1])]
            published, controlled = spent if number % 2 else spent[::-1]
            surplus.append((controlled - published) / (FRAMES * FRAME))
            trace.flush()
        trace.close()
        return statistics.median(surplus)


def _handled(core: Broker, frames: Frames) -> int:
    """Processor time in which the core has handled these frames of B1."""
    begin = time.process_time_ns()
    passed = 0
    for data in frames:
        frame = decode_link_frame(data)
        assert isinstance(frame, MessageFrame)
        core.neighbours.receive("B1", frame.messages)
        messages = _taken(core, "B3")
        encode_link_frame(MessageFrame(messages), _LARGEST)
        passed += len(messages)
    if passed != FRAMES * FRAME:
        raise RuntimeError(f"the broker passed {passed} of {FRAMES * FRAME} messages on")
    return time.process_time_ns() - begin


def _publications(core: Broker) -> Iterator[Frames]:
    """Frames that B1 sends when its client publishes to a subscriber of B3, after both have announced themselves."""
    first, last = (_broker(name, ("B2",), NullTrace(name, "base")) for name in ("B1", "B3"))
    publishing, subscribing = first.sessions.open(), last.sessions.open()
    content = encode_predicates((_STOCK, Predicate("price", Operator.GREATER, 0)))
    first.sessions.handle(publishing, [ClientRequest("P", 1, Operation.ATTACH)])
    first.sessions.handle(publishing, [ClientRequest("P", 2, Operation.ADVERTISE, "a1", content)])
    core.neighbours.receive("B1", _taken(first, "B2"))
    last.neighbours.receive("B2", _taken(core, "B3"))
    last.sessions.handle(subscribing, [ClientRequest("S", 1, Operation.ATTACH)])
    last.sessions.handle(subscribing, [ClientRequest("S", 2, Operation.SUBSCRIBE, "s1", content)])
    core.neighbours.receive("B3", _taken(last, "B2"))
    first.neighbours.receive("B2", _taken(core, "B1"))

    def publish(number: int) -> list[Message]:
        quote = encode_publication(Publication({"class": "STOCK", "price": 50 + number % FRAME}))
        first.sessions.handle(publishing, [ClientRequest("P", 3 + number, Operation.PUBLISH, f"P:{number}", quote)])
        return _taken(first, "B2")

    return _rounds(publish)


def _controls() -> Iterator[Frames]:
    """Frames that B1 sends when another neighbour of it restarts again and again."""
    first = _broker("B1", ("B2", "B4"), NullTrace("B1", "base"))

    def restart(number: int) -> list[Message]:
        first.neighbours.link_down("B4")
        first.neighbours.link_up("B4", number + 2, 0)
        return _taken(first, "B2")

    return _rounds(restart)


def _rounds(make: Callable[[int], Sequence[Message]]) -> Iterator[Frames]:
    """The frames of one round after another; `make` gives the message with a number, as its sender passes it on."""
    number = 0
    while True:
        frames: Frames = []
        for _ in range(FRAMES):
            messages: list[Message] = []
            while len(messages) < FRAME:
                messages += make(number)
                number += 1
            frames += encode_link_frame(MessageFrame(messages), _LARGEST)
        yield frames


def _broker(name: BrokerId, neighbours: Sequence[BrokerId], trace: Trace) -> Broker:
    """A broker whose links are up."""
    links = tuple(
        LinkConfig(neighbour=neighbour, local="", remote="", dial=True, attributes={}) for neighbour in neighbours
    )
    config = BrokerConfig(id=name, incarnation=1, protocol="tid", options={"publications": "fixed"}, links=links)
    broker = Broker(config, time.monotonic_ns, trace, _no_timer)
    for neighbour in neighbours:
        broker.neighbours.link_up(neighbour, 1, 0)
        _taken(broker, neighbour)
    return broker


def _taken(broker: Broker, neighbour: BrokerId) -> list[Message]:
    """Messages that the broker has for a neighbour, taken and acknowledged."""
    link = broker.links[neighbour]
    found: list[Message] = []
    while messages := link.take():
        found += messages
        link.retransmission.acknowledge(link.sent)
    return found


class _NoTimer:
    """A timer that never runs out."""

    def cancel(self) -> None:
        """Has nothing to cancel."""


def _no_timer(_timer: SetTimer, _call: Callable[[], None]) -> _NoTimer:
    return _NoTimer()
