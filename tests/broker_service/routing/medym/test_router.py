"""MEDYM's router by its calls and actions: what it announces, passes on, sends again and refuses."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from broker_service.errors import MalformedMessageError
from broker_service.language.notation import parse_publication, parse_subscription
from broker_service.language.wire import decode_publication, encode_predicates, encode_publication
from broker_service.messages import Kind, Message
from broker_service.routing import read_options
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.interface import Action, Deliver, Recall, RouterContext, Send, SetTimer
from broker_service.routing.matcher import Comparisons, Matcher
from broker_service.routing.medym import MedymOptions, MedymRouter
from broker_service.routing.medym.destination_lists import as_rerouted, destinations, encode_list, is_rerouted
from broker_service.routing.medym.messages import (
    Announcement,
    Control,
    Status,
    WholeSum,
    WholeSumRequest,
    decode_control,
)
from broker_service.service import no_service
from broker_service.trace import Recorder
from tests.broker_service.overlay import ListTrace

SERVERS = ["A", "B", "C", "D"]
WANTED = parse_subscription("[class,eq,'E']")
ENCODED = encode_predicates(WANTED.predicates)
CONTENT = parse_publication("[class,'E']")


class Alone:
    """The router of server A, number 0, whose links to B, C and D are up; B is the nearest."""

    def __init__(self, **options: Any) -> None:
        self.links = {
            name: SimpleNamespace(up=True, round_trip=seconds) for name, seconds in zip("BCD", (1, 2, 3), strict=True)
        }
        read = read_options("medym", {"algorithm": "mst", **options})
        assert isinstance(read, MedymOptions)
        recorder = Recorder(ListTrace("A"), time.time_ns)
        context = RouterContext(
            broker="A",
            incarnation=1,
            attributes={},
            links=self.links,
            options=read,
            now=time.monotonic,
            service=no_service,
            prepared=msgspec.msgpack.encode([SERVERS]),
            stored={},
            stored_bytes=0,
            random=random.Random(0),
            matcher=lambda: Matcher(Comparisons(time.perf_counter_ns, decode_publication, recorder)),
            report_dropped=lambda message, reason: None,
        )
        self.router = MedymRouter(context)
        started = [action for name in self.links for action in self.router.link_up(name, 1)]
        (self._status_due,) = [action.key for action in started if isinstance(action, SetTimer)]

    def publish(self, id: str = "p") -> list[Action]:
        message = Message(Kind.PUBLISH, id, encode_publication(CONTENT))
        return list(self.router.publish("P", message, CONTENT, "a"))

    def receive(self, header: bytes, id: str = "p", body: bytes | None = None) -> list[Action]:
        content = encode_publication(CONTENT) if body is None else body
        return list(self.router.receive("B", Message(Kind.PUBLISH, id, content, header, hops=1)))

    def learn(self, control: Control, neighbour: str = "B") -> list[Action]:
        return list(self.router.receive(neighbour, Message(Kind.CONTROL, "", header=encode_header(control))))

    def look(self) -> list[bool]:
        """Loads that the router announces when it looks at its round trips and its load."""
        announced = controls(self.router.timer(self._status_due))
        return [control.overloaded for _, control in announced if isinstance(control, Status)]


def server_list(*numbers: int) -> bytes:
    return encode_list(np.array(numbers, np.uint16))


def sent(actions: Iterable[Action]) -> Iterator[tuple[str, list[int]]]:
    """Receivers and lists of publications."""
    for action in actions:
        if isinstance(action, Send) and action.message.kind is Kind.PUBLISH:
            yield action.neighbour, destinations(action.message.header).tolist()


def controls(actions: Iterable[Action]) -> list[tuple[str, Control]]:
    return [
        (action.neighbour, decode_control(action.message.header))
        for action in actions
        if isinstance(action, Send) and action.message.kind is Kind.CONTROL
    ]


def delivered(actions: Iterable[Action]) -> list[tuple[str, ...]]:
    return [action.clients for action in actions if isinstance(action, Deliver)]


def test_a_publication_goes_to_the_servers_whose_sums_match() -> None:
    server = Alone()
    server.learn(Announcement(1, 1, (ENCODED,), ()), "B")
    server.learn(Announcement(1, 1, (ENCODED,), ()), "D")
    assert dict(sent(server.publish())) == {"B": [1], "D": [3]}


@pytest.mark.parametrize(
    "headers",
    [
        (server_list(0, 2), as_rerouted(server_list(0, 3))),
        (as_rerouted(server_list(0, 2)), server_list(0, 3)),
        (as_rerouted(server_list(0, 2)), as_rerouted(server_list(0, 3))),
    ],
)
def test_a_second_copy_is_passed_on_by_its_own_list_and_delivered_no_more(headers: tuple[bytes, bytes]) -> None:
    server = Alone()
    server.router.subscribe("S", "s", WANTED)
    first, second = server.receive(headers[0]), server.receive(headers[1])
    assert (delivered(first), dict(sent(first))) == ([("S",)], {"C": [2]})
    assert (delivered(second), dict(sent(second))) == ([], {"D": [3]})
    for header, copies in zip(headers, (first, second), strict=True):
        assert {is_rerouted(copy.message.header) for copy in copies if isinstance(copy, Send)} == {is_rerouted(header)}


def test_two_publications_with_the_same_id_are_two_unless_one_was_rerouted() -> None:
    """A client may name a publication as one long before."""
    server = Alone()
    server.router.subscribe("S", "s", WANTED)
    assert [delivered(server.receive(server_list(0))) for _ in range(2)] == 2 * [[("S",)]]


@pytest.mark.parametrize("header", [b"", b"\7", b"\0\0", server_list(1, 2), server_list(0, 4), b"\0\1\0\0\0"])
def test_a_hostile_header_is_malformed_and_changes_nothing(header: bytes) -> None:
    server = Alone()
    server.router.subscribe("S", "s", WANTED)
    with pytest.raises(MalformedMessageError):
        server.receive(header)
    assert delivered(server.receive(server_list(0))) == [("S",)]


def test_a_body_that_cannot_be_decoded_is_malformed_and_changes_nothing() -> None:
    server = Alone()
    server.router.subscribe("S", "s", WANTED)
    with pytest.raises(MalformedMessageError):
        server.receive(server_list(0), body=b"\xff")
    assert delivered(server.receive(server_list(0))) == [("S",)]


def test_what_a_failed_neighbour_did_not_take_goes_round_it_and_a_copy_waits() -> None:
    server = Alone()
    assert server.router.link_down("B") == [Recall("B")]
    message = Message(Kind.PUBLISH, "p", encode_publication(CONTENT), server_list(1, 2, 3), hops=1)
    again = list(server.router.returned("B", [message]))
    assert dict(sent(again)) == {"B": [1], "C": [2], "D": [3]}
    assert {action.neighbour: action.label for action in again if isinstance(action, Send)} == {
        "B": "",
        "C": "rerouted",
        "D": "rerouted",
    }
    assert all(action.message.hops == 1 for action in again if isinstance(action, Send))


def test_control_messages_of_a_failed_neighbour_wait_for_it() -> None:
    server = Alone()
    message = Message(Kind.CONTROL, "", header=encode_header(WholeSumRequest()))
    assert server.router.returned("B", [message]) == [Send("B", message)]


def test_the_first_change_is_announced_at_once_and_further_ones_together() -> None:
    server = Alone()
    other = parse_subscription("[class,eq,'F']")
    first = server.router.subscribe("S", "s1", WANTED)
    assert controls(first) == [(name, Announcement(1, 1, (ENCODED,), ())) for name in "BCD"]
    (timer,) = [action for action in first if isinstance(action, SetTimer)]
    assert timer.awaited
    assert not server.router.subscribe("S", "s2", other)
    assert not server.router.unsubscribe("S", "s1")
    changes = Announcement(1, 2, (encode_predicates(other.predicates),), (ENCODED,))
    assert {control for _, control in controls(server.router.timer(timer.key))} == {changes}
    assert not server.router.timer(timer.key)


def test_a_missed_announcement_is_made_up_for_by_the_whole_sum() -> None:
    server = Alone()
    assert controls(server.learn(Announcement(1, 2, (ENCODED,), ()))) == [("B", WholeSumRequest())]
    assert not list(sent(server.publish("p1")))
    server.learn(WholeSum(1, 2, (ENCODED,)))
    assert dict(sent(server.publish("p2"))) == {"B": [1]}
    server.router.subscribe("S", "s", WANTED)
    assert controls(server.learn(WholeSumRequest())) == [("B", WholeSum(1, 1, (ENCODED,)))]


@pytest.mark.parametrize("control", [Announcement(2, 1, (ENCODED,), ()), WholeSum(2, 1, (ENCODED,))])
def test_subscriptions_of_another_incarnation_are_malformed(control: Control) -> None:
    with pytest.raises(MalformedMessageError):
        Alone().learn(control)


def test_a_restarted_neighbour_is_sent_all_and_its_former_sum_is_forgotten() -> None:
    server = Alone()
    server.router.subscribe("S", "s", WANTED)
    server.learn(Announcement(1, 1, (ENCODED,), ()))
    whole, status = controls(server.router.link_up("B", 2))
    assert whole == ("B", WholeSum(1, 1, (ENCODED,)))
    assert isinstance(status[1], Status)
    assert not list(sent(server.publish()))
    assert not server.router.link_up("B", 2)


def test_round_trips_and_load_are_announced_when_they_change() -> None:
    """One publication received and two copies sent are more than 1.5, and each copy counts once."""
    server = Alone(algorithm="balanced", overload_threshold=1.5)
    assert server.look() == 3 * [False]
    assert server.look() == []
    server.receive(server_list(0, 1, 2), "p1")
    assert server.look() == 3 * [True]
    server.receive(server_list(0), "p2")
    assert server.look() == 3 * [False]


def test_an_overloaded_neighbour_is_no_next_hop() -> None:
    server = Alone(algorithm="balanced")
    near_b = np.array([1, 0, 0.1, 0.1], "<f4").tobytes()
    server.learn(Status(near_b, overloaded=False))
    server.look()
    assert dict(sent(server.receive(server_list(0, 1, 2), "p1"))) == {"B": [1, 2]}
    server.learn(Status(near_b, overloaded=True))
    assert dict(sent(server.receive(server_list(0, 1, 2), "p2"))) == {"C": [1, 2]}
