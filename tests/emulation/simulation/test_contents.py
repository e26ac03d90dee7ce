"""Contents that the nodes of a simulation share."""

from __future__ import annotations

import pytest

from broker_service.language import ContentError, Publication, Value
from broker_service.language.content import decode_publication, encode_publication
from emulation.drivers.driver_operations import ready_content
from emulation.simulation import contents as module
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


def test_attributes_that_operations_share_are_made_ready_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CONTENTS_KEPT", 2)
    contents = Contents()
    shared: list[dict[str, Value]] = [
        {"class": "STOCK", "price": 1},
        {"class": "STOCK", "price": 1.0},
        {"class": "BOND"},
    ]
    first, second = contents.ready(shared[0]), contents.ready(shared[1])
    assert [first, second] == [ready_content(attributes) for attributes in shared[:2]]
    assert first.body != second.body, "a decimal is no integer, though both are equal"
    assert contents.ready(shared[0]) is first
    contents.ready(shared[2])
    assert contents.ready(shared[1]) is second
    assert contents.ready(shared[0]) is not first, "it was made ready longest ago"
