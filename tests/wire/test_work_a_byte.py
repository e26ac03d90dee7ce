"""Work that a byte of a neighbour or a client makes a broker do, in instructions, whatever the byte says.

Every decoder and every router's `receive` gets headers of legal grammar and hostile size. The work of a message is
bounded by a constant, by its own bytes, and by all bytes of that neighbour before, because they are in tables now that
a subscription, an advertisement or a publication has to be compared with.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Mapping

import pytest

from broker_service.language import ContentError, Publication
from broker_service.language.composite_wire import decode_composite
from broker_service.language.content import decode_publication, encode_publication
from broker_service.links.frames import MessageFrame
from broker_service.messages import ClientRequest, Kind, Message, Operation
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.common.identifiers import Home
from broker_service.routing.gryphon.subscriptions.covering import UPDATE
from broker_service.routing.tid.messages import Restarted
from broker_service.routing.tid.placement.messages import ComposeHeader
from broker_service.routing.tid.router import TidRouter
from broker_service.transport.wire import (
    MOST_IN_FRAME,
    MalformedFrameError,
    decode_broker_frame,
    decode_client_frame,
    decode_link_frame,
    encode_client_frames,
    encode_link_frame,
)
from tests.instructions import instructions
from tests.proof import IS_WHOLE, tried
from tests.wire.hostile_headers import COMPOSITE, Attacked, attacked, size_of
from tests.wire.test_floods import MOST_IN_A_TURN

A_MESSAGE = 25_000
"""Instructions of any message: half a millisecond."""

A_BYTE = 300
"""Instructions more for each of its bytes. The longest header of a publication, 32 KB, would take a quarter second at
that rate; measured was a tenth of it."""

A_BYTE_BEFORE = 12
"""Instructions more for each byte of all messages before."""

AN_UPDATE = {"gryphon": 200 * UPDATE}
"""Instructions more of a message of one protocol: comparisons of conjunctions, which have a bound of their own."""

PROTOCOLS = (
    "tid-fixed", "tid-dynamic", "tid-dcsr", "octopia-spr", "octopia-idr", "octopia-beyond", "cbf", "cbf-aggregating",
    "gryphon", "channelization", "semi-probabilistic", "medym-mst", "medym-source", "medym-advertised",
)  # fmt: skip
SIZES = (2, 2, 2, 5, 20, 100, 300, *((1_000, 3_000) if IS_WHOLE else ()))
"""Items of headers, small ones first, because they fill the tables."""


def worst_excess(there: Attacked) -> float:
    """The greatest work of a message, as a multiple of what is allowed."""
    before, worst = 0, 0.0
    for size in SIZES:
        for message in there.messages(size):
            work = instructions(lambda message=message: there.broker.neighbours.receive(there.neighbour, [message]))  # type: ignore[misc]
            allowed = A_MESSAGE + AN_UPDATE.get(there.protocol, 0) + A_BYTE * size_of(message) + A_BYTE_BEFORE * before
            worst = max(worst, work / allowed)
            before += size_of(message)
    return worst


@pytest.mark.parametrize("seed", range(tried(1)))
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_work_of_every_message_is_bounded_by_its_bytes(protocol: str, seed: int) -> None:
    assert worst_excess(attacked(protocol, seed)) < 1


def test_work_that_grows_with_the_square_of_a_header_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    receive = TidRouter.receive

    def squared(self: TidRouter, neighbour: str, message: Message) -> object:
        for _ in message.header[:300]:
            for _ in message.header[:300]:
                pass
        return receive(self, neighbour, message)

    monkeypatch.setattr(TidRouter, "receive", squared)
    assert worst_excess(attacked("tid-fixed", 0)) > 1


def test_a_restart_costs_nothing_for_units_that_it_does_not_concern() -> None:
    """Thirty bytes say that any broker was restarted, as often as a neighbour likes where no number is planned."""

    def work_with(units: int) -> int:
        there = attacked("tid-dcsr", 0)
        path = (Home("X", 1), Home("Y", 1), Home(there.neighbour, 1))
        header = encode_header(ComposeHeader("c", "u", 1, 1, None, path, ((), ())))
        for number in range(units):
            there.broker.neighbours.receive(
                there.neighbour, [Message(Kind.COMPOSE, f"X.1.{number}", COMPOSITE, header, 1)]
            )
        restarted = Message(Kind.CONTROL, "Z.3", b"", encode_header(Restarted("Z", 3)), 1)
        return instructions(lambda: there.broker.neighbours.receive(there.neighbour, [restarted]))

    assert work_with(100) < work_with(10) + 100


CONTROL = MessageFrame([Message(Kind.CONTROL, "")] * MOST_IN_FRAME)
PUBLICATION = Publication({"class": "x", **{f"a{number}": number for number in range(250)}})
DECODERS: Mapping[str, tuple[Callable[[bytes], object], bytes]] = {
    "link frame": (decode_link_frame, encode_link_frame(CONTROL, 1 << 20)[0]),
    "client frame": (
        decode_client_frame,
        encode_client_frames([ClientRequest("", 1, Operation.ATTACH)] * MOST_IN_FRAME, 1 << 20)[0],
    ),
    "broker frame": (decode_broker_frame, b"\x0a\x02\x08\x01" * MOST_IN_FRAME),
    "publication": (decode_publication, encode_publication(PUBLICATION)),
    "composite": (decode_composite, COMPOSITE),
}  # fmt: skip


@pytest.mark.parametrize("name", DECODERS)
def test_the_work_of_a_decoder_is_bounded_by_the_bytes_that_it_gets(name: str) -> None:
    decode, data = DECODERS[name]
    source = random.Random(name)
    for _ in range(tried(20)):
        given = bytearray(data)
        for _ in range(source.randrange(4)):
            given[source.randrange(len(given))] = source.randrange(256)

        def attempt(given: bytes = bytes(given)) -> None:
            with contextlib.suppress(MalformedFrameError, ContentError):
                decode(given)

        assert instructions(attempt) < A_MESSAGE + A_BYTE * len(given)
    assert instructions(lambda: decode(data)) < MOST_IN_A_TURN
