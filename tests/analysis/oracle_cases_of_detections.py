"""Histories of composite subscriptions, with the verdicts of the oracle on detections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from record.log import Event
from record.promises import Completeness, Promises
from record.sample import PublicationSample
from tests.analysis.history import ADVERTISED, History, predicate

HIGH, LOW = "{[price,>,50]}", "{[price,<,50]}"
PAIR = f"{HIGH}&{LOW}"
SAME = "{[price,>,50],[x,=,$I$X]}&{[price,<,50],[x,=,$I$X]}"
CLOSE = "{[price,>,50],[x,=,$I$X]}&{[price,<,50],[x,<,$I$X]}"


@dataclass(frozen=True)
class DetectionCase:
    history: History
    verdicts: list[str]
    numbers: dict[str, Any] = field(default_factory=dict)
    """Fields of `DetectionFigures`; counts not named are 0. `excused` is the sum of its kinds."""


def composed(variant: str, pattern: str = PAIR, within: float = 10, **options: Any) -> History:
    """A publisher, and a subscriber of pairs of a high and a low price, ten seconds apart at most."""
    advertised = [*ADVERTISED, predicate("x", "isPresent", 0)]
    return History(variant, **options).advertise(predicates=advertised).compose(pattern, within)


def pair(variant: str, pattern: str = PAIR, *, later: float = 2, **options: Any) -> History:
    """A history like `composed`, with a high price at 110 and a low one some seconds later."""
    return composed(variant, pattern, **options).publish("P:1", 110, 100, x=1).publish("P:2", 110 + later, 10, x=1)


def joined_at(*path: str, at: float = 95.1) -> Callable[..., History]:
    """A maker of histories like `composed`, with a unit that is detected at the last broker of this path."""
    return lambda variant, **options: composed(variant, **options).join(*path, at=at)


def _with_a_crash(
    variant: str,
    made: Callable[..., History],
    broker: str,
    fault: str = "kill",
    heal: str = "restart",
) -> History:
    """A high price at 105 and a low one at 125; in between, from 110 to 111, a fault hits a broker."""
    history = made(variant, within=30).publish("P:1", 105, 100)
    return history.fault(110, fault, broker).heal(111, heal, broker).publish("P:2", 125, 10)


def _far(variant: str, **options: Any) -> History:
    """A subscriber at B3 of pairs, which a publisher at B1 makes: all ways lead through B2."""
    return composed(variant, within=30, homes={"S": "B3"}, **options)


def _pair_from_afar(history: History, first: str, at: float, later: float = 0.5) -> History:
    """A pair that comes to B3: P:<first> and the one after it."""
    second = f"P:{int(first[2:]) + 1}"
    history.publish(first, at, 100).carry(first, at + 0.01, "B1", "B2", "B3")
    return history.publish(second, at + later, 10).carry(second, at + later + 0.01, "B1", "B2", "B3")


def _crash(history: History, broker: str, at: float) -> History:
    return history.fault(at, "kill", broker).heal(at + 1, "restart", broker)


def _at_a_join_point(variant: str) -> History:
    """A pair that is detected at B3 and never comes home to B1."""
    history = joined_at("B1", "B2", "B3")(variant).publish("P:1", 110, 100).publish("P:2", 112, 10)
    return history.make("P:1", "P:2", at=112.1, broker="B3")


def _counts(**numbers: Any) -> dict[str, Any]:
    return numbers


RIGHT = [
    DetectionCase(pair("a pair").detect("P:1", "P:2", at=112.1), ["correct"], _counts(expected=1, delivered=1)),
    DetectionCase(
        pair("listed in another order").detect("P:2", "P:1", at=112.1), ["correct"], _counts(expected=1, delivered=1)
    ),
    DetectionCase(
        pair("at the end of the window", later=10).detect("P:1", "P:2", at=121), ["correct"],
        _counts(expected=1, delivered=1),
    ),
    DetectionCase(pair("after the window", later=10.000000001), ["correct"]),
    DetectionCase(
        pair("every combination").publish("P:3", 113, 20, x=1).detect("P:1", "P:2", at=112.1)
        .detect("P:1", "P:3", at=113.1), ["correct"], _counts(expected=2, delivered=2),
    ),
    DetectionCase(
        pair("one of both, and both", f"{HIGH}||{{{HIGH}&{LOW}}}").detect("P:1", at=110.1)
        .detect("P:1", "P:2", at=112.1), ["correct"], _counts(expected=2, delivered=2),
    ),
    DetectionCase(
        pair("equal values", SAME).publish("P:3", 113, 20, x=2).detect("P:1", "P:2", at=112.1), ["correct"],
        _counts(expected=1, delivered=1),
    ),
    DetectionCase(
        pair("a test", CLOSE).publish("P:3", 113, 20, x=0).detect("P:1", "P:3", at=113.1), ["correct"],
        _counts(expected=1, delivered=1),
    ),
    DetectionCase(
        composed("one fills two parts", f"{HIGH}&{HIGH}").publish("P:1", 110, 100).detect("P:1", at=110.1),
        ["correct"], _counts(expected=1, delivered=1),
    ),
    DetectionCase(
        History("before it was composed").advertise().publish("P:1", 105).compose(PAIR, at=108)
        .publish("P:2", 112, 10), ["correct"],
    ),
    DetectionCase(pair("withdrawn meanwhile").unsubscribe(111.9, "c1"), ["correct"], _counts(forgone=1)),
    DetectionCase(
        pair("withdrawn meanwhile, notified").unsubscribe(111.9, "c1").detect("P:1", "P:2", at=112.1), ["correct"],
        _counts(optional=1, delivered=1),
    ),
    DetectionCase(
        pair("composed again alike").compose(PAIR, at=111).detect("P:1", "P:2", at=112.1), ["correct"],
        _counts(expected=1, delivered=1, composites=1),
    ),
    DetectionCase(
        composed("replaced by another", within=30).publish("P:1", 105, 100).compose(PAIR, 20, at=110)
        .publish("P:2", 115, 10), ["correct"], _counts(composites=2),
    ),
    DetectionCase(
        composed("replaced by a plain one", within=30).publish("P:1", 105, 100)
        .subscribe(at=110, id="c1", predicates=[predicate("price", "<", 5)]).publish("P:2", 115, 10), ["correct"],
    ),
    DetectionCase(
        _with_a_crash("its broker failed in between", composed, "B1"), ["correct"], _counts(expected=1, excused=1),
    ),
    DetectionCase(
        _with_a_crash("the join point failed in between", joined_at("B1", "B2", "B3"), "B3"), ["correct"],
        _counts(expected=1, excused=1),
    ),
    DetectionCase(
        _with_a_crash("a broker on the unit's path failed", joined_at("B1", "B2", "B3"), "B2"), ["correct"],
        _counts(expected=1, excused=1),
    ),
    DetectionCase(
        _with_a_crash("the join point failed, and the unit went elsewhere", joined_at("B1", "B2"), "B2")
        .join("B1", "B3", at=112, epoch=2), ["correct"], _counts(expected=1, excused=1),
    ),
    DetectionCase(
        _with_a_crash("the former join point failed before it left", joined_at("B1", "B2", "B3"), "B3")
        .join("B1", "B2", at=107, former="B3"), ["correct"], _counts(expected=1, excused=1),
    ),
    DetectionCase(
        _with_a_crash("a broker failed before the new path was known", joined_at("B1", "B2"), "B3")
        .leave("B1", "B2", at=109).join("B1", "B2", at=109, epoch=2), ["correct"], _counts(expected=1, excused=1),
    ),
    DetectionCase(
        _with_a_crash("a broker failed before the path was known", joined_at("B1", "B2", at=108.5), "B3"), ["correct"],
        _counts(expected=1, excused=1),
    ),
    DetectionCase(
        composed("its session broke in between", within=30).publish("P:1", 105, 100).session(110, 111)
        .publish("P:2", 125, 10), ["correct"], _counts(expected=1, excused=1),
    ),
    DetectionCase(
        composed("a frozen broker excuses nothing", within=30).publish("P:1", 105, 100).fault(110, "pause")
        .heal(111, "resume").publish("P:2", 125, 10).detect("P:1", "P:2", at=125.1), ["correct"],
        _counts(expected=1, delivered=1),
    ),
    DetectionCase(
        _crash(_far("the first one ended at a broker that failed").publish("P:1", 110, 100)
               .carry("P:1", 110.01, "B1", "B2"), "B2", 110.1)
        .publish("P:2", 112.5, 10).carry("P:2", 112.51, "B1", "B2", "B3"),
        ["correct"], _counts(expected=1, excused=1),
    ),
    DetectionCase(
        _crash(_at_a_join_point("a broker failed on its way home"), "B2", 112.2), ["correct"],
        _counts(expected=1, excused=1),
    ),
    DetectionCase(
        pair("outside of the sample", homes={"S": "B3"}, sample=PublicationSample(1e-9, 1))
        .fault(111, "kill", "B2").heal(113, "restart", "B2"), ["unjudged"],
        _counts(expected=1, not_judged={"brokers logged a sample of publications without it": 1}),
    ),
    DetectionCase(
        pair("best effort", promises=Promises(delivery=Completeness.BEST_EFFORT)), ["correct"], _counts(forgone=1)
    ),
    DetectionCase(
        History("rejected").advertise().compose(PAIR, answer=Event.REJECTED).publish("P:1", 110)
        .publish("P:2", 112, 10), ["rejected"], _counts(composites=0),
    ),
]  # fmt: skip

WRONG = [
    DetectionCase(pair("lost"), ["detection lost"], _counts(expected=1, lost=1)),
    DetectionCase(
        pair("lost at a bound").drop_detections("P:1", 111), ["detection lost"],
        _counts(expected=1, lost=1, dropped=1),
    ),
    DetectionCase(
        pair("doubled").detect("P:1", "P:2", at=112.1).detect("P:2", "P:1", at=112.2), ["detection duplicated"],
        _counts(expected=1, delivered=2, duplicate=1),
    ),
    DetectionCase(
        composed("lost in a frozen broker", within=30).publish("P:1", 105, 100).fault(110, "pause")
        .heal(111, "resume").publish("P:2", 125, 10), ["detection lost"], _counts(expected=1, lost=1),
    ),
    DetectionCase(
        _with_a_crash("another broker failed, and it detects alone", composed, "B2"), ["detection lost"],
        _counts(expected=1, lost=1),
    ),
    DetectionCase(
        _with_a_crash("a broker beside the unit's path failed", joined_at("B1", "B2"), "B3"), ["detection lost"],
        _counts(expected=1, lost=1),
    ),
    DetectionCase(
        _with_a_crash("a broker failed that the unit had left", joined_at("B1", "B2", at=96), "B2")
        .leave("B1", "B2", at=107).join("B1", at=100, former="B2"), ["detection lost"], _counts(expected=1, lost=1),
    ),
    DetectionCase(
        _with_a_crash("a broker of another unit's path failed", joined_at("B1", "B2"), "B3")
        .compose(LOW, id="c2", at=96).join("B1", "B3", at=97, id="c2").detect("P:2", at=125.1, id="c2"),
        ["detection lost"], _counts(expected=2, delivered=1, lost=1, composites=2),
    ),
    DetectionCase(
        _crash(_pair_from_afar(_far("all had come, whatever failed on their way"), "P:1", 110), "B2", 110.6),
        ["detection lost"], _counts(expected=1, lost=1),
    ),
    DetectionCase(
        _crash(_pair_from_afar(_far("complete long before its broker failed"), "P:1", 110), "B3", 114),
        ["detection lost"], _counts(expected=1, lost=1),
    ),
    DetectionCase(
        _pair_from_afar(
            _pair_from_afar(_crash(_far("the overlay had recovered, as another set shows"), "B3", 105), "P:1", 107)
            .make("P:1", "P:2", at=107.6, broker="B3").detect("P:1", "P:2", at=107.6), "P:3", 108,
        ).make("P:1", "P:4", at=108.6, broker="B3").detect("P:1", "P:4", at=108.6)
        .make("P:3", "P:2", at=108.1, broker="B3").detect("P:3", "P:2", at=108.1),
        ["detection lost"], _counts(expected=4, delivered=3, lost=1),
    ),
    DetectionCase(
        _crash(_at_a_join_point("a broker failed when it must have been home"), "B2", 117), ["detection lost"],
        _counts(expected=1, lost=1),
    ),
    DetectionCase(
        _crash(_at_a_join_point("the join point failed when it had long left"), "B3", 114), ["detection lost"],
        _counts(expected=1, lost=1),
    ),
    DetectionCase(
        _with_a_crash("a frozen join point", joined_at("B1", "B2"), "B2", "pause", "resume"), ["detection lost"],
        _counts(expected=1, lost=1),
    ),
    DetectionCase(
        _with_a_crash("a unit moved and forgot its matches", joined_at("B1", "B2"), "B3")
        .join("B1", at=110.5, former="B2").leave("B1", "B2", at=111), ["detection lost"], _counts(expected=1, lost=1),
    ),
    DetectionCase(
        pair("one fills two parts, by two names").compose(HIGH, id="c2", at=96).detect("P:1", "P:2", at=112.1),
        ["detection lost"], _counts(expected=2, delivered=1, lost=1, composites=2),
    ),
    *[
        DetectionCase(history, ["detection spurious"],
                      _counts(spurious=1, spurious_causes={cause: 1}, **{"delivered": 1, **numbers}))
        for cause, history, numbers in [
            ("outside the window", pair("apart", later=11).detect("P:1", "P:2", at=122), {}),
            ("variables differ",
             pair("differing", SAME).publish("P:3", 113, 20, x=2).detect("P:1", "P:2", at=112.1)
             .detect("P:1", "P:3", at=113.1), {"expected": 1, "delivered": 2}),
            ("no combination", pair("half").detect("P:1", "P:2", at=112.1).detect("P:1", at=110.1),
             {"expected": 1, "delivered": 2}),
            ("no combination",
             pair("too many").publish("P:3", 113, 20).detect("P:1", "P:2", at=112.1).detect("P:1", "P:3", at=113.1)
             .detect("P:1", "P:2", "P:3", at=113.1), {"expected": 2, "delivered": 3}),
            ("no part matches", composed("matched by none").publish("P:1", 110, 50).publish("P:2", 111, 10)
             .detect("P:1", "P:2", at=112), {}),
            ("unknown publication", composed("unknown").publish("P:1", 110).detect("P:1", "P:2", at=112), {}),
            ("subscription withdrawn", composed("withdrawn").unsubscribe(100, "c1").publish("P:1", 110)
             .publish("P:2", 111, 10).detect("P:1", "P:2", at=112), {}),
            ("not yet subscribed", History("not yet").advertise().compose(PAIR, at=120).publish("P:1", 110)
             .publish("P:2", 111, 10).detect("P:1", "P:2", at=112), {}),
            ("outside its advertisements", composed("unadvertised").publish("P:1", 110, volume=7)
             .publish("P:2", 111, 10).detect("P:1", "P:2", at=112), {}),
            ("refused", composed("refused").publish("P:1", 110).refuse().publish("P:2", 111, 10)
             .detect("P:1", "P:2", at=112), {}),
            ("no subscription matches",
             History("never composed").advertise().publish("P:1", 110).publish("P:2", 111, 10)
             .detect("P:1", "P:2", at=112), {"composites": 0}),
        ]
    ],
]  # fmt: skip
