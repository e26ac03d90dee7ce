"""Histories of a run in which brokers fail or answer late, with the verdicts of the delivery oracle."""

from __future__ import annotations

from record.log import Event
from tests.analysis.history import History, joined
from tests.analysis.oracle_cases import Case

A_STOCK = {"class": "STOCK"}


def sent(at: float) -> tuple[str, Event, float]:
    """Something that a broker did with P:1."""
    return "B1", Event.SENT, at


BROKEN = [
    Case(joined("during a fault").fault(105).publish(at=110), ["correct"], 0, 0),
    Case(joined("during a fault, delivered").fault(105).publish().notify(), ["correct"], 0, 1, {"optional": 1}),
    Case(
        joined("during a fault, twice").fault(105).publish().notify("P:1", "P:1"),
        ["duplicated"],
        0,
        2,
        {"optional": 1, "duplicate": 1},
    ),
    Case(
        joined("during a fault, to one that does not match").fault(105).publish(price=50).notify(),
        ["spurious"],
        0,
        1,
        {"spurious": 1, "spurious_causes": {"no subscription matches": 1}},
    ),
    Case(joined("never healed").fault(105).publish(at=159), ["correct"], 0, 0),
    Case(joined("recovering").fault(105).heal(110).publish(at=115.9), ["correct"], 0, 0),
    Case(joined("recovered").fault(105).heal(110).publish(at=116.1), ["lost"], 1, 0, {"lost": 1}),
    Case(joined("long before a fault").publish(at=105).fault(110), ["lost"], 1, 0, {"lost": 1}),
    Case(joined("in flight when it broke").publish(at=109).fault(110), ["correct"], 0, 0),
    Case(
        joined("in a queue when it broke")
        .publish(at=105)
        .add(*sent(109.5), id="P:1", kind="publish", peer="B2")
        .fault(110),
        ["correct"],
        0,
        0,
    ),
    Case(joined("healed by something else").fault(105).heal(110, "resume").publish(at=120), ["correct"], 0, 0),
    Case(joined("stopped").fault(105, "stop").publish(), ["correct"], 0, 0, {"excused": 1}),
    *(
        Case(joined(f"{kind} {what}, no excuse").fault(105, kind, what).publish(), ["lost"], 1, 0, {"lost": 1})
        for kind, what in (
            ("pause", "B2"),
            ("slow", "B2"),
            ("throttle", "B2"),
            ("link_down", "B1-B2"),
            ("link_down", "B1->B2"),
            ("degrade", "B1-B2"),
            ("corrupt", "B2-B3"),
        )
    ),
    Case(joined("killed while paused").fault(105, "pause").fault(106).publish(), ["correct"], 0, 0),
    Case(
        joined("restarted, still slow").fault(105, "slow").fault(106).heal(107).publish(at=116),
        ["lost"],
        1,
        0,
        {"lost": 1},
    ),
    Case(
        joined("restarted, a neighbour still frozen").fault(105, "pause", "B1").fault(106).heal(107).publish(at=116),
        ["correct"],
        0,
        0,
    ),
    Case(
        joined("died with what waited for a frozen neighbour")
        .fault(109, "pause", "B3")
        .publish(at=110)
        .fault(119)
        .heal(120)
        .heal(121, "resume", "B3"),
        ["correct"],
        0,
        0,
    ),
    Case(
        joined("arrived before, and nobody died until the frozen one was back")
        .fault(109, "pause", "B3")
        .publish(at=110)
        .heal(111, "resume", "B3")
        .fault(125),
        ["lost"],
        1,
        0,
        {"lost": 1},
    ),
    Case(joined("of an unknown kind").fault(105, "meteorite").publish(), ["correct"], 0, 0),
    Case(joined("rebuilt").fault(105, "meteorite").heal(106, "resume").publish(at=120), ["lost"], 1, 0, {"lost": 1}),
    Case(
        History("subscribed behind a dead link")
        .advertise()
        .fault(105, "link_down", "B1-B2")
        .subscribe(at=106)
        .publish(at=115),
        ["correct"],
        0,
        0,
    ),
    Case(
        joined("unsubscribed during a fault").fault(105).unsubscribe(106).heal(110).publish(at=115).notify(at=115.1),
        ["correct"],
        0,
        1,
        {"optional": 1},
    ),
    Case(
        joined("unsubscribed while slow").fault(105, "slow").unsubscribe(106).publish(at=115).notify(at=115.1),
        ["correct"],
        0,
        1,
        {"optional": 1},
    ),
    Case(
        joined("unsubscribed during a fault, long ago")
        .fault(105)
        .unsubscribe(106)
        .heal(110)
        .publish(at=120)
        .notify(at=120.1),
        ["spurious"],
        0,
        1,
        {"spurious": 1, "spurious_causes": {"subscription withdrawn": 1}},
    ),
    Case(joined("its session down").session(105).publish(), ["correct"], 0, 0),
    Case(joined("its session up again").session(101, 103).publish(), ["lost"], 1, 0, {"lost": 1}),
    Case(joined("another broker's session down").session(105, broker="B3").publish(), ["lost"], 1, 0, {"lost": 1}),
    Case(joined("another driver's session down").session(105, node="d2").publish(), ["lost"], 1, 0, {"lost": 1}),
    Case(joined("sessions closed in the end").publish(at=169).session(170), ["lost"], 1, 0, {"lost": 1}),
    Case(
        joined("its publisher's session down")
        .session(105, node="d2", broker="B2")
        .add("d2", Event.PUBLISH, 110, client="P", id="P:1", peer="B2", numbers={"price": 90}, strings=A_STOCK),
        ["correct"],
        0,
        0,
        {"published": 1},
    ),
    Case(
        joined("its publisher's session down, and another client got it")
        .subscribe("T")
        .session(105, node="d2", broker="B2")
        .add("d2", Event.PUBLISH, 110, client="P", id="P:1", peer="B2", numbers={"price": 90}, strings=A_STOCK)
        .accept()
        .notify(client="T"),
        ["correct"],
        0,
        1,
        {"optional": 1, "excused": 1},
    ),
]
"""Brokers and links fail, and what is lost by it is excused."""

SLOW = [
    Case(
        joined("subscriptions of the join phase spread until 112 s", unsettled=["B2"])
        .add("B1", Event.RECEIVED, 103, id="B1.1.1", kind="subscribe", peer="B2")
        .add("B2", Event.RECEIVED, 112, id="B1.1.1", kind="subscribe", peer="B3")
        .publish(at=111)
        .publish("P:2", at=113)
        .publish("P:3", at=114)
        .notify("P:3", at=114.1),
        ["lost"],
        2,
        1,
        {"lost": 1},
    ),
    Case(
        joined("subscriptions of another broker's clients spread until 112 s", unsettled=["B2"])
        .add("B2", Event.RECEIVED, 112, id="B3.1.1", kind="subscribe", peer="B1")
        .publish(at=111),
        ["lost"],
        1,
        0,
        {"lost": 1},
    ),
    Case(
        joined("a subscription is passed on again after a quiet join phase")
        .add("B2", Event.RECEIVED, 112, id="B1.1.1", kind="subscribe", peer="B1")
        .publish(at=111),
        ["lost"],
        1,
        0,
        {"lost": 1},
    ),
    Case(
        History("subscribed while slow").advertise().fault(105, "slow").subscribe(at=106).publish(at=115),
        ["correct"],
        0,
        0,
    ),
    Case(
        joined("unsubscribed while it was in a queue")
        .publish(at=105)
        .add(*sent(109.5), id="P:1", kind="publish", peer="B2")
        .unsubscribe(110),
        ["correct"],
        0,
        0,
    ),
    Case(
        History("subscribed while it waited for service")
        .advertise()
        .publish(at=105)
        .subscribe(at=110)
        .add("B1", Event.MATCHED, 112, id="P:1", kind="publish", count=1)
        .notify(at=112.1),
        ["correct"],
        0,
        1,
        {"optional": 1},
    ),
    Case(
        joined("unsubscription never confirmed").unsubscribe(110, answer=None).publish(at=130).notify(at=130.1),
        ["correct"],
        0,
        1,
        {"optional": 1},
    ),
]
"""Brokers take their time, and what falls into it is excused."""
