"""Decoding of control messages: all servers of a process share what they decode."""

from __future__ import annotations

import pytest

from broker_service.routing.common.decoding import decode_subscription, encode_header
from broker_service.routing.interface import MalformedMessageError
from broker_service.routing.medym.messages import (
    Bundle,
    Change,
    Confirmation,
    Parting,
    State,
    Version,
    Versions,
    decode_control,
)
from tests.broker_service.routing.medym.subscriptions.test_interests import A, B, C


def announcement(server: int, *added: bytes) -> Change:
    return Change(server, Version(1, 1), added, ())


def test_control_messages_are_decoded_as_they_were_encoded() -> None:
    for control in (
        Bundle((announcement(1, A, B), State(2, Version(2, 0), (C,)))),
        Bundle(()),
        Versions(((1, Version(1, 2)),)),
        Parting(),
        Confirmation(1, (2, 3)),
    ):
        assert decode_control(encode_header(control)) == control


def test_an_announcement_is_the_same_object_in_whichever_bundle_it_travels() -> None:
    first = decode_control(encode_header(Bundle((announcement(1, A), announcement(2, B, C)))))
    second = decode_control(encode_header(Bundle((announcement(2, B, C), announcement(3)))))
    assert isinstance(first, Bundle)
    assert isinstance(second, Bundle)
    assert first.announcements[1] is second.announcements[0]
    assert first.announcements[0] is not second.announcements[1]


def test_each_way_to_decode_predicates_is_asked() -> None:
    header = encode_header(Bundle((announcement(4, A),)))
    decoded: list[bytes] = []
    decode_control(header, decode_subscription)
    decode_control(header, decoded.append)
    assert decoded == [A]


def test_nonsense_among_announcements_is_malformed() -> None:
    for nonsense in (["change", 1], ["other", 1, [1, 1], [], []], 7):
        with pytest.raises(MalformedMessageError):
            decode_control(encode_header(["bundle", [announcement(1, A), nonsense]]))
