"""Subscription tables of whole overlays, compared with a fixpoint by breadth-first search, after any changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker_service.language.notation import parse_subscription
from broker_service.messages import Operation
from record.log import Event
from tests.broker_service.overlay import CoreOverlay

BROKERS = tuple(f"B{number}" for number in range(1, 8))
Links = Iterable[tuple[str, str]]
Tables = dict[str, dict[str, list[tuple[str | None, int]]]]
"""Distances of each subscription by neighbour, at each broker."""
Operations = list[tuple[tuple[str, str | tuple[str, str], int], int]]
"""Operations of a course, each with the frames that move after it."""

pairs = st.tuples(st.sampled_from(BROKERS), st.sampled_from(BROKERS)).filter(lambda pair: pair[0] < pair[1])
_operations = st.one_of(
    st.tuples(st.sampled_from(["subscribe", "unsubscribe"]), st.sampled_from(BROKERS), st.integers(0, 2)),
    st.tuples(st.sampled_from(["appear or vanish", "cut or join"]), pairs, st.just(0)),
    st.tuples(st.sampled_from(["kill or restart"]), st.sampled_from(BROKERS), st.just(0)),
)
courses = st.lists(st.tuples(_operations, st.integers(0, 12)), max_size=25)
unhurried = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


def fixpoint(links: Links, homes: Mapping[str, str], horizon: int) -> Tables:
    """Tables of all brokers: for each subscription the distances over each link, without any message.

    A distance over the link from u to v is the length of the shortest walk from the subscriber that ends with it, goes
    straight back over no link, and does not return to the subscriber.
    """
    neighbours: dict[str, set[str]] = {broker: set() for broker in BROKERS}
    for a, b in links:
        neighbours[a].add(b)
        neighbours[b].add(a)
    tables: Tables = {broker: {} for broker in BROKERS}
    for subscription, home in homes.items():
        tables[home][subscription] = [(None, 0)]
        distances: dict[tuple[str, str], int] = {}
        waiting = deque((home, neighbour, 1) for neighbour in neighbours[home])
        while waiting:
            sender, broker, distance = waiting.popleft()
            if broker == home or distance > horizon or (sender, broker) in distances:
                continue
            distances[sender, broker] = distance
            waiting.extend((broker, onward, distance + 1) for onward in neighbours[broker] if onward != sender)
        for (sender, broker), distance in distances.items():
            tables[broker].setdefault(subscription, []).append((sender, distance))
    return {
        broker: {id: sorted(rows, key=lambda row: (row[0] is not None, row)) for id, rows in table.items()}
        for broker, table in tables.items()
    }


class Course:
    """An overlay whose clients and links change; each broker has a client while it runs."""

    def __init__(self, links: Links, horizon: int, seed: int = 0, **options: object) -> None:
        self.overlay = CoreOverlay(
            links, BROKERS, {"horizon": horizon, "threshold": 0.5, **options}, seed, protocol="semi-probabilistic"
        )
        self.horizon = horizon
        self.wanted: set[tuple[str, int]] = set()
        self._made = dict.fromkeys(BROKERS, 0)
        self._ids: dict[tuple[str, int], str] = {}
        for broker in BROKERS:
            self.overlay.attach(broker, broker)

    def perform(self, operation: str, target: str | tuple[str, str], number: int) -> None:
        if isinstance(target, tuple):
            self._change_link(operation, target)
        elif operation == "kill or restart":
            self._kill_or_restart(target)
        elif target in self.overlay.brokers and (operation == "subscribe") != ((target, number) in self.wanted):
            self._change_subscription(operation, target, number)

    def check(self) -> None:
        """All tables are those of the fixpoint."""
        expected = fixpoint(self.links_up, self.homes, self.horizon)
        for name, table in self.settled_tables().items():
            assert table == expected[name], name

    def settled_tables(self) -> Tables:
        """The tables of the running brokers when all timers have run out and no message waits."""
        self.overlay.settle()
        self.overlay.fire_timers()
        self.overlay.settle()
        tables: Tables = {}
        for name, broker in self.overlay.brokers.items():
            table = broker.tables()["subscription_table"]
            assert isinstance(table, dict)
            tables[name] = table
        return tables

    @property
    def links_up(self) -> list[tuple[str, str]]:
        overlay, running = self.overlay, self.overlay.brokers
        return [(a, b) for a, b in overlay.links if {a, b} not in overlay.cuts and a in running and b in running]

    @property
    def homes(self) -> Mapping[str, str]:
        """The broker of each subscription that stands."""
        return {self._ids[broker, number]: broker for broker, number in self.wanted}

    def _change_link(self, operation: str, link: tuple[str, str]) -> None:
        overlay = self.overlay
        present = link in overlay.links
        if operation == "appear or vanish":
            (overlay.vanish if present else overlay.appear)(*link)
        elif present and set(link) <= overlay.brokers.keys():
            (overlay.join if set(link) in overlay.cuts else overlay.cut)(*link)

    def _kill_or_restart(self, broker: str) -> None:
        if broker in self.overlay.brokers:
            self.overlay.cuts = [cut for cut in self.overlay.cuts if broker not in cut]
            self.overlay.kill(broker)
            self.wanted = {(subscriber, number) for subscriber, number in self.wanted if subscriber != broker}
        else:
            self.overlay.restart(broker)
            self.overlay.attach(broker, broker)
            self._made[broker] = 0

    def _change_subscription(self, operation: str, broker: str, number: int) -> None:
        if operation == "subscribe":
            self.wanted.add((broker, number))
            self._made[broker] += 1
            self._ids[broker, number] = f"{broker}.{self.overlay.incarnations[broker]}.{self._made[broker]}"
            self.overlay.subscribe(broker, f"s{number}", parse_subscription(f"[class,eq,'C{number}']").predicates)
        else:
            self.wanted.discard((broker, number))
            self.overlay.request(broker, Operation.UNSUBSCRIBE, f"s{number}")


@unhurried
@given(links=st.sets(pairs), horizon=st.integers(0, 4), course=courses, seed=st.integers(0, 3))
def test_tables_come_to_the_fixpoint_after_any_changes(
    links: set[tuple[str, str]],
    horizon: int,
    course: Operations,
    seed: int,
) -> None:
    trial = Course(sorted(links), horizon, seed)
    for operation, steps in course:
        trial.perform(*operation)
        for _ in range(steps):
            trial.overlay.step()
    trial.check()
    for broker, number in list(trial.wanted):
        trial.perform("unsubscribe", broker, number)
    trial.check()


def test_a_horizon_of_0_keeps_subscriptions_at_home() -> None:
    trial = Course([("B1", "B2"), ("B2", "B3")], horizon=0)
    trial.perform("subscribe", "B2", 0)
    trial.check()
    assert not trial.overlay.records(Event.SENT)


def test_a_link_carries_each_subscription_once_where_nothing_fails() -> None:
    trial = Course([("B1", "B2"), ("B2", "B3"), ("B1", "B3"), ("B3", "B4")], horizon=3)
    trial.perform("subscribe", "B1", 0)
    trial.check()
    carried = [(record.node, record.peer) for record in trial.overlay.records(Event.SENT)]
    assert len(carried) == len(set(carried))


def test_what_has_vanished_is_withdrawn_within_horizon_rounds() -> None:
    """In a ring, the two ends of a lost link count each other's former distances up to the horizon at most."""
    ring = [*pairwise(BROKERS), (BROKERS[0], BROKERS[-1])]
    trial = Course(ring, horizon=4)
    trial.perform("subscribe", "B1", 0)
    trial.check()
    before = len(trial.overlay.records(Event.SENT))
    trial.perform("unsubscribe", "B1", 0)
    trial.check()
    assert len(trial.overlay.records(Event.SENT)) - before <= 2 * 4
