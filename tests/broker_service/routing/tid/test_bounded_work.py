"""Work that a message of a neighbour makes at a TID broker, in instructions: it grows no faster than the message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from broker_service.language import Operator, Predicate
from broker_service.language.content import encode_predicates
from broker_service.messages import Kind, Message
from broker_service.routing.common.bounds import MOST_BROKERS, MOST_TREES, MOST_TREES_NAMED
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.tid import common_routes
from broker_service.routing.tid.messages import (
    MOST_DESTINATION_BYTES,
    AdvertiseHeader,
    PublishHeader,
    Restarted,
    SubscribeHeader,
    decode_publish,
    decode_subscribe,
    decode_unsubscribe,
)
from broker_service.routing.tid.publications import encoded_parts
from broker_service.routing.tid.tables import Group
from record.log import Event
from tests.broker_service.overlay import CoreOverlay
from tests.instructions import instructions

STOCK = encode_predicates((Predicate("class", Operator.STRING_EQUAL, "STOCK"),))
HOME = "B3.1"
MOST_INSTRUCTIONS_A_BYTE = 200
DYNAMIC = {"publications": "dynamic"}


def broker_between() -> CoreOverlay:
    return CoreOverlay([("B1", "B2"), ("B2", "B3")], options=DYNAMIC)


def receive(overlay: CoreOverlay, *messages: Message, neighbour: str = "B3") -> int:
    """Instructions that B2 takes for messages of a neighbour."""
    return instructions(lambda: overlay.brokers["B2"].neighbours.receive(neighbour, messages))


def subscription(number: int, trees: Sequence[int]) -> Message:
    header = SubscribeHeader("S", tuple(f"B1.1.{tree}" for tree in trees))
    return Message(Kind.SUBSCRIBE, f"{HOME}.{number}", STOCK, encode_header(header), 1)


def publication(groups: list[Group]) -> Message:
    return Message(Kind.PUBLISH, "P:1", b"", encode_header(PublishHeader("B1.1.0", 9, {HOME: groups})), 1)


def restarted(broker: str, incarnation: int) -> Message:
    return Message(Kind.CONTROL, "r", b"", encode_header(Restarted(broker, incarnation)))


def reasons(overlay: CoreOverlay) -> list[str | None]:
    return [record.text for record in overlay.traces["B2"].of(Event.DROPPED)]


def repeated(subscriptions: int) -> list[Group]:
    """One group that names the same subscriptions over and over."""
    return [tuple(number % subscriptions for number in range(2_000))]


def pairs(subscriptions: int) -> list[Group]:
    """Groups of any two subscriptions."""
    return [(first, second) for first in range(subscriptions) for second in range(first)]


def each(subscriptions: int) -> list[Group]:
    return [(number,) for number in range(subscriptions)]


@pytest.mark.parametrize("groups", [repeated, pairs, each])
def test_the_work_of_a_publication_grows_with_its_header_and_not_with_the_trees(
    groups: Callable[[int], list[Group]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(common_routes, "MOST_LOOKUPS", 500)

    def work(trees: int) -> float:
        overlay = broker_between()
        for number in range(100):
            overlay.brokers["B2"].neighbours.receive("B3", [subscription(number, [*range(trees), trees + number])])
        overlay.brokers["B2"].neighbours.receive("B3", [publication(each(100))])  # what is found out once about routes
        message = publication(groups(100))
        return receive(overlay, message, neighbour="B1") / len(message.header)

    few, many = work(10), work(300)
    assert many < MOST_INSTRUCTIONS_A_BYTE
    assert many < 1.1 * few


def test_a_tree_more_costs_no_more_where_there_are_many() -> None:
    def work(trees: int) -> int:
        overlay = broker_between()
        overlay.brokers["B2"].neighbours.receive("B3", [subscription(1, range(trees))])
        return receive(overlay, subscription(1, [trees]))

    assert work(2_000) < work(10) + 100


def test_restarts_of_strangers_cost_the_same_however_large_the_tables_are() -> None:
    def work(trees: int) -> int:
        overlay = broker_between()
        overlay.brokers["B2"].neighbours.receive("B3", [subscription(1, range(trees))])
        return receive(overlay, *(restarted("B9", incarnation) for incarnation in range(2, 12)))

    assert work(2_000) < work(10) + 100


def test_a_restart_voids_the_trees_and_the_subscriptions_of_its_broker_only() -> None:
    overlay = broker_between()
    overlay.brokers["B2"].neighbours.receive("B3", [subscription(number, range(number + 1)) for number in range(3)])
    overlay.brokers["B2"].neighbours.receive("B3", [restarted("B9", 2)])
    assert len(overlay.brokers["B2"].tables()["publication_routing_table"]) == 3  # type: ignore[arg-type]
    overlay.brokers["B2"].neighbours.receive("B3", [restarted("B1", 2)])
    assert not overlay.brokers["B2"].tables()["publication_routing_table"]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (subscription(1, range(MOST_TREES_NAMED + 1)), f"length <= {MOST_TREES_NAMED}"),
        (publication(each(MOST_DESTINATION_BYTES)), f"of which it may have {MOST_DESTINATION_BYTES}"),
        (
            Message(Kind.ADVERTISE, "B9.1.1", STOCK, encode_header(AdvertiseHeader(("B",) * (MOST_BROKERS + 1))), 1),
            f"length <= {MOST_BROKERS}",
        ),
        (
            Message(Kind.ADVERTISE, "B9.1.1", STOCK, encode_header(AdvertiseHeader(("B9", "B8", "B9"))), 1),
            "its path leads through one broker twice",
        ),
        (restarted("B" * 1_000, 2), "length <= 512"),
    ],
    ids=["trees", "destinations", "path", "circle", "name"],
)
def test_what_no_overlay_justifies_is_refused_by_name(message: Message, reason: str) -> None:
    overlay = broker_between()
    overlay.brokers["B2"].neighbours.receive("B3", [message])
    (dropped,) = reasons(overlay)
    assert reason in str(dropped)


def test_no_subscription_is_bound_to_more_trees_by_further_messages() -> None:
    overlay = broker_between()
    for begin in range(0, MOST_TREES, MOST_TREES_NAMED):
        overlay.brokers["B2"].neighbours.receive("B3", [subscription(1, range(begin, begin + MOST_TREES_NAMED))])
    overlay.brokers["B2"].neighbours.receive("B3", [subscription(1, [MOST_TREES])])
    assert reasons(overlay) == [f"malformed: a subscription that is bound to more than {MOST_TREES} trees"]


def test_no_more_brokers_restart_than_an_overlay_has() -> None:
    overlay = broker_between()
    messages = [restarted(f"X{number}", 2) for number in range(MOST_BROKERS)]
    overlay.brokers["B2"].neighbours.receive("B3", messages)
    assert 0 < len(reasons(overlay)) <= 3
    assert all(f"than the {MOST_BROKERS} that an overlay has" in str(reason) for reason in reasons(overlay))


def test_a_publication_for_very_many_subscriptions_travels_in_several_copies() -> None:
    groups: list[Group] = [(number,) for number in range(1 << 16)]
    parts = [
        decode_publish(part) for part in encoded_parts(PublishHeader("B1.1.0", 9, {"B3.1": groups, "B4.1": groups}))
    ]
    assert len(parts) > 1
    for home in ("B3.1", "B4.1"):
        assert [group for part in parts for group in part.destinations.get(home, ())] == groups


def test_a_client_with_very_many_matching_subscriptions_is_represented_by_some() -> None:
    (part,) = encoded_parts(PublishHeader("B1.1.0", 9, {"B3.1": [tuple(range(1 << 17))]}))
    ((group,),) = decode_publish(part).destinations.values()
    assert group == tuple(range(1 << 13))


def test_a_subscription_to_very_many_trees_travels_in_several_messages() -> None:
    overlay = broker_between()
    trees = [f"B1.1.{number}" for number in range(MOST_TREES_NAMED + 1)]
    messages = [Message(Kind.ADVERTISE, tree, STOCK, encode_header(AdvertiseHeader(("B1",))), 1) for tree in trees]
    overlay.brokers["B2"].neighbours.receive("B1", messages)
    overlay.brokers["B2"].neighbours.receive(
        "B3", [subscription(1, range(MOST_TREES_NAMED)), subscription(1, [MOST_TREES_NAMED])]
    )
    router: Any = overlay.brokers["B2"]._router
    entry = router._subscriptions.get(f"{HOME}.1")
    for sends in (router._propagation.renew("B1", trees), router._propagation.withdraw(entry, trees, "B3")):
        decode: dict[Kind, Callable[[bytes], Any]] = {
            Kind.SUBSCRIBE: decode_subscribe,
            Kind.UNSUBSCRIBE: decode_unsubscribe,
        }
        named = [decode[send.message.kind](send.message.header).tids for send in sends]
        assert [len(tids) for tids in named] == [MOST_TREES_NAMED, 1]
