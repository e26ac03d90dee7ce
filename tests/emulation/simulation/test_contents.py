"""Contents that the nodes of a simulation share."""

from __future__ import annotations

import pytest

from broker_service.language import ContentError, Publication
from broker_service.language.wire import decode_publication, encode_publication
from emulation.simulation.contents import CONTENTS_KEPT, Contents


def quote(number: int) -> Publication:
    return Publication({"class": "STOCK", "symbol": "YHOO", "price": number / 8, "volume": number})


def test_a_body_is_that_of_a_real_run() -> None:
    assert Contents().encode(quote(1)) == encode_publication(quote(1))


def test_what_was_encoded_is_not_decoded_again() -> None:
    contents, content = Contents(), quote(1)
    assert contents.decode(contents.encode(content)) is content


def test_what_another_has_encoded_is_decoded_once() -> None:
    contents, body = Contents(), encode_publication(quote(1))
    content = contents.decode(body)
    assert content == decode_publication(body)
    assert contents.decode(bytes(bytearray(body))) is content


def test_the_oldest_contents_are_forgotten_and_read_again() -> None:
    contents, first = Contents(), quote(0)
    bodies = [contents.encode(first), *(contents.encode(quote(number)) for number in range(1, CONTENTS_KEPT + 1))]
    assert contents.decode(bodies[1]) is contents.decode(bodies[1])
    assert contents.decode(bodies[0]) is not first
    assert contents.decode(bodies[0]) == first


def test_what_is_no_content_is_refused_each_time() -> None:
    contents = Contents()
    for _ in range(2):
        with pytest.raises(ContentError):
            contents.decode(b"\xff")
