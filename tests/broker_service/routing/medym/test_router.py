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

from broker_service.language.content import decode_publication, encode_predicates, encode_publication
from broker_service.language.notation import parse_publication, parse_subscription
from broker_service.messages import Kind, Message
from broker_service.routing import read_options
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.common.recognition import BYTES_EACH
from broker_service.routing.interface import (
    Action,
    Deliver,
    MalformedMessageError,
    Recall,
    RouterContext,
    Send,
    SetTimer,
    TimerKey,
)
from broker_service.routing.interface.matcher import Comparisons, Matcher
from broker_service.routing.medym import MedymOptions, MedymRouter
from broker_service.routing.medym.announcements.repairs import ASK_AFTER, SENT_FOR
from broker_service.routing.medym.messages import (
    Announcement,
    Bundle,
    Change,
    Control,
    State,
    Status,
    Version,
    Versions,
    decode_control,
)
from broker_service.routing.medym.multicast.destination_lists import as_rerouted, destinations, encode_list, is_rerouted
from broker_service.tracing.trace import Recorder
from tests.broker_service.overlay import ListTrace

SERVERS = ["A", "B", "C", "D"]
WANTED = parse_subscription("[class,eq,'E']")
ENCODED = encode_predicates(WANTED.predicates)
CONTENT = parse_publication("[class,'E']")


class Alone:
    """The router of server A, number 0, whose links to B, C and D are up; B is the nearest."""

    def __init__(self, incarnation: int = 1, started_at: int = 0, **options: Any) -> None:
        self.time = 100.0
        """Seconds."""
        self.links = {
            name: SimpleNamespace(up=True, round_trip=seconds) for name, seconds in zip("BCD", (1, 2, 3), strict=True)
        }
        read = read_options("medym", {"algorithm": "mst", **options})
        assert isinstance(read, MedymOptions)
        recorder = Recorder(ListTrace("A"), time.time_ns)
        context = RouterContext(
            broker="A",
            incarnation=incarnation,
            attributes={},
            links=self.links,
            options=read,
            started_at=started_at,
            now=lambda: self.time,
            prepared=msgspec.msgpack.encode([SERVERS]),
            random=random.Random(0),
            matcher=lambda: Matcher(Comparisons(time.perf_counter_ns, decode_publication, recorder)),
            report_dropped=lambda message, reason: None,
        )
        self.router = MedymRouter(context)
        started = [action for name in self.links for action in self.router.link_up(name, 1)]
        assert incarnation > 1 or not controls(started)
        (self._status_due,) = [action.key for action in started if isinstance(action, SetTimer)]

    def publish(self, id: str = "p") -> list[Action]:
        message = Message(Kind.PUBLISH, id, encode_publication(CONTENT))
        return list(self.router.publish("P", message, CONTENT, "a"))

    def receive(self, header: bytes, id: str = "p", body: bytes | None = None, published: int = 0) -> list[Action]:
        content = encode_publication(CONTENT) if body is None else body
        message = Message(Kind.PUBLISH, id, content, header, hops=1, published=published)
        return list(self.router.receive("B", message))

    def learn(self, control: Control, neighbour: str = "B") -> list[Action]:
        return list(self.router.receive(neighbour, Message(Kind.CONTROL, "", header=encode_header(control))))

    def announced(self, *announcements: Announcement, neighbour: str = "B") -> list[Action]:
        return self.learn(Bundle(announcements), neighbour)

    def look(self) -> list[bool]:
        """Loads that the router announces when it looks at its round trips and its load."""
        actions = list(self.router.timer(self._status_due))
        for key in [key for key in due(actions) if key != self._status_due]:
            assert not self.router.timer(key)
        announced = [control for _, control in controls(actions) if isinstance(control, Bundle)]
        statuses = [announcement.status for bundle in announced for announcement in bundle.announcements]
        return [status.overloaded for status in statuses if status is not None]


def server_list(*numbers: int) -> bytes:
    return encode_list(np.array(numbers, np.uint16))


def due(actions: Iterable[Action]) -> list[TimerKey]:
    """Timers that were set, in the order in which they run out."""
    timers = sorted((action for action in actions if isinstance(action, SetTimer)), key=lambda timer: timer.after)
    return [timer.key for timer in timers]


def wants_it(server: int, incarnation: int = 1, number: int = 1) -> Change:
    """The announcement of a server whose client has subscribed."""
    return Change(server, Version(incarnation, number), (ENCODED,), ())


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
    server.announced(wants_it(1), wants_it(3))
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


def test_a_second_copy_is_recognised_however_late_it_comes() -> None:
    """While a link is cut for seconds, the others bring tens of thousands of publications."""
    server = Alone()
    server.router.subscribe("S", "s", WANTED)
    assert delivered(server.receive(server_list(0), "late", published=1)) == [("S",)]
    for number in range(12_000):
        server.receive(server_list(0), f"p{number}", published=2 + number)
    assert not delivered(server.receive(as_rerouted(server_list(0)), "late", published=1))


def test_what_is_too_old_to_recognise_is_passed_on_and_delivered_no_more() -> None:
    server = Alone(recognition_bytes=BYTES_EACH)
    server.router.subscribe("S", "s", WANTED)
    for published in (10, 20):
        assert delivered(server.receive(server_list(0), str(published), published=published)) == [("S",)]
    late = server.receive(as_rerouted(server_list(0, 3)), "10", published=10)
    assert (delivered(late), dict(sent(late))) == ([], {"D": [3]})


def test_a_restarted_server_notifies_nobody_of_what_its_former_incarnation_may_have_had() -> None:
    server = Alone(incarnation=2, started_at=100)
    server.router.subscribe("S", "s", WANTED)
    late = server.receive(as_rerouted(server_list(0, 3)), "late", published=100)
    assert (delivered(late), dict(sent(late))) == ([], {"D": [3]})
    assert delivered(server.receive(server_list(0), "new", published=101)) == [("S",)]


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


def test_servers_that_await_failed_hops_leave_trees_as_they_are() -> None:
    """Follows the paper's Figure 10: a failed server costs all that the tree puts behind it."""
    server = Alone(algorithm="source", failed_hops="await")
    server.announced(*(wants_it(number) for number in (1, 2, 3)))
    before = {action.neighbour for action in server.publish("p1") if isinstance(action, Send)}
    assert not any(isinstance(action, Recall) for action in server.router.link_down("B"))
    assert {action.neighbour for action in server.publish("p2") if isinstance(action, Send)} == before


def test_only_trees_await_failed_hops() -> None:
    with pytest.raises(ValueError, match="failed_hops: await needs algorithm: source"):
        read_options("medym", {"failed_hops": "await"})


def test_versions_take_the_place_of_control_messages_that_a_failed_neighbour_did_not_take() -> None:
    server = Alone()
    server.router.link_down("B")
    message = Message(Kind.CONTROL, "", header=encode_header(Bundle((wants_it(2),))))
    assert not server.router.returned("B", [message])
    assert controls(server.router.link_up("B", 1)) == [("B", Versions(((0, Version(1, 0)),)))]


def test_the_first_change_is_announced_at_once_and_further_ones_together() -> None:
    server = Alone()
    other = parse_subscription("[class,eq,'F']")
    first = server.router.subscribe("S", "s1", WANTED)
    assert controls(first) == [(name, Bundle((wants_it(0),))) for name in "BCD"]
    assert all(action.awaited for action in first if isinstance(action, SetTimer))
    passing_on, announcing = due(first)
    assert not server.router.timer(passing_on)
    assert not server.router.subscribe("S", "s2", other)
    assert not server.router.unsubscribe("S", "s1")
    changes = Change(0, Version(1, 2), (encode_predicates(other.predicates),), (ENCODED,))
    further = server.router.timer(announcing)
    assert {control for _, control in controls(further)} == {Bundle((changes,))}
    assert all(not server.router.timer(key) for key in due(further))


def test_announcements_of_others_are_passed_on_once_and_together() -> None:
    server = Alone()
    first = server.announced(wants_it(1))
    assert controls(first) == [(name, Bundle((wants_it(1),))) for name in "BCD"]
    (timer,) = due(first)
    assert not server.announced(wants_it(1), wants_it(2), neighbour="C")
    assert not server.announced(wants_it(3), neighbour="D")
    further = Bundle((wants_it(2), wants_it(3)))
    assert controls(server.router.timer(timer)) == [(name, further) for name in "BCD"]


def test_a_missed_announcement_is_made_up_for_by_the_whole_state() -> None:
    server = Alone()
    request = Versions(((0, Version(1, 0)),))
    assert controls(server.announced(wants_it(2, number=2))) == [("B", request)]
    assert not list(sent(server.publish("p1")))
    server.announced(State(2, Version(1, 2), (ENCODED,)))
    assert dict(sent(server.publish("p2"))) == {"C": [2]}


def test_a_neighbour_is_sent_the_states_that_it_lacks() -> None:
    server = Alone()
    server.router.subscribe("S", "s", WANTED)
    server.announced(wants_it(1), wants_it(2))
    known = Versions(((1, Version(1, 1)), (2, Version(0, 7))))
    states = State(2, Version(1, 1), (ENCODED,)), State(0, Version(1, 1), (ENCODED,), ANY_STATUS)
    ((receiver, bundle),) = controls(server.learn(known, "D"))
    assert receiver == "D"
    assert isinstance(bundle, Bundle)
    assert [without_status(state) for state in bundle.announcements] == [without_status(state) for state in states]
    assert not server.learn(Versions(((0, Version(1, 1)), (1, Version(1, 1)), (2, Version(2, 0)))), "D")


def test_a_neighbour_that_asks_without_end_is_sent_a_state_once_in_a_while() -> None:
    """Otherwise a few bytes from it bring all states, encoded anew."""
    server = Alone()
    server.announced(wants_it(1), wants_it(2))
    nothing = Versions(())

    def answered(neighbour: str = "D") -> list[int]:
        bundles = [control for _, control in controls(server.learn(nothing, neighbour))]
        return [state.server for bundle in bundles if isinstance(bundle, Bundle) for state in bundle.announcements]

    assert [answered() for _ in range(3)] == [[1, 2], [], []]
    assert answered("C") == [1, 2]
    server.announced(wants_it(1, number=2))
    assert [answered() for _ in range(2)] == [[1], []]
    server.time += SENT_FOR
    assert [answered() for _ in range(2)] == [[1, 2], []]
    server.router.link_down("D")
    server.router.link_up("D", 1)
    assert answered() == [1, 2]


def test_what_is_missing_is_asked_for_at_once_and_then_once_in_a_while() -> None:
    server = Alone()
    request = [("B", Versions(((0, Version(1, 0)),)))]
    assert controls(server.announced(wants_it(2, number=2))) == request
    server.time += ASK_AFTER / 2
    waiting = [action for _ in range(5) for action in server.announced(wants_it(2, number=2))]
    assert not controls(waiting)
    (timer,) = due(waiting)
    server.time += ASK_AFTER / 2
    assert controls(server.router.timer(timer)) == request


ANY_STATUS = Status(b"", overloaded=False)


def without_status(announcement: Announcement) -> Announcement:
    return msgspec.structs.replace(announcement, status=None)


@pytest.mark.parametrize(
    "control",
    [
        Bundle((wants_it(1), wants_it(4))),
        Bundle((wants_it(1), wants_it(-1))),
        Bundle((wants_it(1), wants_it(2, incarnation=-1))),
        Bundle((wants_it(1), Change(2, Version(1, 1), (b"nonsense",), ()))),
        Bundle((wants_it(1), Change(2, Version(1, 1), (), (), Status(b"no times", overloaded=False)))),
        Versions(((4, Version(1, 1)),)),
    ],
)
def test_hostile_announcements_are_malformed_and_change_nothing(control: Control) -> None:
    server = Alone()
    with pytest.raises(MalformedMessageError):
        server.learn(control)
    assert not list(sent(server.publish()))


def test_a_restarted_neighbour_is_sent_versions_and_its_former_sum_is_forgotten_everywhere() -> None:
    server = Alone()
    passed_on = server.announced(wants_it(1))
    actions = list(server.router.link_up("B", 2))
    assert controls(actions) == [("B", Versions(((0, Version(1, 0)), (1, Version(2, 0)))))]
    assert not list(sent(server.publish()))
    (timer,) = due(passed_on)
    assert {control for _, control in controls(server.router.timer(timer))} == {Bundle((State(1, Version(2, 0), ()),))}


def test_a_later_incarnation_begins_with_an_empty_sum() -> None:
    server = Alone()
    server.announced(wants_it(1), wants_it(2))
    server.announced(Change(1, Version(3, 1), (), ()))
    assert dict(sent(server.publish())) == {"C": [2]}
    server.announced(wants_it(1, incarnation=2, number=9))
    assert dict(sent(server.publish("p2"))) == {"C": [2]}


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
    server.announced(Change(1, Version(1, 1), (), (), Status(near_b, overloaded=False)))
    server.look()
    assert dict(sent(server.receive(server_list(0, 1, 2), "p1"))) == {"B": [1, 2]}
    server.announced(Change(1, Version(1, 2), (), (), Status(near_b, overloaded=True)))
    assert dict(sent(server.receive(server_list(0, 1, 2), "p2"))) == {"C": [1, 2]}
