"""Headers that name more than an overlay, or the clients of a broker, can justify: refused by every protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker_service.language.composite_subscription import MAX_PARTS
from broker_service.routing.cbf.messages import decode_changes
from broker_service.routing.channelization.messages import decode_interest
from broker_service.routing.common.bounds import LONGEST_NAME, MOST_BROKERS, MOST_DECLARED, MOST_TREES_NAMED
from broker_service.routing.common.decoding import encode_header, header_decoder
from broker_service.routing.common.distances import MOST_SERVERS
from broker_service.routing.common.identifiers import Home
from broker_service.routing.interface import MalformedMessageError
from broker_service.routing.medym import messages as medym
from broker_service.routing.octopia import messages as octopia
from broker_service.routing.tid.messages import decode_subscribe
from broker_service.routing.tid.placement.messages import decode_compose, decode_detection

Decode = Callable[[bytes], object]
BOUNDS: dict[str, tuple[Decode, Callable[[int], Any], int]] = {
    "trees of a subscription": (decode_subscribe, lambda size: ("c", [""] * size), MOST_TREES_NAMED),
    "path of a unit": (decode_compose, lambda size: ("c", "u", 1, 1, None, [Home("B", 1)] * size, ()), MOST_BROKERS),
    "parts of a unit": (decode_compose, lambda size: ("c", "u", 1, 1, None, (), [()] * size), MAX_PARTS),
    "publications of a detection": (decode_detection, lambda size: (1, [""] * size), MAX_PARTS),
    "advertisements of a cluster": (octopia.decode_control, lambda size: ("CivUnset", [""] * size), MOST_DECLARED),
    "clusters of a detour": (
        octopia.decode_publication_header, lambda size: (2, 1, "a", "b", True, bytes(size)), 1 << 12,
    ),
    "servers of versions": (medym.decode_control, lambda size: ("versions", [(1, (1, 1))] * size), MOST_SERVERS),
    "confirmations": (medym.decode_control, lambda size: ("confirmation", 1, [1] * size), MOST_DECLARED),
    "bundled changes": (decode_changes, lambda size: [(False, b"")] * size, 1 << 14),
    "channels": (decode_interest, lambda size: ([1] * size,), 1 << 16),
    "characters of a name": (octopia.decode_control, lambda size: ("CivSetForAdvertisement", "x" * size), LONGEST_NAME),
}  # fmt: skip


@pytest.mark.parametrize("name", BOUNDS)
def test_as_many_as_can_be_justified_are_taken_and_no_more(name: str) -> None:
    decode, header, most = BOUNDS[name]
    decode(encode_header(header(most)))
    with pytest.raises(MalformedMessageError, match=f"length <= {most}"):
        decode(encode_header(header(most + 1)))


def test_a_header_that_is_too_long_is_refused_before_it_is_decoded() -> None:
    decode = header_decoder(tuple[int, ...], most_bytes=10)
    assert decode(encode_header([1] * 9)) == (1,) * 9
    with pytest.raises(MalformedMessageError, match="a header of 11 bytes, of which it may have 10"):
        decode(b"\xff" * 11)
