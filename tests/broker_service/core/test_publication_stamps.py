"""The time of publication: given by the client or by its broker, and carried to the last broker by every protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import pytest

from broker_service.language import Operator, Predicate, Publication
from broker_service.language.content import encode_publication
from broker_service.messages import ClientRequest, Message, Operation
from tests.broker_service.overlay import CoreOverlay

STOCK = Predicate("class", Operator.STRING_EQUAL, "STOCK")
QUOTE = encode_publication(Publication({"class": "STOCK"}))
SCOT = {name: {"region": number, "cluster": 0} for number, name in enumerate(("B1", "B2", "B3"))}
PROTOCOLS: Mapping[str, Mapping[str, object]] = {
    "tid": {"publications": "fixed"},
    "octopia": {"publications": "inter-cluster-dynamic"},
}


def travelled(overlay: CoreOverlay, path: Sequence[str]) -> Iterator[Message]:
    """Messages that leave each broker of a path for the next one."""
    for sender, receiver in pairwise(path):
        link = overlay.brokers[sender].links[receiver]
        messages = link.take()
        overlay.brokers[receiver].neighbours.receive(sender, messages)
        yield from messages


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("stamp", [0, 1, 2**64 - 1])
def test_a_stamp_reaches_the_last_broker(protocol: str, stamp: int) -> None:
    overlay = CoreOverlay([("B1", "B2"), ("B2", "B3")], protocol=protocol, options=PROTOCOLS[protocol], attributes=SCOT)
    overlay.attach("P", "B1")
    overlay.attach("S", "B3")
    overlay.advertise("P", "a", [STOCK])
    overlay.settle()
    overlay.subscribe("S", "s", [STOCK])
    overlay.settle()
    before = overlay.clock()
    _, session = overlay.sessions["P"]
    overlay.brokers["B1"].sessions.handle(session, [ClientRequest("P", 1, Operation.PUBLISH, "p", QUOTE, stamp)])
    after = overlay.clock()
    messages = list(travelled(overlay, ("B1", "B2", "B3")))
    assert [message.id for message in messages] == ["p", "p"]
    (published,) = {message.published for message in messages}
    assert published == stamp if stamp else before < published < after
