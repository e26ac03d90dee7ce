"""Subscriptions that go to servers with matching advertisements, by the router's calls and actions."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from broker_service.language.content import encode_predicates
from broker_service.language.model import MAX_PREDICATES
from broker_service.language.notation import parse_advertisement, parse_subscription
from broker_service.messages import Kind, Message
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.interface import Action, MalformedMessageError, Send, SetTimer
from broker_service.routing.medym.messages import Change, Confirmation, Multicast, Version, decode_multicast
from broker_service.routing.medym.multicast.destination_lists import destinations
from broker_service.routing.medym.timer_keys import Timer
from tests.broker_service.routing.medym.test_router import ENCODED, WANTED, Alone, controls, sent, server_list

OFFER = encode_predicates(parse_advertisement("[class,eq,'E']").predicates)
OTHER = encode_predicates(parse_advertisement("[class,eq,'F']").predicates)


def advertised(server: int, offer: bytes, incarnation: int = 1) -> Change:
    return Change(server, Version(incarnation, 1), (offer,), ())


def told(actions: Iterable[Action]) -> dict[str, tuple[Kind, list[int]]]:
    """Kinds and lists of subscriptions that are sent, by receiver."""
    return {
        action.neighbour: (
            action.message.kind,
            destinations(decode_multicast(action.message.header).destinations).tolist(),
        )
        for action in actions
        if isinstance(action, Send) and action.message.kind in (Kind.SUBSCRIBE, Kind.UNSUBSCRIBE)
    }


def advertised_server() -> Alone:
    """A server that knows an advertisement of B and of D, which match a subscription, and one of C, which does not."""
    server = Alone(subscriptions="advertised")
    server.announced(advertised(1, OFFER), advertised(2, OTHER), advertised(3, OFFER))
    server.router.timer(Timer.PASSING_ON)
    return server


def subscription(header: bytes, number: int = 1, receivers: int = 1, origin: int = 1) -> Message:
    multicast = Multicast(origin, 1, number, receivers, header)
    return Message(Kind.SUBSCRIBE, "B.1.1", ENCODED, encode_header(multicast), 1)


def test_a_subscription_goes_to_the_servers_with_a_matching_advertisement_alone() -> None:
    server = advertised_server()
    assert told(server.router.subscribe("S", "s", WANTED)) == {
        "B": (Kind.SUBSCRIBE, [1]),
        "D": (Kind.SUBSCRIBE, [3]),
    }
    assert not told(server.router.unsubscribe("S", "s"))
    withdrawn = {"B": (Kind.UNSUBSCRIBE, [1]), "D": (Kind.UNSUBSCRIBE, [3])}
    assert told(server.router.timer(Timer.EXCHANGE)) == withdrawn


def test_a_server_that_advertises_later_is_told_what_it_lacks() -> None:
    server = advertised_server()
    server.router.subscribe("S", "s", WANTED)
    server.router.timer(Timer.EXCHANGE)
    actions = server.announced(Change(2, Version(1, 2), (OFFER,), ()))
    assert told(actions) == {"C": (Kind.SUBSCRIBE, [2])}


def test_what_is_not_confirmed_is_sent_again_directly() -> None:
    server = advertised_server()
    actions = server.router.subscribe("S", "s", WANTED)
    assert SetTimer(Timer.REPETITION, server.router._options.repeat_after, awaited=True) in actions
    assert not server.learn(Confirmation(1, (1,)), "B")
    repeated = server.router.timer(Timer.REPETITION)
    assert told(repeated) == {"D": (Kind.SUBSCRIBE, [3])}
    assert [action.label for action in repeated if isinstance(action, Send)] == ["repeated"]
    server.learn(Confirmation(1, (1,)), "D")
    assert not server.router.timer(Timer.REPETITION)


def test_a_server_behind_a_failed_link_is_told_when_the_link_works() -> None:
    server = advertised_server()
    server.links["B"].up = False
    server.router.link_down("B")
    server.router.subscribe("S", "s", WANTED)
    server.learn(Confirmation(1, (1,)), "D")
    assert not told(server.router.timer(Timer.REPETITION))
    server.links["B"].up = True
    assert told(server.router.link_up("B", 1)) == {"B": (Kind.SUBSCRIBE, [1])}


def test_a_subscription_is_passed_on_by_its_list_confirmed_and_matched() -> None:
    server = advertised_server()
    actions = list(server.router.receive("B", subscription(server_list(0, 2, 3))))
    assert told(actions) == {"C": (Kind.SUBSCRIBE, [2]), "D": (Kind.SUBSCRIBE, [3])}
    assert controls(actions) == [("B", Confirmation(1, (1,)))]
    assert dict(sent(server.publish())) == {"B": [1]}


def test_a_subscription_for_another_incarnation_is_passed_on_only() -> None:
    server = advertised_server()
    actions = list(server.router.receive("B", subscription(server_list(0, 2), receivers=2)))
    assert told(actions) == {"C": (Kind.SUBSCRIBE, [2])}
    assert not controls(actions)
    assert not dict(sent(server.publish()))


@pytest.mark.parametrize(
    "message",
    [
        subscription(server_list(1, 2)),
        subscription(server_list(0), number=0),
        subscription(server_list(0), origin=0),
        subscription(server_list(0), origin=4),
        Message(Kind.SUBSCRIBE, "s", b"\xff", subscription(server_list(0)).header),
        Message(Kind.SUBSCRIBE, "s", ENCODED, b"\xc1"),
    ],
)
def test_what_no_correct_server_sends_is_malformed_and_changes_nothing(message: Message) -> None:
    server = advertised_server()
    with pytest.raises(MalformedMessageError):
        server.router.receive("B", message)
    assert not dict(sent(server.publish()))


def test_subscriptions_are_malformed_where_they_are_announced_to_all() -> None:
    with pytest.raises(MalformedMessageError):
        Alone().router.receive("B", subscription(server_list(0)))
    with pytest.raises(MalformedMessageError):
        Alone().learn(Confirmation(1, (1,)))


def test_an_advertisement_may_say_more_than_a_subscription_can_hold() -> None:
    """Announced advertisements are decoded as such."""
    predicates = "".join(f",[a{number % 4},>,-{number}]" for number in range(2 * MAX_PREDICATES))
    offer = encode_predicates(parse_advertisement("[class,eq,'E']" + predicates).predicates)
    server = Alone(subscriptions="advertised")
    server.announced(advertised(1, offer))
    server.router.timer(Timer.PASSING_ON)
    assert told(server.router.subscribe("S", "s", parse_subscription("[a3,=,3]"))) == {"B": (Kind.SUBSCRIBE, [1])}
