"""Histories of a run in which brokers refuse to withdraw what clients declared, with the verdicts of the delivery
oracle."""

from __future__ import annotations

from record.log import Event
from tests.analysis.history import DRIVER, History, joined, predicate
from tests.analysis.oracle_cases import CHEAP, Case

NO = Event.REJECTED
NONSENSE = [predicate("price", "rhymes", 1.0)]
PAIR = "{[class,eq,'STOCK'],[price,>,50]}&{[class,eq,'STOCK'],[price,<,20]}"


def _refused(history: History, *verdicts: str) -> Case:
    """A subscription is not withdrawn at 110, and goes on."""
    return Case(history.unsubscribe(110, answer=NO).publish(at=115).notify(at=115.1), [*verdicts], 1, 1)


def _other_broker(history: History) -> History:
    """The withdrawal goes to another broker."""
    history.add(DRIVER, Event.UNSUBSCRIBE, 110, client="S", id="s1", peer="B2")
    return history.add(DRIVER, NO, 110.01, client="S", id="s1", peer="B2", kind="unsubscribe", text="who are you?")


REFUSED = [
    _refused(joined("withdrawal refused"), "rejected"),
    Case(joined("advertisement not withdrawn").unadvertise(105, NO).publish().notify(), ["rejected"], 1, 1),
    Case(
        joined("composite subscription not withdrawn").compose(PAIR).unsubscribe(110, "c1", NO).publish().notify(),
        ["rejected"],
        1,
        1,
    ),
    _refused(joined("withdrawal refused twice").unsubscribe(105, answer=NO), "rejected"),
    _refused(joined("replacement not withdrawn").subscribe(at=105), "rejected"),
    _refused(joined("not withdrawn after a replacement was refused").subscribe(at=105, predicates=NONSENSE, answer=NO),
             "rejected"),
    _refused(
        History("withdrawal refused in a later session").session(92, 93).advertise(at=93).subscribe(at=95), "rejected"
    ),
    _refused(
        History("withdrawal refused after an earlier restart")
        .fault(90, peer="B1").heal(91, peer="B1").break_session(90.001, 92).advertise(at=92.1).subscribe(at=92.1),
        "rejected",
    ),
    _refused(joined("withdrawal refused, another broker restarted").fault(105).heal(106), "rejected"),
    _refused(joined("not withdrawn after a pause").fault(105, "pause", "B1").heal(106, "resume", "B1"), "rejected"),
    _refused(joined("withdrawal refused, another driver's session broke").session(105, 106, "d2"), "rejected"),
]  # fmt: skip
"""Brokers had confirmed what they do not withdraw, and had no reason to forget it."""

RIGHTLY_REFUSED = [
    Case(joined("withdrawn twice").unsubscribe(110).unsubscribe(111, answer=NO).publish(at=120), ["correct"], 0, 0),
    Case(joined("withdrawn, never made").unsubscribe(105, "s2", NO).publish().notify(), ["correct"], 1, 1),
    Case(
        joined("withdrawn, though refused").subscribe(at=96, id="s2", predicates=NONSENSE, answer=NO)
        .unsubscribe(105, "s2", NO).publish().notify(),
        ["correct"],
        1,
        1,
    ),
    Case(
        joined("withdrawn, never confirmed").subscribe(at=96, id="s2", predicates=CHEAP, answer=None)
        .unsubscribe(105, "s2", NO).publish().notify(),
        ["not confirmed"],
        1,
        1,
        {"unconfirmed": 1},
    ),
    _refused(
        joined("withdrawal refused by a killed broker")
        .fault(105, peer="B1").heal(106, peer="B1").break_session(105.001, 107),
        "correct",
    ),
    _refused(joined("withdrawal refused by a stopped broker").fault(105, "stop", "B1").heal(106, peer="B1"), "correct"),
    _refused(joined("withdrawal refused as the broker fell").fault(110.005, peer="B1").heal(111, peer="B1"), "correct"),
    _refused(joined("withdrawal refused in another session").session(105, 106), "correct"),
    _refused(joined("withdrawal refused, its session broke by itself").break_session(105, 106), "session broken"),
    Case(_other_broker(joined("withdrawn at another broker")).publish(at=115).notify(at=115.1), ["correct"], 1, 1),
    Case(joined("withdrawn as brokers stop").publish().notify().unsubscribe(169.995, answer=NO), ["correct"], 1, 1),
]  # fmt: skip
"""There was nothing to withdraw, or brokers and sessions failed meanwhile."""
