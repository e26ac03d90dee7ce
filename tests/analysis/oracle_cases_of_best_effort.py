"""Histories of a protocol that promises best effort, with the verdicts of the delivery oracle.

The clients of these histories have the broker B1.
"""

from __future__ import annotations

from typing import Any

from record.faults import FaultKind
from record.log import Event
from record.promises import Completeness, Loss, Promises
from tests.analysis.history import DRIVER, EXPENSIVE, History, joined
from tests.analysis.oracle_cases import Case

BEST_EFFORT = Promises(delivery=Completeness.BEST_EFFORT)


def tried(variant: str, **options: Any) -> History:
    return joined(variant, promises=BEST_EFFORT, **options)


def many(variant: str, wanted: float | None, pattern: str, **options: Any) -> History:
    """One publication a second for each letter of the pattern: `x` is notified, `-` is not, `2` is notified twice."""
    history = tried(variant, expected_delivery=wanted, **options)
    for number, letter in enumerate(pattern):
        history.publish(f"P:{number}", 101 + number)
        for _ in range({"x": 1, "-": 0, "2": 2}[letter]):
            history.notify(f"P:{number}", at=101.1 + number)
    return history


PASSED_ON = Promises(
    delivery=Completeness.BEST_EFFORT, passes_on_within=2, survives={FaultKind.LINK_DOWN: Loss.IN_FLIGHT}
)


def _beside(variant: str, cut: str) -> History:
    """A publication at B2, which passes it on to B1, while one direction of a link is cut."""
    history = joined(variant, promises=PASSED_ON).fault(109, "link_down", cut).publish().receive(broker="B2")
    return history.heal(111, "link_up", cut)


TRIED = [
    (Case(_beside("best effort, cut off from a neighbour", "B2->B1"), ["correct"], 0, 0), 0, 0),
    (Case(_beside("best effort, a neighbour cut off from it", "B1->B2"), ["correct"], 0, 0), 0, 0),
    (Case(_beside("best effort, beside a cut", "B2->B3"), ["lost"], 1, 0, {"lost": 1}), 1, 1),
    (Case(tried("best effort, missed").publish(), ["correct"], 0, 0), 1, 1),
    (Case(tried("best effort, delivered").publish().notify(), ["correct"], 0, 1), 1, 0),
    (Case(tried("best effort, at another broker").publish().receive(broker="B2"), ["correct"], 0, 0), 1, 1),
    (Case(tried("best effort, at its broker").publish().receive().notify(), ["correct"], 1, 1), 1, 0),
    (Case(tried("best effort, kept by its broker").publish().receive(), ["lost"], 1, 0, {"lost": 1}), 1, 1),
    (
        Case(
            tried("best effort, at a broker to which the client is moving")
            .add(DRIVER, Event.SUBSCRIBE, 109, client="S", id="s2", peer="B3", predicates=EXPENSIVE)
            .add(DRIVER, Event.CONFIRMED, 110.5, client="S", id="s2", kind="subscribe")
            .publish()
            .receive(broker="B3"),
            ["correct"],
            0,
            0,
        ),
        1,
        1,
    ),
    (
        Case(tried("best effort, twice").publish().notify("P:1", "P:1"), ["duplicated"], 0, 2, {"duplicate": 1}),
        1,
        0,
    ),
    (
        Case(
            tried("best effort, to one that does not match").publish(price=50).notify(),
            ["spurious"],
            0,
            1,
            {"spurious": 1, "spurious_causes": {"no subscription matches": 1}},
        ),
        0,
        0,
    ),
    (
        Case(
            tried("best effort, overtaken").publish("P:1", 110).publish("P:2", 110.01).notify("P:2", "P:1"),
            ["correct"],
            0,
            2,
            {"overtaken": 1},
        ),
        2,
        0,
    ),
    (Case(tried("best effort, during a fault").fault(105, peer="B1").publish(), ["correct"], 0, 0), 0, 0),
    (
        Case(tried("best effort, kept during a fault").fault(105, peer="B1").publish().receive(), ["correct"], 0, 0),
        0,
        0,
    ),
    (Case(tried("best effort, in flight").unsubscribe(110).publish(at=111).receive(at=111.1), ["correct"], 0, 0), 0, 0),
    (Case(tried("best effort, cut short", interrupted=True).publish(at=165), ["correct"], 0, 0), 0, 0),
    (Case(tried("best effort, cut link").fault(105, "link_down", "B1-B2").publish(), ["correct"], 0, 0), 1, 1),
]
"""Each case with the notifications that were due and those of them that were missed."""

EXPECTED = [
    (many("nothing expected", None, "-" * 40), ["correct"], (0.0, 0.0, 0.0)),
    (many("all of it", 1.0, "x" * 40), ["correct"], (1.0, 1.0, 1.0)),
    (many("none of it", 0.85, "-" * 40), ["below expectation"], (0.0, 0.0, 0.0)),
    (many("half of it, in every batch", 0.6, "x-" * 20), ["below expectation"], (0.5, 0.5, 0.5)),
    (many("exactly what is expected", 0.5, "x-" * 20), ["correct"], (0.5, 0.5, 0.5)),
    (many("half of it, by chance", 0.6, "xx--" * 10), ["correct"], (0.5, 0.2599, 0.7401)),
    (many("too few to know", 0.85, "-" * 19), ["unjudged"], (0.0, None, None)),
    (many("too few, and nothing expected", None, "x" * 19), ["correct"], (1.0, None, None)),
    (many("twice, and too rarely", 0.9, "2-" * 20), ["duplicated", "below expectation"], (0.5, 0.5, 0.5)),
    (tried("nothing published", expected_delivery=0.5), ["unjudged"], (None, None, None)),
]
"""Each history with its verdicts, its delivery ratio and the ends of the interval."""
