"""Histories in which other brokers crash and paths are cut, with the verdicts of the delivery oracle."""

from __future__ import annotations

from tests.analysis.diamond import LOST, MIXED, UNORDERED, crossing, settled, starting
from tests.analysis.oracle_cases import Case

TAILS = [
    Case(starting("G4: nothing came later").publish("P:2", 110.5), ["lost"], 1, 1, {"optional": 1, **LOST}),
    Case(
        starting("G4: started, and no path left").publish("P:2", 110.5).fault(110.55).fault(110.55, peer="B4"),
        ["correct"],
        0,
        1,
        {"optional": 1},
    ),
    Case(settled("G4: another broker's crash").fault(105).publish(), ["lost"], 1, 0, LOST),
    Case(settled("G4: a crash before it arrived").publish(at=109).fault(110), ["lost"], 1, 0, LOST),
    Case(settled("G4: no path left").fault(105).fault(105, peer="B4").publish(), ["correct"], 1, 0, {"excused": 1}),
    Case(settled("G4: no path for a while").fault(105).fault(105, peer="B4").publish().heal(120), ["lost"], 1, 0, LOST),
    Case(
        settled("G4: no path until right before the end").fault(105).fault(105, peer="B4").publish().heal(165),
        ["correct"],
        1,
        0,
        {"excused": 1},
    ),
    Case(
        settled("G4: long before the last path was gone").publish(at=105).fault(110).fault(110, peer="B4"),
        ["lost"],
        1,
        0,
        LOST,
    ),
    Case(
        settled("G4: links cut for good").fault(105, "link_down", "B1-B2").fault(105, "link_down", "B4->B3").publish(),
        ["correct"],
        1,
        0,
        {"excused": 1},
    ),
    Case(settled("G4: one link cut for good").fault(105, "link_down", "B1-B2").publish(), ["lost"], 1, 0, LOST),
    Case(
        settled("G4: withdrawn, which did not come through")
        .fault(105)
        .fault(105, peer="B4")
        .unsubscribe(110)
        .publish(at=113)
        .heal(115)
        .notify(at=115.2),
        ["correct"],
        0,
        1,
        {"optional": 1},
    ),
    Case(
        settled("G4: withdrawn, which had long come through")
        .fault(105)
        .fault(105, peer="B4")
        .unsubscribe(110)
        .heal(115)
        .publish(at=121.1)
        .notify(at=121.2),
        ["spurious"],
        0,
        1,
        {"spurious": 1, "spurious_causes": {"subscription withdrawn": 1}},
    ),
    Case(
        settled("G4: withdrawn while it waited for a path")
        .fault(105)
        .fault(105, peer="B4")
        .publish()
        .unsubscribe(115)
        .heal(120),
        ["correct"],
        0,
        0,
        {},
    ),
]
"""G4: what comes after the start arrives in the end, unless no path is left to the end."""

CRASHES = [
    Case(
        settled("G7: the subscriber's broker is down").fault(105, peer="B3").session(105.01, broker="B3").publish(),
        ["correct"],
        1,
        0,
        {"excused": 1},
    ),
    Case(
        settled("G7: the subscriber's broker was down").fault(109, peer="B3").publish().heal(112, peer="B3"),
        ["correct"],
        1,
        0,
        {"excused": 1},
    ),
    Case(
        settled("G7: others are not").subscribe("U").fault(105, peer="B3").session(105.01, broker="B3").publish(),
        ["lost"],
        2,
        0,
        {"lost": 1, "excused": 1},
    ),
    Case(
        settled("G7: again after the crash")
        .publish("P:1", 104.5)
        .notify("P:1", at=104.6)
        .fault(105, peer="B3")
        .session(105.01, 107, broker="B3")
        .heal(107, peer="B3")
        .notify("P:1", at=108),
        ["duplicated"],
        1,
        2,
        {"duplicate": 1},
    ),
    Case(
        settled("G7: out of order across the crash")
        .publish("P:1", 104.4)
        .publish("P:2", 104.5)
        .notify("P:2", at=104.6)
        .fault(105, peer="B3")
        .session(105.01, 107, broker="B3")
        .heal(107, peer="B3")
        .notify("P:1", at=108),
        ["reordered"],
        2,
        2,
        {"reordered": 1, "overtaken": 1},
    ),
    Case(
        settled("G7: waited for a path when its session broke")
        .fault(105)
        .fault(105, peer="B4")
        .publish()
        .session(125, 126, broker="B3")
        .heal(130),
        ["correct"],
        1,
        0,
        {"excused": 1},
    ),
    Case(
        settled("G8: never accepted").publish().fault(110.05, peer="B1").heal(112, peer="B1"),
        ["correct"],
        1,
        0,
        {"excused": 1},
    ),
    Case(
        settled("G8: accepted").publish().accept().fault(110.05, peer="B1").session(110.06, 112).heal(112, peer="B1"),
        ["lost"],
        1,
        0,
        LOST,
    ),
    Case(
        settled("G8: accepted, and never back").publish().accept().fault(110.05, peer="B1"),
        ["correct"],
        1,
        0,
        {"excused": 1},
    ),
    Case(
        settled("G8: accepted, and late")
        .publish()
        .accept()
        .fault(110.05, peer="B1")
        .session(110.06, 112)
        .heal(112, peer="B1")
        .notify(at=113),
        ["correct"],
        1,
        1,
    ),
    Case(
        settled("G8: accepted, and twice")
        .publish()
        .accept()
        .notify()
        .fault(110.06, peer="B1")
        .heal(112, peer="B1")
        .notify(at=113),
        ["duplicated"],
        1,
        2,
        {"duplicate": 1},
    ),
    Case(
        settled("G8: accepted, and a later one came first")
        .publish("P:1", 110)
        .publish("P:2", 110.01)
        .accept("P:1", 110.02)
        .accept("P:2", 110.02)
        .fault(110.05, peer="B1")
        .heal(112, peer="B1")
        .notify("P:2", "P:1", at=113),
        ["reordered"],
        2,
        2,
        {"reordered": 1, "overtaken": 1},
    ),
    Case(
        settled("G8: accepted, and only a later one came, which was not")
        .publish("P:1", 110)
        .publish("P:2", 110.03)
        .accept("P:1", 110.04)
        .fault(110.05, peer="B1")
        .session(110.06, 112)
        .heal(112, peer="B1")
        .notify("P:2", at=113),
        ["lost"],
        2,
        1,
        LOST,
    ),
    Case(
        settled("G8: accepted by the next incarnation")
        .publish()
        .fault(110.05, peer="B1")
        .session(110.06, 112)
        .heal(112, peer="B1")
        .accept(at=112.3),
        ["lost"],
        1,
        0,
        LOST,
    ),
    Case(
        settled("G8: accepted when it was repeated, and in flight when it was unsubscribed")
        .publish()
        .session(110.06, 112)
        .accept(at=112.9)
        .unsubscribe(113.5),
        ["correct"],
        0,
        0,
        {},
    ),
    Case(
        starting("G8: never back, and a gap")
        .publish("P:2", 110.5)
        .accept("P:2", 110.51)
        .publish("P:3", 110.52)
        .fault(110.55, peer="B1")
        .notify("P:3", at=110.6),
        ["lost"],
        1,
        2,
        {"optional": 2, **LOST},
    ),
    Case(
        starting("G8: never back, and a prefix")
        .publish("P:2", 110.5)
        .accept("P:2", 110.51)
        .publish("P:3", 110.52)
        .accept("P:3", 110.53)
        .fault(110.55, peer="B1")
        .notify("P:2", at=110.6),
        ["correct"],
        0,
        2,
        {"optional": 2},
    ),
    Case(
        settled("G8: one got it, the other not")
        .subscribe("T")
        .publish()
        .notify(client="T")
        .fault(110.06, peer="B1")
        .heal(112, peer="B1"),
        ["lost"],
        2,
        1,
        LOST,
    ),
    Case(
        settled("G8: one got it, the other not, and never back")
        .subscribe("T")
        .publish()
        .notify(client="T")
        .fault(110.06, peer="B1"),
        ["correct"],
        2,
        1,
        {"excused": 1},
    ),
]
"""G7: the crash of a subscriber's broker concerns its own clients alone. G8: that of a publisher's broker costs what it
had not accepted, and that in agreement."""

REFUSALS = [
    Case(settled("G9: refused").publish().refuse(), ["correct"], 0, 0),
    Case(
        settled("G9: refused, and delivered").publish().refuse().notify(),
        ["spurious"],
        0,
        1,
        {"spurious": 1, "spurious_causes": {"refused": 1}},
    ),
    Case(settled("G9: repeated and accepted").publish().refuse().accept(at=110.5), ["lost"], 1, 0, LOST),
    Case(settled("G9: dropped without refusal").publish(), ["lost"], 1, 0, LOST),
    Case(
        starting("G9: a refused one leaves no gap")
        .publish("P:2", 110.5)
        .refuse("P:2", 110.51)
        .publish("P:3", 110.6)
        .notify("P:3", at=110.7),
        ["correct"],
        0,
        2,
        {"optional": 2},
    ),
]
"""G9: a publication that is too much is refused, which its publisher is told, and never lost."""

UNORDERED_CASES = [
    Case(settled("own clients: another broker's crash", UNORDERED).fault(105).publish(), ["lost"], 1, 0, LOST),
    Case(
        settled("own clients: the publisher's broker", UNORDERED)
        .subscribe("T")
        .publish()
        .accept()
        .notify(client="T")
        .fault(110.06, peer="B1")
        .heal(112, peer="B1"),
        ["correct"],
        2,
        1,
        {"excused": 1},
    ),
    Case(
        settled("own clients: the publisher's broker, which keeps what it accepts when it stops", MIXED)
        .subscribe("T")
        .publish()
        .accept()
        .notify(client="T")
        .fault(110.06, peer="B1")
        .heal(112, peer="B1"),
        ["correct"],
        2,
        1,
        {"excused": 1},
    ),
    Case(
        settled("own clients: stopped, and keeps what it accepts", MIXED)
        .subscribe("T")
        .publish()
        .accept()
        .notify(client="T")
        .fault(110.06, "stop", "B1")
        .heal(112, peer="B1"),
        ["lost"],
        2,
        1,
        LOST,
    ),
    Case(
        settled("own clients: the subscriber's broker", UNORDERED).fault(105, peer="B3").publish(),
        ["correct"],
        1,
        0,
        {"excused": 1},
    ),
    Case(
        settled("own clients: any order", UNORDERED).publish("P:1", 110).publish("P:2", 110.01).notify("P:2", "P:1"),
        ["correct"],
        2,
        2,
        {"overtaken": 1},
    ),
    Case(
        crossing("own clients: no gaps promised", UNORDERED)
        .subscribe(at=110)
        .publish("P:1", 110.3)
        .publish("P:2", 110.5)
        .publish("P:3", 110.6)
        .notify("P:1", at=110.4)
        .notify("P:3", at=110.7),
        ["correct"],
        0,
        2,
        {"optional": 2},
    ),
]
"""A protocol that loses what the failed broker's own clients publish, accepted or not, and promises no order."""
