"""Naive withdrawals: one table against an oracle that follows the text step by step, and tables of whole overlays."""

from __future__ import annotations

import random
from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from broker_service.language.content import decode_publication, encode_predicates
from broker_service.language.notation import parse_subscription
from broker_service.routing.interface.matcher import Comparisons, Matcher
from broker_service.routing.semi_probabilistic.naive_withdrawals import NaiveSubscriptionTable
from broker_service.routing.semi_probabilistic.subscriptions import Change, Pattern
from broker_service.tracing.trace import Recorder
from tests.broker_service.overlay import ListTrace
from tests.broker_service.routing.semi_probabilistic.test_tables import (
    BROKERS,
    Course,
    Operations,
    Tables,
    courses,
    pairs,
    unhurried,
)
from tests.proof import tried

WANTED = parse_subscription("[class,eq,'E']")
BODY = encode_predicates(WANTED.predicates)
CLIENT = "a client"
NEIGHBOURS = "BCDE"
OWN, OTHERS = "A.1.1", ("X.1.1", "Y.1.1")
Said = tuple[str, str, int | None]
"""A message of a table: the neighbour, the subscription, and its distance, None for a withdrawal."""


class ByTheText:
    """The propagation of section 3 at one broker, with nothing but the pairs that the text speaks of."""

    def __init__(self, horizon: int) -> None:
        self.horizon = horizon
        self.up: set[str] = set()
        self.entries: dict[tuple[str, str], int] = {}
        """Distances by subscription and link."""
        self.carried: set[tuple[str, str]] = set()
        """The subscriptions that each link has carried since the last withdrawal there."""

    def subscription(self, id: str, sender: str, distance: int) -> set[Said]:
        self.entries[id, sender] = distance
        to = {link for link in self.up - {sender} if (id, link) not in self.carried and distance < self.horizon}
        self.carried |= {(id, link) for link in to}
        return {(link, id, distance + 1) for link in to}

    def withdrawal(self, id: str, sender: str) -> set[Said]:
        distance = self.entries.pop((id, sender))
        to = {link for link in self.up - {sender} if (id, link) in self.carried and distance < self.horizon}
        self.carried -= {(id, link) for link in to}
        return {(link, id, None) for link in to}

    def new_link(self, link: str) -> set[Said]:
        self.up.add(link)
        nearest: dict[str, int] = {}
        for (id, _), distance in self.entries.items():
            nearest[id] = min(distance, nearest.get(id, distance))
        told = {(id, distance) for id, distance in nearest.items() if distance < self.horizon}
        self.carried |= {(id, link) for id, _ in told}
        return {(link, id, distance + 1) for id, distance in told}

    def lost_link(self, link: str) -> set[Said]:
        self.up.remove(link)
        self.carried = {(id, other) for id, other in self.carried if other != link}
        return {said for id, sender in list(self.entries) if sender == link for said in self.withdrawal(id, link)}


def said(changes: list[Change]) -> set[Said]:
    found = {(change.neighbour, change.id, change.distance) for change in changes}
    assert len(found) == len(changes)
    return found


class Pair:
    """A table and the oracle, which go through the same."""

    def __init__(self, horizon: int) -> None:
        comparisons = Comparisons(lambda: 0, decode_publication, Recorder(ListTrace("A"), lambda: 0))
        index: Matcher[Pattern] = Matcher(comparisons)
        self.table = NaiveSubscriptionTable(horizon, index)
        self.oracle = ByTheText(horizon)

    def step(self, rng: random.Random) -> None:
        """Something that may happen to the broker now, and a comparison of what it says."""
        link, id = rng.choice(NEIGHBOURS), rng.choice(OTHERS)
        if rng.random() < 0.2:
            self._change_own()
        elif link not in self.oracle.up:
            assert said(self.table.link(link)) == self.oracle.new_link(link)
        elif rng.random() < 0.2:
            assert said(self.table.unlink(link)) == self.oracle.lost_link(link)
        elif (id, link) in self.oracle.entries:
            assert said(self.table.unlearn(link, id)) == self.oracle.withdrawal(id, link)
        else:
            self._learn(link, id, rng.randint(1, self.oracle.horizon))

    def check_entries(self) -> None:
        listed = {
            (id, CLIENT if sender is None else sender): distance
            for id, rows in self.table.listed().items()
            for sender, distance in rows
        }
        assert listed == self.oracle.entries

    def _change_own(self) -> None:
        if (OWN, CLIENT) in self.oracle.entries:
            assert said(self.table.unsubscribe(OWN)) == self.oracle.withdrawal(OWN, CLIENT)
        else:
            changes = self.table.subscribe(CLIENT, OWN, BODY, WANTED)
            assert said(changes) == self.oracle.subscription(OWN, CLIENT, 0)

    def _learn(self, link: str, id: str, distance: int) -> None:
        if self.table.knows(id) is None:
            changes = self.table.learn_new(link, id, BODY, WANTED, distance)
        else:
            changes = self.table.learn(link, id, distance)
        assert said(changes) == self.oracle.subscription(id, link, distance)


@settings(unhurried, max_examples=tried(60))
@given(horizon=st.integers(1, 4), seed=st.integers(0, 1_000_000))
def test_a_table_says_what_the_text_says(horizon: int, seed: int) -> None:
    rng = random.Random(seed)
    pair = Pair(horizon)
    for _ in range(80):
        pair.step(rng)
        pair.check_entries()


def check_what_holds(trial: Course) -> None:
    """Entries of adjacent subscribers are right, and every other one has one of a hop less behind it."""
    tables = trial.settled_tables()
    adjacent: Tables = {name: {} for name in tables}
    for a, b in trial.links_up if trial.horizon else ():
        for id, home in trial.homes.items():
            for one, other in ((a, b), (b, a)):
                if home == one:
                    adjacent[other].setdefault(id, []).append((one, 1))
    for name, table in tables.items():
        near: Mapping[str, list[tuple[str | None, int]]] = {
            id: [row for row in rows if row[1] == 1] for id, rows in table.items()
        }
        assert {id: rows for id, rows in near.items() if rows} == adjacent[name], name
        for id, rows in table.items():
            for sender, distance in rows:
                if sender is not None:
                    assert distance - 1 in {far for over, far in tables[sender][id] if over != name}, (name, id)


@unhurried
@given(links=st.sets(pairs), horizon=st.integers(0, 4), course=courses, seed=st.integers(0, 3))
def test_what_holds_of_naive_tables_after_any_changes(
    links: set[tuple[str, str]], horizon: int, course: Operations, seed: int
) -> None:
    trial = Course(sorted(links), horizon, seed, withdrawals="naive")
    for operation, steps in course:
        trial.perform(*operation)
        for _ in range(steps):
            trial.overlay.step()
    check_what_holds(trial)
    for broker, number in list(trial.wanted):
        trial.perform("unsubscribe", broker, number)
    assert not any(trial.settled_tables().values())


def test_a_naive_withdrawal_takes_away_what_another_way_still_leads_to() -> None:
    """Two ways from B1 to B4, and B5 behind it: when one of them ends, B5 loses a subscription that B4 still has."""
    links = [("B1", "B2"), ("B1", "B3"), ("B2", "B4"), ("B3", "B4"), ("B4", "B5")]
    tables = {}
    for withdrawals in ("exact", "naive"):
        trial = Course(links, horizon=3, withdrawals=withdrawals)
        trial.perform("subscribe", "B1", 0)
        assert trial.settled_tables()["B5"] == {"B1.1.1": [("B4", 3)]}
        trial.perform("appear or vanish", ("B1", "B2"), 0)
        tables[withdrawals] = trial.settled_tables()
    assert tables["exact"]["B5"] == {"B1.1.1": [("B4", 3)]}
    assert tables["naive"]["B5"] == {}
    assert tables["naive"]["B4"] == tables["exact"]["B4"] == {"B1.1.1": [("B3", 2)]}
    assert set(BROKERS) == tables["naive"].keys()
