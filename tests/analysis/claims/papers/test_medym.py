"""MEDYM's measures on a small run whose results can be computed by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.claims import ClaimsError, Recipe
from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.papers.medym import HEADERS, RATIOS, SCHEMES, stress_of, traversed
from analysis.claims.shipped import MEASURES
from analysis.tables.deliveries import Notification
from analysis.tables.summary import Matching
from analysis.tables.traffic import BrokerMessages
from topology.link_properties import Link
from topology.model import Broker, Overlay

TRIANGLE = Overlay("mesh", tuple(map(Broker, "ABC")), (Link("A", "B"), Link("B", "C"), Link("A", "C")))
BODY, LIST = 200, 3
"""Bytes of an event, and of a destination list of one server."""


def moved(broker: str, *, clients: int = 0, received: int = 0, sent: int = 0) -> BrokerMessages:
    return BrokerMessages(
        variant="", broker=broker, kind="publish", from_clients=clients, received=received, sent=sent, delivered=0,
        received_bytes=clients * BODY + received * (BODY + LIST), sent_bytes=sent * (BODY + LIST),
    )  # fmt: skip


def notification(publication: str, hops: int) -> Notification:
    return Notification(
        variant="", publication=publication, repeat=0, published_ns=0, delay_ms=1.0, hops=hops, queueing_ms=0.0,
        second=0, overtaken=False, client="S", publisher="P", broker="A", path=None, intended_ns=0, notified_ns=1,
    )  # fmt: skip


def variant(name: str, *messages: BrokerMessages, notifications: tuple[Notification, ...] = ()) -> MeasuredVariant:
    matching = Matching(
        operations=0, publication_messages=0, share=None, per_publication=None, most_brokers=1, at_several_brokers=0
    )
    return MeasuredVariant(
        name=name, settings={}, overlay=TRIANGLE, matching=matching, run_seconds=10.0, notifications=notifications,
        messages=messages,
    )  # fmt: skip


TWO_EVENTS = (moved("A", clients=2, sent=2), moved("B", received=2))
"""A publishes two events and sends both to B; nothing comes to C."""
BITS = 8 * (BODY + LIST + HEADERS)
"""Of one message."""


def test_stress_counts_messages_in_and_out_and_not_those_of_clients() -> None:
    assert stress_of(variant("one+MST", *TWO_EVENTS)) == {"A": BITS, "B": BITS, "C": 0}


def test_a_publisher_is_traversed_where_it_wants_the_event_itself() -> None:
    at_home = tuple(notification(publication, hops) for publication, hops in (("P:1", 0), ("P:1", 0), ("P:2", 1)))
    assert traversed(variant("one+MST", *TWO_EVENTS, notifications=at_home)) == 1.5


def test_without_an_event_nothing_is_measured() -> None:
    assert stress_of(variant("one+MST")) == {}
    assert traversed(variant("one+MST")) is None


def run_of(*variants: MeasuredVariant) -> MeasuredRun:
    return MeasuredRun(Path("run"), variants)


def test_values_come_scheme_by_scheme_and_ratio_by_ratio() -> None:
    every = [variant(f"{ratio}+{scheme}", *TWO_EVENTS) for scheme in SCHEMES for ratio in RATIOS]
    every[4] = variant(
        "ten+Channelization", moved("A", clients=1, sent=2), moved("B", received=1), moved("C", received=1)
    )
    recipe = Recipe(scenario="medym/med-t2.yaml", measure="node stress")
    stress = MEASURES["node stress"](run_of(*every), recipe).values
    assert len(stress) == 2 * len(every)
    assert stress[:6] == pytest.approx((2 * BITS / 3,) * 3 + (1.0,) * 3)
    assert stress[6:12] == pytest.approx((2 * BITS / 3, 4 * BITS / 3, 2 * BITS / 3, 1.0, 2.0, 1.0))


def test_a_missing_variant_is_named() -> None:
    recipe = Recipe(scenario="medym/med-t2.yaml", measure="node stress")
    with pytest.raises(ClaimsError, match=r"no variant one\+CBF"):
        MEASURES["node stress"](run_of(), recipe)
