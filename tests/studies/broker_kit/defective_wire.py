"""brokerlab's own broker with one defect on the wire, which the variable WIRE_DEFECT chooses.

`python defective_wire.py BROKER_JSON`. Rows of the wire are held to it, because it keeps them without the defect.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import uvloop

from broker_service.config import load
from broker_service.grpc_shell import link_ports
from broker_service.grpc_shell.server import serve_until_stopped
from broker_service.links import session
from broker_service.links.frames import Hello, LinkFrame, MessageFrame
from broker_service.links.greeting import Greeting
from broker_service.links.retransmission import RetransmissionQueue
from broker_service.links.session import LinkSession
from broker_service.messages import Kind, Message
from broker_service.routing.cbf.router import CbfRouter
from broker_service.routing.interface import Actions
from broker_service.transport.wire import decode_hello

_WITHOUT = {
    "greets another protocol": "protocol",
    "greets another appearance": "appearance",
    "greets former incarnations": "incarnation",
}
"""Defects that accept a hello whatever a field of it says."""


def _greet_in_spite_of(field: str) -> None:
    check = Greeting.check

    def check_others(greeting: Greeting, hello: Hello) -> None:
        own, link = greeting.hello(), greeting._link
        fits = {
            "protocol": own.protocol,
            "appearance": own.appearance,
            "incarnation": max(hello.incarnation, link.neighbour_incarnation),
        }
        check(greeting, msgspec.structs.replace(hello, **{field: fits[field]}))

    Greeting.check = check_others  # type: ignore[method-assign]


def _greet_strangers() -> None:
    decode = decode_hello
    link_ports.decode_hello = lambda frame: msgspec.structs.replace(decode(frame), broker="N")  # type: ignore[attr-defined]


def _state_another_incarnation() -> None:
    hello = Greeting.hello
    Greeting.hello = lambda greeting: msgspec.structs.replace(hello(greeting), incarnation=7)  # type: ignore[method-assign]


def _forget_what_was_in_flight() -> None:
    def resume(queue: RetransmissionQueue, handled: int) -> None:
        queue._clear_in_flight()
        queue.repeats.clear()
        queue.acknowledged = handled

    RetransmissionQueue.resume = resume  # type: ignore[method-assign]


def _repeat_what_was_handled() -> None:
    Greeting.handled = lambda _greeting, _hello: 0  # type: ignore[method-assign]


def _ignore_the_window() -> None:
    make = RetransmissionQueue.__init__

    def make_wide(queue: RetransmissionQueue, neighbour: str, limits: msgspec.Struct) -> None:
        make(queue, neighbour, msgspec.structs.replace(limits, window=1_000))  # type: ignore[arg-type]

    RetransmissionQueue.__init__ = make_wide  # type: ignore[method-assign]


def _acknowledge_with_beats_only() -> None:
    session._ACKNOWLEDGE_AFTER = 10**12  # type: ignore[misc]


def _never_beat() -> None:
    frames = LinkSession.next_frames

    def without_beats(one: LinkSession, now: int) -> Sequence[LinkFrame]:
        return [each for each in frames(one, now) if not isinstance(each, MessageFrame) or each.messages]

    LinkSession.next_frames = without_beats  # type: ignore[method-assign]


def _bear_silence() -> None:
    session.MISSED_HEARTBEATS = 10**6  # type: ignore[misc]


def _send_publications_back() -> None:
    receive = CbfRouter.receive

    def receive_as_from_nobody(router: CbfRouter, neighbour: str, message: Message) -> Actions:
        if message.kind is Kind.PUBLISH and message.hops < 4:
            return router._forward(message, router._table.find(message), None)
        return receive(router, neighbour, message)

    CbfRouter.receive = receive_as_from_nobody  # type: ignore[method-assign]


DEFECTS: dict[str, Callable[[], None]] = {
    "greets strangers": _greet_strangers,
    "states another incarnation": _state_another_incarnation,
    "forgets what was in flight": _forget_what_was_in_flight,
    "repeats what was handled": _repeat_what_was_handled,
    "ignores the window": _ignore_the_window,
    "acknowledges with beats only": _acknowledge_with_beats_only,
    "never beats": _never_beat,
    "bears silence": _bear_silence,
    "sends publications back": _send_publications_back,
}


def main() -> None:
    defect = os.environ.get("WIRE_DEFECT", "")
    if defect in _WITHOUT:
        _greet_in_spite_of(_WITHOUT[defect])
    elif defect:
        DEFECTS[defect]()
    uvloop.run(serve_until_stopped(load(Path(sys.argv[-1]))))


if __name__ == "__main__":
    main()
