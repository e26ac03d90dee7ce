"""Histories of a protocol that announces starts of subscriptions, with the verdicts of the delivery oracle."""

from __future__ import annotations

from tests.analysis.diamond import ANNOUNCING, LOST, MIDDLING, crossing
from tests.analysis.history import History
from tests.analysis.oracle_cases import Case
from tests.analysis.oracle_cases_of_detections import PAIR, DetectionCase

UNANNOUNCED = ["start not announced"]

ANNOUNCEMENTS = [
    Case(
        crossing("G6: announced anew after its session broke")
        .subscribe(at=110)
        .announce(110.2)
        .session(111, 111.2, broker="B3")
        .announce(111.4)
        .publish("P:1", 120),
        ["lost"],
        1,
        0,
        LOST,
    ),
    Case(
        crossing("G6: announced anew, a gap in the recovery")
        .subscribe(at=110)
        .announce(110.2)
        .session(111, 111.2, broker="B3")
        .announce(111.4)
        .publish("P:1", 111.5)
        .publish("P:2", 111.6)
        .notify("P:2", at=111.7),
        ["lost"],
        1,
        1,
        {"optional": 1, **LOST},
    ),
    Case(
        crossing("G6: a former one of this name announced late")
        .subscribe(at=110)
        .subscribe(at=111, predicates=MIDDLING, answer=None)
        .announce(111.1)
        .publish("P:1", 111.2, price=60),
        ["not confirmed"],
        0,
        0,
        {"unconfirmed": 1},
    ),
    Case(
        crossing("G6: announced while the publisher's broker was cut off")
        .fault(105)
        .fault(105, peer="B4")
        .subscribe(at=109)
        .announce(109.2)
        .publish("P:1", 110)
        .heal(111)
        .heal(111, peer="B4")
        .publish("P:2", 117.5)
        .notify("P:2", at=117.6),
        ["correct"],
        1,
        1,
        {},
    ),
    Case(
        crossing("G6: announced before the overlay had recovered from the cut of the publisher's broker")
        .fault(105)
        .fault(105, peer="B4")
        .heal(109)
        .heal(109, peer="B4")
        .subscribe(at=109.1)
        .announce(109.3)
        .publish("P:1", 109.4)
        .publish("P:2", 115.5)
        .notify("P:2", at=115.6),
        ["correct"],
        1,
        1,
        {},
    ),
    Case(
        crossing("G6: announced after the overlay had recovered from the cut of the publisher's broker")
        .fault(105)
        .fault(105, peer="B4")
        .heal(109)
        .heal(109, peer="B4")
        .subscribe(at=115.1)
        .announce(115.3)
        .publish("P:1", 115.4),
        ["lost"],
        1,
        0,
        LOST,
    ),
    Case(
        crossing("G6: announced while another broker was down")
        .fault(105)
        .subscribe(at=110)
        .announce(110.2)
        .publish("P:1", 110.3),
        ["lost"],
        1,
        0,
        LOST,
    ),
    Case(crossing("G5: never announced", ANNOUNCING).subscribe(at=110).publish(at=105), UNANNOUNCED, 0, 0),
    Case(
        crossing("G5: never announced while another broker was down", ANNOUNCING)
        .fault(105)
        .subscribe(at=110)
        .publish(at=106),
        UNANNOUNCED,
        0,
        0,
    ),
    Case(
        crossing("G5: announced late", ANNOUNCING).subscribe(at=110).announce(112.1).publish(at=105), UNANNOUNCED, 0, 0
    ),
    Case(
        crossing("G5: announced in time", ANNOUNCING).subscribe(at=110).announce(111.9).publish(at=105),
        ["correct"],
        0,
        0,
    ),
    Case(
        crossing("G5: withdrawn before it was announced", ANNOUNCING)
        .subscribe(at=110)
        .unsubscribe(111)
        .publish(at=105),
        ["correct"],
        0,
        0,
    ),
    Case(
        crossing("G5: its session broke before it was announced", ANNOUNCING)
        .subscribe(at=110)
        .session(110.5, 110.7, broker="B3")
        .publish(at=105),
        ["correct"],
        0,
        0,
    ),
    Case(
        crossing("G5: its broker was cut off from all others", ANNOUNCING)
        .fault(109)
        .fault(109, peer="B4")
        .subscribe(at=110)
        .heal(115)
        .heal(115, peer="B4")
        .announce(118)
        .publish(at=105),
        ["correct"],
        0,
        0,
    ),
    Case(
        crossing("G5: never announced, the run ended", ANNOUNCING).subscribe(at=169).publish(at=105), ["correct"], 0, 0
    ),
    Case(
        crossing("G5: a composite one never announced", ANNOUNCING).compose(PAIR, at=110).publish(at=105),
        UNANNOUNCED,
        0,
        0,
    ),
    Case(
        crossing("G5: a composite one made again and then announced", ANNOUNCING)
        .compose(PAIR, at=110)
        .compose(PAIR, at=110.5)
        .announce(110.9, id="c1")
        .publish(at=105),
        ["correct"],
        0,
        0,
    ),
    Case(crossing("G5: never announced, nor promised").subscribe(at=110).publish(at=105), ["correct"], 0, 0),
]
"""G5 and G6 for a protocol that announces starts: an announcement counts for its session, its subscription and the
brokers that it covers, and has to come in time."""


def _pair_of_composite(variant: str, announced: float | None) -> History:
    """A composite subscription made at 110, and a pair for it at 110.3 and 110.6 that is not detected."""
    history = crossing(f"G6: a pair for a composite subscription {variant}").compose(PAIR, at=110)
    if announced is not None:
        history = history.announce(announced, id="c1")
    return history.publish("P:1", 110.3, 100).publish("P:2", 110.6, 10)


ANNOUNCED_COMPOSITES = [
    DetectionCase(_pair_of_composite("that was announced", 110.2), ["detection lost"], {"expected": 1, "lost": 1}),
    DetectionCase(_pair_of_composite("that was announced in between", 110.4), ["correct"], {"forgone": 1}),
    DetectionCase(_pair_of_composite("that was not announced", None), ["correct"], {"forgone": 1}),
    DetectionCase(
        _pair_of_composite("whose session broke after it was announced", 110.2).session(110.25, 110.27, broker="B3"),
        ["correct"],
        {"forgone": 1},
    ),
    DetectionCase(
        _pair_of_composite("that was announced and withdrawn", 110.2).unsubscribe(110.61, "c1"),
        ["correct"],
        {"forgone": 1},
    ),
]
"""G6 for composite subscriptions: a set is owed whose publications were all made after the announced start."""
