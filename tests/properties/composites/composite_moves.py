"""Join points that move by force: in conformance cases, which last milliseconds, and over windows and longer."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import cast

from hypothesis import strategies as st

from broker_service.language import Operator, Predicate, Publication
from broker_service.language.notation import parse_composite
from broker_service.messages import BrokerId, ClientId, Kind, Message
from broker_service.routing.interface import Action, Actions, RouterContext
from broker_service.routing.tid import TidOptions, TidRouter
from record.time_units import SECOND
from tests.broker_service.detection import naive
from tests.broker_service.overlay import CoreOverlay
from tests.properties.mutants import in_place_of


class MovesAtEveryPublication(TidRouter):
    """Moves each unit that is joined here to a neighbour drawn at random, whenever a publication comes."""

    def __init__(self, context: RouterContext[TidOptions]) -> None:
        super().__init__(context)
        self._draws = random.Random(f"moves of {context.broker}.{context.incarnation}")

    def receive(self, neighbour: BrokerId, message: Message) -> Actions:
        actions = super().receive(neighbour, message)
        return [*actions, *self.moves()] if message.kind is Kind.PUBLISH else actions

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        return [*super().publish(client, message, publication, advertisement), *self.moves()]

    def moves(self) -> list[Action]:
        """Moves the units that are joined here."""
        actions: list[Action] = []
        units = self._units
        for row in tuple(units._rows.values()):
            parts = units._prospects.rates(row.unit.composite.pattern)
            next_hops = {self._advertisements.last_hop(tid) for part in parts for tid, _ in part}
            visited = {passed.broker for passed in row.path[:-1]}
            candidates = sorted({place for place in (*next_hops, row.previous) if place} - visited)
            if row.joins and len(parts) > 1 and candidates:
                actions += units._join_points.move(row, self._draws.choice(candidates), parts, "forced")
        return actions


LINKS = [("B1", "B2"), ("B2", "B3"), ("B3", "B4"), ("B4", "B1"), ("B3", "B5"), ("B5", "B6")]
PUBLISHERS = {"P": ("B1", "A"), "Q": ("B6", "B"), "R": ("B3", "A"), "T": ("B5", "C")}
PATTERN = "{[class,eq,'A'],[n,=,$I$X]}&{[class,eq,'B'],[n,=,$I$X]}"
SPLIT_PATTERN = PATTERN + "&{[class,eq,'C'],[n,=,$I$Y]}"
"""The sources of the second and third part lie in one direction from most brokers."""
WITHIN, LATENESS = 60, 30
PAUSES = (1, 17, 41, 95)
"""Seconds; sums of them and the window differ."""

Steps = Sequence[tuple[str, int]]


def moves_and_pauses(publishers: str) -> st.SearchStrategy[Steps]:
    """Publications of these clients, pauses and cuts."""
    return st.lists(
        st.tuples(st.sampled_from(2 * publishers), st.integers(0, 1))
        | st.tuples(st.just("pause"), st.sampled_from(PAUSES))
        | st.tuples(st.just("cut"), st.integers(0, len(LINKS) - 1)),
        min_size=6,
        max_size=24,
    )


class MisdetectedError(AssertionError):
    """Moves have cost or doubled a detection, or have left something behind."""


def moves_and_time(steps: Steps, pattern: str = PATTERN) -> None:
    """Sets within the window come once, however much time passes between moves, and one join point is left in the end.

    A link that is cut is whole again before the time of a pause that exceeds the lateness.
    """
    with in_place_of("tid", MovesAtEveryPublication):
        overlay = CoreOverlay(LINKS, options={"composites": "dcsr", "placement_interval": 5.0})
        overlay.attach("S", "B4")
        for client, (broker, name) in PUBLISHERS.items():
            overlay.attach(client, broker)
            kind = Predicate("class", Operator.STRING_EQUAL, name)
            overlay.advertise(client, "a", [kind, Predicate("n", Operator.GREATER_OR_EQUAL, 0)])
        overlay.settle()
        overlay.compose("S", "c", pattern, WITHIN * SECOND)
        overlay.settle()
        published = []
        for number, (step, value) in enumerate(steps):
            if step in PUBLISHERS:
                content = {"class": PUBLISHERS[step][1], "n": value}
                published.append(naive.Published(f"{step}{number}", overlay.time, content))
                overlay.publish(step, f"{step}{number}", content, overlay.time)
            elif step == "cut" and not overlay.cuts:
                overlay.cut(*LINKS[value])
            elif step == "pause":
                _mend(overlay)
                _pass_time(overlay, value)
            overlay.settle()
        _mend(overlay)
        wanted = sorted(sorted(ids) for ids in naive.detections(parse_composite(pattern), published, WITHIN * SECOND))
        got = sorted(sorted(ids) for _, ids in overlay.detected["S"])
        if got != wanted:
            raise MisdetectedError(f"detected {got}, and {wanted} are right")
        for _ in range(3):
            _pass_time(overlay, WITHIN + LATENESS + 1)
        tables = [broker.tables() for broker in overlay.brokers.values()]
        units = {unit for table in tables for unit in cast(Mapping[str, object], table.get("composite_units", {}))}
        detected = sum(cast(int, table.get("composite_subscriptions", 0)) for table in tables)
        if detected != len(units):
            raise MisdetectedError(f"after all moves, {sorted(units)} are detected at {detected} brokers")


def _mend(overlay: CoreOverlay) -> None:
    for link in list(overlay.cuts):
        overlay.join(*sorted(link))
    overlay.settle()


def _pass_time(overlay: CoreOverlay, seconds: int) -> None:
    overlay.time += seconds * SECOND
    overlay.fire_timers()
    overlay.settle()
