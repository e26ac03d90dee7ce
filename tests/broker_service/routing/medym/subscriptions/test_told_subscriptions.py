"""Both ends of what servers tell each other of subscriptions, over a network that reorders, repeats and loses."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_service.language.content import encode_predicates
from broker_service.language.notation import parse_advertisement, parse_subscription
from broker_service.routing.medym.subscriptions.advertisements import KnownAdvertisements
from broker_service.routing.medym.subscriptions.told_subscriptions import Telling, TellingServers, ToldServers
from tests.broker_service.routing.medym.subscriptions.test_interests import sums
from tests.instructions import instructions
from tests.properties import drawing

SUBSCRIBER, PUBLISHER = 0, 1
VALUES = range(3)
SUBSCRIPTIONS = [encode_predicates(parse_subscription(f"[value,=,{value}]").predicates) for value in VALUES]
ADVERTISEMENTS = [
    encode_predicates(parse_advertisement(f"[class,eq,'E'],[value,<=,{highest}]").predicates) for highest in VALUES
]
OF_CLIENTS = ("subscribe", "unsubscribe", "advertise", "unadvertise", "restart")
OF_THE_NETWORK = ("tell", "receive", "repeat", "lose", "confirm")
OPERATIONS = (*OF_CLIENTS, *OF_THE_NETWORK, "subscribe", "unsubscribe", "tell", "receive")
BEGINNING = ("subscribe", "subscribe", "advertise", "tell", "repeat")


class Ends:
    """A server with subscriptions, one that advertises, and the changes that travel between them."""

    def __init__(self, telling: type[TellingServers], told: type[ToldServers]) -> None:
        self.advertisements = KnownAdvertisements()
        self.advertised: set[int] = set()
        self.wanted: set[int] = set()
        self.told = told(self.advertisements)
        self.kind = telling
        self.incarnation = 0
        self.travelling: list[Telling] = []
        self.confirmed: list[int] = []
        self.restart()

    def restart(self) -> None:
        """The advertising server begins anew; its clients advertise again when they are told to."""
        self.incarnation += 1
        self.known = sums()
        self.telling = self.kind(self.known, remembered=100)
        self.advertised.clear()
        self.advertisements.replace(PUBLISHER, ())

    def advertise(self, values: set[int]) -> None:
        self.advertised = values
        self.advertisements.replace(PUBLISHER, tuple(ADVERTISEMENTS[value] for value in sorted(values)))

    def tell(self) -> None:
        for telling, servers in self.told.changes(lambda server: self.incarnation):
            assert servers == [PUBLISHER]
            self.travelling.append(telling)

    def receive(self, telling: Telling) -> None:
        if telling.incarnation == self.incarnation and self.telling.begin(SUBSCRIBER, 1):
            self.telling.apply(SUBSCRIBER, telling)
            self.confirmed.append(telling.number)

    def confirm(self) -> None:
        self.told.confirm(PUBLISHER, self.confirmed)
        self.confirmed = []

    def settle(self) -> None:
        """Tells again what has not been confirmed, until it is."""
        self.tell()
        for telling in self.told.unconfirmed(PUBLISHER):
            self.receive(telling)
        self.confirm()
        assert not self.told.unconfirmed(PUBLISHER)

    def act(self, operation: str, data: st.DataObject) -> None:
        value = data.draw(st.sampled_from(VALUES))
        match operation:
            case "subscribe" if value not in self.wanted:
                self.wanted.add(value)
                self.told.add(f"s{value}", SUBSCRIPTIONS[value])
            case "unsubscribe" if value in self.wanted:
                self.wanted.remove(value)
                self.told.remove(SUBSCRIPTIONS[value])
            case "advertise" | "unadvertise":
                self.advertise(self.advertised | {value} if operation == "advertise" else self.advertised - {value})
            case "restart":
                self.restart()
            case "tell":
                self.tell()
            case "confirm":
                self.confirm()
            case "receive" | "repeat" | "lose" if self.travelling:
                telling = data.draw(st.sampled_from(self.travelling))
                if operation != "repeat":
                    self.travelling.remove(telling)
                if operation != "lose":
                    self.receive(telling)


def advertisers_know_what_matches(telling: type[TellingServers], told: type[ToldServers], drawn: settings) -> None:
    """An advertiser knows, when all is quiet, the subscriptions that match its advertisements, and no others."""

    @drawn
    @given(st.lists(st.sampled_from(OPERATIONS), min_size=8, max_size=24), st.data())
    def check(operations: list[str], data: st.DataObject) -> None:
        ends = Ends(telling, told)
        for operation in (*BEGINNING, *operations):
            ends.act(operation, data)
        ends.settle()
        for late in reversed(ends.travelling):
            ends.receive(late)
        matching = {value for value in ends.wanted if value <= max(ends.advertised, default=-1)}
        assert set(ends.known.held_by(SUBSCRIBER)) == {SUBSCRIPTIONS[value] for value in matching}

    check()


def test_advertisers_know_what_matches() -> None:
    advertisers_know_what_matches(TellingServers, ToldServers, settings(max_examples=150, deadline=None))


def test_what_a_former_incarnation_told_is_forgotten_and_ignored() -> None:
    known = sums()
    telling = TellingServers(known, remembered=1)
    change = Telling(3, "s", SUBSCRIPTIONS[0], True, 1)
    assert telling.begin(SUBSCRIBER, 1)
    telling.apply(SUBSCRIBER, change)
    assert telling.begin(SUBSCRIBER, 2)
    assert not known.held_by(SUBSCRIBER)
    assert not telling.begin(SUBSCRIBER, 1)
    telling.apply(SUBSCRIBER, change._replace(number=1))
    assert known.held_by(SUBSCRIBER) == [SUBSCRIPTIONS[0]]


def test_the_withdrawals_of_other_servers_are_no_work_when_a_server_begins_anew() -> None:
    def work(withdrawals: int) -> int:
        telling = TellingServers(sums(), remembered=10_000)
        assert telling.begin(SUBSCRIBER, 1)
        for number in range(withdrawals):
            telling.apply(SUBSCRIBER, Telling(number + 1, "s", b"%d" % number, False, 1))
        return instructions(lambda: telling.begin(SUBSCRIBER + 1, 2))

    assert work(1_000) == work(10)


def test_one_change_goes_to_all_servers_that_it_concerns_and_no_confirmation_is_awaited_twice() -> None:
    advertisements = KnownAdvertisements()
    for server, highest in enumerate(VALUES, start=1):
        advertisements.replace(server, (ADVERTISEMENTS[highest],))
    told = ToldServers(advertisements)
    told.add("s", SUBSCRIPTIONS[1])
    ((telling, servers),) = told.changes(lambda server: 1)
    assert (telling.id, telling.stands, servers) == ("s", True, [2, 3])
    told.confirm(2, [telling.number])
    told.confirm(2, [telling.number, 17])
    assert told.awaited == [3]


class AppliesInOrderOfArrival(TellingServers):
    """Takes each change for the latest."""

    def apply(self, server: int, telling: Telling) -> None:
        self._standing[server].clear()
        self._withdrawn.clear()
        super().apply(server, telling)


class ForgetsWithdrawals(TellingServers):
    """Remembers no withdrawn subscription, so that an earlier change brings it back."""

    def apply(self, server: int, telling: Telling) -> None:
        super().apply(server, telling)
        self._withdrawn.clear()


class KeepsWithdrawalsToItself(ToldServers):
    """Tells nobody that a subscription has ended."""

    def remove(self, subscription: bytes) -> None:
        pass


class TellsTheRestartedNothing(ToldServers):
    """Takes a restarted server for one that still knows what it was told."""

    def _forget(self, server: int) -> None:
        pass


@pytest.mark.parametrize(
    ("telling", "told"),
    [
        (AppliesInOrderOfArrival, ToldServers),
        (ForgetsWithdrawals, ToldServers),
        (TellingServers, KeepsWithdrawalsToItself),
        (TellingServers, TellsTheRestartedNothing),
    ],
)
def test_broken_ends_are_caught(telling: type[TellingServers], told: type[ToldServers]) -> None:
    with pytest.raises(AssertionError):
        advertisers_know_what_matches(telling, told, settings(drawing.search, max_examples=400))
