"""Histories of gapless protocols, with the verdicts of the delivery oracle: order, gaps and starts."""

from __future__ import annotations

from record.promises import Promises
from tests.analysis.diamond import (
    GAPLESS,
    GIVING_UP,
    HOMES,
    LOST,
    MIDDLING,
    ORDERED,
    SPURIOUS,
    crossing,
    settled,
    starting,
)
from tests.analysis.history import STOCK, History, predicate
from tests.analysis.oracle_cases import CHEAP, Case

NEVER_TWICE = [
    Case(settled("G1: twice").fault(105).publish().notify("P:1", "P:1"), ["duplicated"], 1, 2, {"duplicate": 1}),
    Case(settled("G1: no match").fault(105).publish(price=50).notify(), ["spurious"], 0, 1, SPURIOUS),
    Case(settled("G1: once").fault(105).publish().notify(), ["correct"], 1, 1),
]
"""G1: never twice, and never what does not match, under any fault."""

IN_ORDER = [
    Case(
        starting("G2: overtaken in flight").publish("P:2", 110.5).publish("P:3", 110.6).notify("P:3", "P:2", at=110.7),
        ["reordered"],
        0,
        3,
        {"optional": 3, "reordered": 1, "overtaken": 1},
    ),
    Case(
        starting("G2: in order in flight").publish("P:2", 110.5).publish("P:3", 110.6).notify("P:2", "P:3", at=110.7),
        ["correct"],
        0,
        3,
        {"optional": 3},
    ),
    Case(
        settled("G2: overtaken across advertisements")
        .advertise(id="a2", predicates=[STOCK, predicate("price", ">=", 0), predicate("volume", ">", 0)])
        .publish("P:1", 110, volume=1)
        .publish("P:2", 110.01)
        .notify("P:2", "P:1"),
        ["reordered"],
        2,
        2,
        {"reordered": 1, "overtaken": 1},
    ),
]
"""G2: the order of publishing for every notification, whatever the advertisement."""

GAPS = [
    Case(
        starting("G3: gap").publish("P:2", 110.5).publish("P:3", 110.6).notify("P:3", at=110.7),
        ["lost"],
        1,
        2,
        {"optional": 2, **LOST},
    ),
    Case(
        starting("G3: gap of two")
        .publish("P:2", 110.5)
        .publish("P:3", 110.6)
        .publish("P:4", 111)
        .notify("P:4", at=111.1),
        ["lost"],
        2,
        2,
        {"optional": 2, "lost": 2},
    ),
    Case(
        crossing("G3: started later")
        .subscribe(at=110)
        .publish("P:1", 110.3)
        .publish("P:2", 110.5)
        .publish("P:3", 110.6)
        .notify("P:3", at=110.7),
        ["correct"],
        0,
        1,
        {"optional": 1},
    ),
    Case(
        starting("G3: of another content").publish("P:2", 110.5, price=5).publish("P:3", 110.6).notify("P:3", at=110.7),
        ["correct"],
        0,
        2,
        {"optional": 2},
    ),
    Case(
        crossing("G3: no proof, because two match")
        .subscribe(id="s2", at=110, predicates=MIDDLING)
        .subscribe(id="s1", at=110)
        .publish("P:1", 110.3)
        .publish("P:2", 110.5, price=60)
        .publish("P:3", 110.6, price=60)
        .notify("P:1", at=110.4)
        .notify("P:3", at=110.7),
        ["correct"],
        0,
        2,
        {"optional": 2},
    ),
    Case(
        settled("G3: a proof, because one matches")
        .subscribe(id="s2", at=110, predicates=MIDDLING)
        .publish("P:1", 110.3, price=60)
        .publish("P:2", 110.5, price=60)
        .publish("P:3", 110.6, price=60)
        .notify("P:1", at=110.4)
        .notify("P:3", at=110.7),
        ["lost"],
        1,
        2,
        {"optional": 2, **LOST},
    ),
    Case(
        starting("G3: withdrawn before the later one came")
        .subscribe(id="s2", at=110, predicates=CHEAP)
        .publish("P:2", 110.5)
        .unsubscribe(110.55)
        .publish("P:3", 110.6, price=5)
        .notify("P:3", at=110.7),
        ["correct"],
        0,
        2,
        {"optional": 2},
    ),
    Case(
        starting("G3: withdrawn after the later one came")
        .subscribe(id="s2", at=110, predicates=CHEAP)
        .publish("P:2", 110.5)
        .publish("P:3", 110.6, price=5)
        .notify("P:3", at=110.7)
        .unsubscribe(110.75),
        ["lost"],
        1,
        2,
        {"optional": 2, **LOST},
    ),
    Case(
        starting("G3: the client's session broke in between")
        .publish("P:2", 110.5)
        .session(110.6, 110.8, broker="B3")
        .publish("P:3", 111)
        .notify("P:3", at=111.1),
        ["correct"],
        0,
        2,
        {"optional": 2},
    ),
    Case(
        starting("G3: started anew, and a gap after that")
        .session(110.6, 110.8, broker="B3")
        .publish("P:2", 111)
        .notify("P:2", at=111.1)
        .publish("P:3", 111.2)
        .publish("P:4", 111.4)
        .notify("P:4", at=111.5),
        ["lost"],
        1,
        3,
        {"optional": 3, **LOST},
    ),
    Case(
        starting("G3: the publisher's session broke")
        .publish("P:2", 110.5)
        .session(110.55, 110.6)
        .publish("P:3", 112.8)
        .notify("P:3", at=112.9),
        ["correct"],
        0,
        2,
        {"optional": 2},
    ),
    Case(
        starting("G3: accepted before the publisher's session broke")
        .publish("P:2", 110.5)
        .accept("P:2", 110.52)
        .session(110.55, 110.6)
        .publish("P:3", 112.8)
        .notify("P:3", at=112.9),
        ["lost"],
        1,
        2,
        {"lost": 1, "optional": 2},
    ),
    Case(
        starting("G3: no excuse by the recovery of the publisher's session")
        .session(105, 105.5)
        .publish("P:2", 110.5)
        .publish("P:3", 110.6)
        .notify("P:3", at=110.7),
        ["lost"],
        1,
        2,
        {"optional": 2, **LOST},
    ),
    Case(
        History("G3: its advertisement in flight", promises=GAPLESS, homes=HOMES)
        .subscribe()
        .advertise(at=110)
        .publish("P:1", 110.3)
        .publish("P:2", 110.5)
        .publish("P:3", 110.6)
        .notify("P:1", at=110.4)
        .notify("P:3", at=110.7),
        ["correct"],
        2,
        2,
        {},
    ),
    Case(
        starting("G3: never accepted by a broker that crashed")
        .publish("P:2", 110.5)
        .fault(110.55, peer="B1")
        .heal(110.6, peer="B1")
        .publish("P:3", 112.8)
        .notify("P:3", at=112.9),
        ["correct"],
        0,
        2,
        {"optional": 2},
    ),
    Case(
        starting("G3: lost with the publisher's broker, though accepted", promises=ORDERED)
        .publish("P:2", 110.5)
        .accept("P:2", 110.51)
        .fault(110.55, peer="B1")
        .heal(110.6, peer="B1")
        .publish("P:3", 112.8)
        .notify("P:3", at=112.9),
        ["correct"],
        0,
        2,
        {"optional": 2},
    ),
    Case(
        starting("G3: rejected")
        .publish("P:2", 110.5)
        .reject("P:2", 110.51)
        .publish("P:3", 110.6)
        .notify("P:3", at=110.7),
        ["correct"],
        0,
        2,
        {"optional": 2, "rejected": 1},
    ),
    Case(
        starting("G3: a gap though the publisher's broker never comes back")
        .publish("P:2", 110.5)
        .publish("P:3", 110.6)
        .notify("P:3", at=110.7)
        .fault(114, peer="B1"),
        ["lost"],
        1,
        2,
        {"optional": 2, **LOST},
    ),
    Case(
        starting("G3: no excuse by the recovery from another crash")
        .fault(104)
        .heal(109)
        .publish("P:2", 110.5)
        .publish("P:3", 110.6)
        .notify("P:3", at=110.7),
        ["lost"],
        1,
        2,
        {"optional": 2, **LOST},
    ),
    Case(
        starting("G3: a fault that is not survived")
        .fault(110.45, "meteorite")
        .publish("P:2", 110.5)
        .publish("P:3", 110.6)
        .notify("P:3", at=110.7),
        ["correct"],
        0,
        2,
        {"optional": 2},
    ),
    Case(
        settled("G3: a gap right before the run was cut short", interrupted=True)
        .publish("P:1", 161)
        .publish("P:2", 162)
        .publish("P:3", 163)
        .publish("P:4", 164)
        .notify("P:1", at=161.1)
        .notify("P:3", at=163.1),
        ["lost"],
        4,
        2,
        {"lost": 1},
    ),
]
"""G3: no gap from the start of a subscription on. Nothing but a broken session of the client or the publisher excuses
one."""

STARTS = [
    Case(
        crossing("G5: subscribed while another broker was down").fault(105).subscribe(at=110).publish(at=112.1),
        ["lost"],
        1,
        0,
        LOST,
    ),
    Case(
        crossing("G5: subscribed while no path was left")
        .fault(105)
        .fault(105, peer="B4")
        .subscribe(at=110)
        .publish(at=113)
        .heal(115),
        ["correct"],
        0,
        0,
        {},
    ),
    Case(
        crossing("G5: subscribed while no path was left, long ago")
        .fault(105)
        .fault(105, peer="B4")
        .subscribe(at=110)
        .heal(115)
        .publish(at=121.1),
        ["lost"],
        1,
        0,
        LOST,
    ),
    Case(
        crossing("G5: subscribed while a link was slow")
        .fault(105, "degrade", "B1-B2")
        .subscribe(at=110)
        .publish(at=113),
        ["correct"],
        0,
        0,
        {},
    ),
    Case(
        crossing("G6: announced").subscribe(at=110).announce(110.2).publish("P:1", 110.3),
        ["lost"],
        1,
        0,
        LOST,
    ),
    Case(
        crossing("G6: before it was announced")
        .subscribe(at=110)
        .publish("P:1", 110.1)
        .announce(110.2)
        .publish("P:2", 110.3)
        .notify("P:2", at=110.4),
        ["correct"],
        0,
        1,
        {"optional": 1},
    ),
    Case(
        crossing("G6: announced in a former session")
        .subscribe(at=110)
        .announce(110.2)
        .session(110.25, 110.28, broker="B3")
        .publish("P:1", 110.3)
        .publish("P:2", 110.5)
        .notify("P:2", at=110.6),
        ["correct"],
        0,
        1,
        {"optional": 1},
    ),
    Case(settled("G6: announced late").publish().announce(120), ["lost"], 1, 0, LOST),
    Case(
        crossing("G6: another subscription announced")
        .subscribe(at=110)
        .subscribe(id="s2", at=110, predicates=CHEAP)
        .announce(110.2, id="s2")
        .publish("P:1", 110.3),
        ["correct"],
        0,
        0,
        {},
    ),
]
"""G5 and G6: a settled subscription has started, and an announced one."""


def _cut(variant: str, promises: Promises = GIVING_UP, *, faults: bool = True) -> History:
    """P:1 reaches S. P:2 and P:3, which are published while S's broker is cut off, do not, and P:4 does again."""
    history = settled(variant, promises).publish("P:1", 105).notify("P:1", at=105.1)
    if faults:
        history.fault(110, "link_down", "B2-B3").fault(110, "link_down", "B4-B3")
        history.heal(130, "link_up", "B2-B3").heal(130, "link_up", "B4-B3")
    history.publish("P:2", 112).publish("P:3", 114)
    return history.publish("P:4", 135).notify("P:4", at=135.1)


_EXCUSED_BY_RANGE = {"excused": 2}
LOST_RANGES = [
    Case(_cut("G3: lost range").lose_range(131, 2), ["correct"], 4, 2, _EXCUSED_BY_RANGE),
    Case(_cut("G3: no lost range"), ["lost"], 4, 2, {"lost": 2}),
    Case(_cut("G3: lost range of one").lose_range(131, 1), ["lost"], 4, 2, {"lost": 1, "excused": 1}),
    Case(_cut("G3: lost range out of place").lose_range(136, 2), ["lost"], 4, 2, {"lost": 2}),
    Case(_cut("G3: lost range before").lose_range(111, 2), ["lost"], 4, 2, {"lost": 2}),
    Case(_cut("G3: lost range that the client was not told").lose_range(131, 2, "B3"), ["lost"], 4, 2, {"lost": 2}),
    Case(_cut("G3: lost range without a cut", faults=False).lose_range(131, 2), ["lost"], 4, 2, {"lost": 2}),
    Case(_cut("G3: lost range that was not promised", GAPLESS).lose_range(131, 2), ["lost"], 4, 2, {"lost": 2}),
    Case(
        settled("G4: lost range at the end")
        .fault(110, "link_down", "B2-B3")
        .fault(110, "link_down", "B4-B3")
        .publish("P:1", 112)
        .heal(130, "link_up", "B2-B3")
        .heal(130, "link_up", "B4-B3"),
        ["lost"],
        1,
        0,
        LOST,
    ),
]
"""Publications that may be given up while a broker is cut off; the client has to be told."""
