"""The router by its calls and actions: forwarding, times-to-live, leaves, hostile messages, and figure 2."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.language.content import decode_publication, encode_predicates, encode_publication
from broker_service.language.notation import parse_publication, parse_subscription
from broker_service.messages import MOST_HOPS, Kind, Message
from broker_service.routing import read_options
from broker_service.routing.common.recognition import BYTES_EACH
from broker_service.routing.interface import Action, Deliver, MalformedMessageError, Recall, RouterContext, Send
from broker_service.routing.interface.matcher import Comparisons, Matcher
from broker_service.routing.semi_probabilistic import SemiProbabilisticOptions, semi_probabilistic_router
from broker_service.routing.semi_probabilistic.messages import EventHeader, encode
from broker_service.tracing.trace import Recorder
from record.log import Event
from record.promises import Completeness
from tests.broker_service.overlay import CoreOverlay, ListTrace

WANTED = parse_subscription("[class,eq,'E']")
BODY = encode_predicates(WANTED.predicates)
CONTENT = parse_publication("[class,'E']")


class Alone:
    """The router of broker A, whose links to its neighbours are up."""

    def __init__(
        self,
        neighbours: str = "BCDE",
        incarnation: int = 1,
        started_at: int = 0,
        dropped: list[tuple[str, str]] | None = None,
        **options: Any,
    ) -> None:
        """`dropped` gets the messages that end here, with the reasons."""
        read = read_options("semi-probabilistic", {"threshold": 0.25, "horizon": 3, **options})
        assert isinstance(read, SemiProbabilisticOptions)
        comparisons = Comparisons(lambda: 0, decode_publication, Recorder(ListTrace("A"), lambda: 0))
        ended: list[tuple[str, str]] = [] if dropped is None else dropped
        self._links = {name: SimpleNamespace(up=True) for name in neighbours}
        context = RouterContext(
            broker="A",
            incarnation=incarnation,
            attributes={},
            links=self._links,
            options=read,
            started_at=started_at,
            now=lambda: 0.0,
            prepared=b"",
            random=random.Random(1),
            matcher=lambda: Matcher(comparisons),
            report_dropped=lambda message, reason: ended.append((message.id, reason)),
        )
        self.router = semi_probabilistic_router(context)
        for neighbour in neighbours:
            self.router.link_up(neighbour, 1)

    def arrive(self, neighbour: str) -> Sequence[Action]:
        """A broker becomes a neighbour, and its link comes up."""
        self._links[neighbour] = SimpleNamespace(up=True)
        return self.router.link_up(neighbour, 1)

    def leave(self, neighbour: str) -> None:
        """A broker is a neighbour no more."""
        del self._links[neighbour]
        self.router.link_down(neighbour)

    def announce(self, neighbour: str, id: str, distance: int) -> Sequence[Action]:
        return self.router.receive(neighbour, Message(Kind.SUBSCRIBE, id, BODY, encode(distance)))

    def publish(self) -> Sequence[Action]:
        return self.router.publish("p", Message(Kind.PUBLISH, "e", encode_publication(CONTENT)), CONTENT, "a")

    def receive(self, neighbour: str, header: EventHeader, published: int = 0) -> Sequence[Action]:
        body = encode_publication(CONTENT)
        message = Message(Kind.PUBLISH, "e", body, encode(header), hops=3, published=published)
        return self.router.receive(neighbour, message)


def sends(actions: Sequence[Action]) -> list[Send]:
    return [action for action in actions if isinstance(action, Send)]


def events(actions: Sequence[Action]) -> list[tuple[str, str]]:
    return [(send.neighbour, send.message.label) for send in sends(actions) if send.message.kind is Kind.PUBLISH]


def notified(actions: Sequence[Action]) -> list[str]:
    return [client for action in actions if isinstance(action, Deliver) for client in action.clients]


def test_links_to_subscribers_come_first_and_labels_say_so() -> None:
    alone = Alone(threshold=0.5)
    alone.announce("C", "X.1.1", 2)
    deterministic, chance = events(alone.publish())
    assert deterministic == ("C", "deterministic")
    assert chance[0] in "BDE"
    assert chance[1] == "random"


def test_without_a_preference_subscribers_next_to_the_broker_still_come_first() -> None:
    chosen = set()
    for _ in range(20):
        alone = Alone(threshold=0.5, preference="none")
        for neighbour, distance in (("B", 1), ("C", 2), ("D", 3)):
            alone.announce(neighbour, f"{neighbour}.1.1", distance)
        alone.router._context.random.seed(len(chosen))
        chosen.add(tuple(events(alone.publish())))
    assert chosen == {(("B", "deterministic"), (far, "deterministic")) for far in "CD"}


def test_an_event_goes_on_once_and_not_back() -> None:
    alone = Alone(threshold=1.0)
    header = EventHeader("X.1", 1)
    assert [neighbour for neighbour, _ in events(alone.receive("C", header))] == ["B", "D", "E"]
    assert alone.receive("B", header) == ()
    assert events(alone.receive("B", EventHeader("X.2", 1)))


def test_events_are_known_by_their_publisher_and_not_by_the_clients_name() -> None:
    alone = Alone()
    assert events(alone.publish())
    assert events(alone.publish())


def test_an_own_event_that_comes_back_ends() -> None:
    alone = Alone()
    sent = sends(alone.publish())[0].message
    assert alone.router.receive("B", sent) == ()


def test_a_client_is_notified_of_what_comes_after_its_last_hop() -> None:
    alone = Alone(ttl=2)
    alone.router.subscribe("s", "A.1.1", WANTED)
    actions = alone.receive("B", EventHeader("X.1", 1, ttl=0))
    assert notified(actions) == ["s"]
    assert not events(actions)


def test_a_ttl_counts_every_hop_and_two_count_their_own() -> None:
    one = Alone(ttl=5, threshold=0.5)
    one.announce("C", "X.1.1", 1)
    assert {send.message.header for send in sends(one.receive("B", EventHeader("X.1", 1, ttl=4)))} == {
        encode(EventHeader("X.1", 1, ttl=3))
    }
    two = Alone(deterministic_ttl=5, probabilistic_ttl=4, threshold=0.5)
    two.announce("C", "X.1.1", 1)
    deterministic, chance = sends(two.receive("B", EventHeader("X.1", 1, None, 3, 2)))
    assert deterministic.message.header == encode(EventHeader("X.1", 1, None, 2, 2))
    assert chance.message.header == encode(EventHeader("X.1", 1, None, 3, 1))


@pytest.mark.parametrize("left", [(0, 2), (2, 0)])
def test_an_event_ends_when_either_ttl_is_used_up(left: tuple[int, int]) -> None:
    alone = Alone(deterministic_ttl=5, probabilistic_ttl=5)
    alone.announce("C", "X.1.1", 1)
    assert not events(alone.receive("B", EventHeader("X.1", 1, None, *left)))


def test_an_event_that_may_have_been_forgotten_is_dropped() -> None:
    alone = Alone(recognition_bytes=BYTES_EACH)
    assert events(alone.receive("B", EventHeader("X.1", 1), published=10))
    assert events(alone.receive("B", EventHeader("Y.1", 1), published=20))
    assert not events(alone.receive("C", EventHeader("X.1", 1), published=10))
    assert not events(alone.receive("C", EventHeader("Z.1", 1), published=9))
    assert events(alone.receive("C", EventHeader("Z.1", 2), published=11))


def test_a_restarted_broker_passes_former_events_on_and_notifies_nobody() -> None:
    alone = Alone(incarnation=2, started_at=100, threshold=1)
    alone.router.subscribe("s", "A.2.1", WANTED)
    former = alone.receive("B", EventHeader("X.1", 1), published=100)
    assert (len(events(former)), notified(former)) == (3, [])
    assert notified(alone.receive("B", EventHeader("X.1", 2), published=101)) == ["s"]
    assert notified(alone.publish()) == ["s"], "its own clients' events are new here, however old"


def test_a_client_with_two_matching_subscriptions_is_notified_once() -> None:
    alone = Alone()
    alone.router.subscribe("s", "A.1.1", WANTED)
    alone.router.subscribe("s", "A.1.2", parse_subscription("[class,isPresent,'']"))
    alone.router.subscribe("t", "A.1.3", WANTED)
    alone.router.subscribe("u", "A.1.4", parse_subscription("[class,eq,'F']"))
    assert sorted(notified(alone.publish())) == ["s", "t"]


def test_links_that_are_down_are_no_candidates_and_hold_events_alone() -> None:
    alone = Alone("BC", threshold=0.5)
    alone.announce("B", "X.1.1", 1)
    waiting = [*sends(alone.publish()), *sends(alone.router.subscribe("s", "A.1.1", WANTED))]
    actions = alone.router.link_down("B")
    assert Recall("B") in actions
    withdrawn = [send for send in sends(actions) if send.message.kind is Kind.UNSUBSCRIBE]
    assert [(send.neighbour, send.message.id) for send in withdrawn] == [("C", "X.1.1")]
    messages = [send.message for send in waiting if send.neighbour == "B"]
    assert {message.kind for message in messages} == {Kind.PUBLISH, Kind.SUBSCRIBE}
    assert [send.message.kind for send in sends(alone.router.returned("B", messages))] == [Kind.PUBLISH]
    assert events(alone.publish()) == [("C", "random")]


def test_a_new_link_gets_all_that_is_within_the_horizon() -> None:
    alone = Alone("B", horizon=2)
    alone.router.subscribe("s", "A.1.1", WANTED)
    alone.announce("B", "X.1.1", 1)
    alone.announce("B", "Y.1.1", 2)
    announced = sends(alone.router.link_up("C", 1))
    assert [(send.neighbour, send.message.id, send.message.header) for send in announced] == [
        ("C", "A.1.1", encode(1)),
        ("C", "X.1.1", encode(2)),
    ]


def test_a_leaf_gets_only_what_it_wants() -> None:
    alone = Alone(threshold=1.0, spare_leaves=True)
    for leaf in "BC":
        alone.router.receive(leaf, Message(Kind.CONTROL, leaf, header=encode(True)))
    alone.announce("C", "C.1.1", 1)
    assert [neighbour for neighbour, _ in events(alone.publish())] == ["C", "D", "E"]
    alone.router.receive("B", Message(Kind.CONTROL, "B", header=encode(False)))
    assert sorted(neighbour for neighbour, _ in events(alone.publish())) == ["B", "C", "D", "E"]


def test_the_threshold_is_of_all_links_leaves_among_them() -> None:
    alone = Alone(threshold=0.75, spare_leaves=True)
    alone.router.receive("B", Message(Kind.CONTROL, "B", header=encode(True)))
    assert sorted(neighbour for neighbour, _ in events(alone.publish())) == ["C", "D", "E"]


def test_a_broker_notifies_its_neighbours_of_being_a_leaf() -> None:
    alone = Alone("", spare_leaves=True)

    def statuses(actions: Sequence[Action]) -> list[tuple[str, bytes]]:
        return [(send.neighbour, send.message.header) for send in sends(actions) if send.message.kind is Kind.CONTROL]

    assert statuses(alone.router.link_up("B", 1)) == [("B", encode(True))]
    assert statuses(alone.router.link_up("C", 1)) == [("B", encode(False)), ("C", encode(False))]
    assert statuses(alone.router.link_up("D", 1)) == []
    assert statuses(alone.router.link_down("D")) == []
    assert statuses(alone.router.link_down("B")) == [("C", encode(True))]


@pytest.mark.parametrize(
    "message",
    [
        Message(Kind.PUBLISH, "e", encode_publication(CONTENT), b""),
        Message(Kind.PUBLISH, "e", encode_publication(CONTENT), b"\xc1"),
        Message(Kind.PUBLISH, "e", encode_publication(CONTENT), encode(EventHeader("X.1", 0, ttl=1))),
        Message(Kind.PUBLISH, "e", encode_publication(CONTENT), encode(EventHeader("X.1", 1))),
        Message(Kind.PUBLISH, "e", encode_publication(CONTENT), encode(EventHeader("X.1", 1, ttl=6))),
        Message(Kind.PUBLISH, "e", encode_publication(CONTENT), encode(EventHeader("X.1", 1, ttl=-1))),
        Message(Kind.PUBLISH, "e", encode_publication(CONTENT), encode(EventHeader("X.1", 1, 3, 3, 3))),
        Message(Kind.PUBLISH, "e", b"\xc1", encode(EventHeader("X.1", 1, ttl=3))),
        Message(Kind.SUBSCRIBE, "X.1.1", BODY, encode(0)),
        Message(Kind.SUBSCRIBE, "X.1.1", BODY, encode(4)),
        Message(Kind.SUBSCRIBE, "X.1.1", BODY, encode(True)),
        Message(Kind.SUBSCRIBE, "X.1.1", b"\xc1", encode(1)),
        Message(Kind.SUBSCRIBE, "X", BODY, encode(1)),
        Message(Kind.UNSUBSCRIBE, "X"),
        Message(Kind.CONTROL, "B", header=encode(True)),
        Message(Kind.ADVERTISE, "X.1.1", BODY),
    ],
)
def test_what_no_correct_neighbour_sends_is_malformed_and_changes_nothing(message: Message) -> None:
    alone = Alone(ttl=5)
    with pytest.raises(MalformedMessageError):
        alone.router.receive("B", message)
    assert alone.router.tables() == {"subscription_table": {}}
    assert events(alone.receive("B", EventHeader("X.1", 1, ttl=3)))


_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(max_size=5) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=6),
    max_leaves=8,
)


@given(
    kind=st.sampled_from(list(Kind)),
    id=st.sampled_from(["X.1.1", "A.1.1", "X", ""]) | st.text(max_size=8),
    body=st.sampled_from([BODY, encode_publication(CONTENT)]) | st.binary(max_size=8),
    header=st.binary(max_size=12) | _values.map(msgspec.msgpack.encode),
)
def test_whatever_a_neighbour_sends_is_handled_or_malformed(kind: Kind, id: str, body: bytes, header: bytes) -> None:
    alone = Alone(deterministic_ttl=3, probabilistic_ttl=3, spare_leaves=True)
    with contextlib.suppress(MalformedMessageError):
        alone.router.receive("B", Message(kind, id, body, header))
    assert events(alone.publish())


def test_one_subscription_has_one_content() -> None:
    alone = Alone()
    alone.announce("B", "X.1.1", 1)
    other = encode_predicates(parse_subscription("[class,eq,'F']").predicates)
    with pytest.raises(MalformedMessageError):
        alone.router.receive("C", Message(Kind.SUBSCRIBE, "X.1.1", other, encode(2)))


@pytest.mark.parametrize(
    "options",
    [
        {"ttl": 3, "deterministic_ttl": 3},
        {"ttl": -1},
        {"horizon": -1},
        {"threshold": 1.01},
        {"threshold": -0.1},
        {"recognition_bytes": 0},
        {"limit": "some"},
        {"preference": "farthest"},
        {"withdrawals": "none"},
        {"noticed_after": -0.1},
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        read_options("semi-probabilistic", options)


def test_only_flooding_promises_every_publication() -> None:
    def delivery(**options: Any) -> Completeness:
        return read_options("semi-probabilistic", options).promises.delivery

    assert delivery(threshold=1) is Completeness.EVERY
    assert delivery(threshold=1, spare_leaves=True, horizon=0) is Completeness.EVERY
    for options in ({}, {"threshold": 0.99}, {"threshold": 1, "ttl": 14}, {"threshold": 1, "spare_leaves": True}):
        assert delivery(**options) is Completeness.BEST_EFFORT


@pytest.mark.parametrize(
    ("options", "links"),
    [
        ({}, MOST_HOPS),
        ({"ttl": 14}, 14),
        ({"deterministic_ttl": 10, "probabilistic_ttl": 8}, 8),
        ({"ttl": 0}, 0),
        ({"horizon": 0}, msgspec.UNSET),
        ({"threshold": 1}, msgspec.UNSET),
        ({"threshold": 1, "spare_leaves": True}, MOST_HOPS),
    ],
)
def test_adjacent_subscribers_are_promised_what_has_hops_left(options: dict[str, Any], links: object) -> None:
    assert read_options("semi-probabilistic", options).promises.passes_on_within == links


FIGURE_2 = ["0-1", "1-2", "1-3", "2-3", "3-4", "3-6", "4-5", "4-7", "5-6", "5-9", "6-8", "7-9"]
"""Its links, as far as the text about it names them."""


@pytest.mark.parametrize("seed", range(20))
def test_the_example_of_figure_2(seed: int) -> None:
    links = [(link[0], link[2]) for link in FIGURE_2]
    overlay = CoreOverlay(links, options={"horizon": 1, "threshold": 0.5}, seed=seed, protocol="semi-probabilistic")
    for subscriber, wanted in (("3", "[black,=,1]"), ("9", "[grey,=,1]")):
        overlay.attach(subscriber, subscriber)
        overlay.subscribe(subscriber, "s", parse_subscription(wanted).predicates)
    overlay.attach("p", "0")
    overlay.advertise("p", "a", parse_subscription("[class,eq,'E'],[black,=,1],[grey,=,1]").predicates)
    overlay.settle()
    overlay.publish("p", "e", {"class": "E", "black": 1, "grey": 1})
    overlay.settle()

    hops = [record for record in overlay.records(Event.SENT) if record.kind == "publish"]
    by_sender = {
        name: {(record.peer, record.label) for record in hops if record.node == name} for name in overlay.brokers
    }
    assert by_sender["0"] == {("1", "random")}
    assert by_sender["1"] == {("3", "deterministic")}
    from_3 = {peer for peer, label in by_sender["3"] if label == "random"}
    assert len(from_3) == len(by_sender["3"]) == 2
    assert from_3 <= {"2", "4", "6"}
    assert overlay.notified["3"] == ["e"]
    captured = any(record.peer in {"5", "7"} for record in hops)
    assert overlay.notified["9"] == ["e"] * captured
    assert captured == any(("9", "deterministic") in by_sender[broker] for broker in ("5", "7"))
