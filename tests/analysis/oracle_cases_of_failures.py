"""Histories of a run in which brokers fail or answer late, with the verdicts of the delivery oracle."""

from __future__ import annotations

from record.log import Event
from tests.analysis.history import History, across, joined
from tests.analysis.oracle_cases import Case

A_STOCK = {"class": "STOCK"}


def _renewed(variant: str, again: float | None) -> History:
    """A subscription at B1, which is killed from 110 to 111; its session is back at 112, and the subscription comes to
    B1 then, unless that is None."""
    history = joined(variant).add("B1", Event.RECEIVED, 95.001, kind="subscribe", id="s1", client="S", hops=0)
    history.fault(110, "kill", "B1").heal(111, "restart", "B1").break_session(110.001, 112)
    if again is not None:
        history.add("B1", Event.RECEIVED, again, kind="subscribe", id="s1", client="S", hops=0)
    return history


def _frozen(history: History) -> History:
    """B1 freezes soon after its restart, and a publication is made long after that."""
    return history.fault(113, "pause", "B1").heal(116, "resume", "B1").publish(at=150).notify(at=150.1)


BROKE = ("lost", "session broken")


def sent(at: float) -> tuple[str, Event, float]:
    """Something that a broker did with P:1."""
    return "B1", Event.SENT, at


def towards_b2(history: History, at: float, id: str = "P:1") -> History:
    """A publication arrives at B1, which sends it on to B2."""
    history.publish(id, at).add("B1", Event.RECEIVED, at + 0.01, id=id, kind="publish", hops=0)
    return history.add("B1", Event.SENT, at + 0.02, id=id, kind="publish", peer="B2", duration=0)


def at_b2(history: History, at: float) -> History:
    """A publication arrives at B1, which sends it on to B2, and arrives there."""
    return towards_b2(history, at).add("B2", Event.RECEIVED, at + 0.03, id="P:1", kind="publish", peer="B1", hops=1)


def on_the_way(history: History, at: float) -> History:
    """A publication travels over B1 and B2 to B3, whose client is notified."""
    at_b2(history, at).add("B2", Event.SENT, at + 0.04, id="P:1", kind="publish", peer="B3", duration=0)
    history.add("B3", Event.RECEIVED, at + 0.05, id="P:1", kind="publish", peer="B2", hops=2)
    return history.add("driver", Event.NOTIFIED, at + 0.06, client="S", id="P:1", peer="B3", hops=2)


def backlog(history: History, broker: str, since: int, until: int) -> History:
    """Messages wait in a broker's queues, by its gauges."""
    for second in range(since, until + 1):
        history.add(broker, Event.QUEUE, second, peer="B3", queue=4, count=0)
    return history


BROKEN = [
    Case(across("during a fault").fault(105).publish(at=110), ["correct"], 1, 0, {"excused": 1}),
    Case(across("during a fault, delivered").fault(105).publish().notify(), ["correct"], 1, 1),
    Case(
        across("during a fault of a broker that no way passes", homes={"S": "B1"}).fault(105).publish(),
        ["lost"],
        1,
        0,
        {"lost": 1},
    ),
    Case(
        at_b2(across("during a fault, and it had passed").fault(105, peer="B1"), 110).receive(broker="B2"),
        ["lost"],
        1,
        0,
        {"lost": 1},
    ),
    Case(
        across("during a fault, twice").fault(105).publish().notify("P:1", "P:1"),
        ["duplicated"],
        1,
        2,
        {"duplicate": 1},
    ),
    Case(
        across("during a fault, to one that does not match").fault(105).publish(price=50).notify(),
        ["spurious"],
        0,
        1,
        {"spurious": 1, "spurious_causes": {"no subscription matches": 1}},
    ),
    Case(across("never healed").fault(105).publish(at=159), ["correct"], 1, 0, {"excused": 1}),
    Case(across("recovering").fault(105).heal(110).publish(at=115.9), ["correct"], 1, 0, {"excused": 1}),
    Case(
        on_the_way(across("recovered, as a notification shows").fault(105).heal(110), 112).publish("P:2", 113),
        ["lost"],
        2,
        1,
        {"lost": 1},
    ),
    Case(across("recovered").fault(105).heal(110).publish(at=116.1), ["lost"], 1, 0, {"lost": 1}),
    Case(across("long before a fault").publish(at=105).fault(110), ["lost"], 1, 0, {"lost": 1}),
    Case(across("nowhere when it broke").publish(at=108).fault(110), ["lost"], 1, 0, {"lost": 1}),
    Case(towards_b2(across("in flight when it broke"), 109).fault(110), ["correct"], 1, 0, {"excused": 1}),
    Case(at_b2(across("held when it broke"), 109.7).fault(110), ["correct"], 1, 0, {"excused": 1}),
    Case(at_b2(across("discarded long before it broke"), 105).fault(110), ["lost"], 1, 0, {"lost": 1}),
    Case(
        across("in a queue when it broke")
        .publish(at=105)
        .add(*sent(109.5), id="P:1", kind="publish", peer="B2")
        .fault(110),
        ["correct"],
        1,
        0,
        {"excused": 1},
    ),
    Case(
        across("healed by something else").fault(105).heal(110, "resume").publish(at=120),
        ["correct"],
        1,
        0,
        {"excused": 1},
    ),
    Case(across("stopped").fault(105, "stop").publish(), ["correct"], 1, 0, {"excused": 1}),
    Case(at_b2(across("came to one that was ending").fault(105, "stop"), 105.5), ["correct"], 1, 0, {"excused": 1}),
    *(
        Case(across(f"{kind} {what}, no excuse").fault(105, kind, what).publish(), ["lost"], 1, 0, {"lost": 1})
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
    Case(across("killed while paused").fault(105, "pause").fault(106).publish(), ["correct"], 1, 0, {"excused": 1}),
    Case(
        across("restarted, still slow").fault(105, "slow").fault(106).heal(107).publish(at=116),
        ["lost"],
        1,
        0,
        {"lost": 1},
    ),
    Case(
        across("restarted, a neighbour still frozen").fault(105, "pause", "B1").fault(106).heal(107).publish(at=116),
        ["correct"],
        1,
        0,
        {"excused": 1},
    ),
    Case(
        backlog(
            at_b2(across("died with what waited for a frozen neighbour").fault(109, "pause", "B3"), 110), "B2", 111, 118
        )
        .fault(119)
        .heal(120)
        .heal(121, "resume", "B3"),
        ["correct"],
        1,
        0,
        {"excused": 1},
    ),
    Case(
        backlog(at_b2(across("died with what it kept though nothing held it up"), 110), "B2", 111, 118)
        .fault(119)
        .heal(120),
        ["lost"],
        1,
        0,
        {"lost": 1},
    ),
    Case(
        at_b2(across("died without anything that waited for a frozen neighbour").fault(109, "pause", "B3"), 110)
        .fault(119)
        .heal(120)
        .heal(121, "resume", "B3"),
        ["lost"],
        1,
        0,
        {"lost": 1},
    ),
    Case(
        across("arrived before, and nobody died until the frozen one was back")
        .fault(109, "pause", "B3")
        .publish(at=110)
        .heal(111, "resume", "B3")
        .fault(125),
        ["lost"],
        1,
        0,
        {"lost": 1},
    ),
    Case(across("of an unknown kind").fault(105, "meteorite").publish(), ["correct"], 1, 0, {"excused": 1}),
    Case(across("rebuilt").fault(105, "meteorite").heal(106, "resume").publish(at=120), ["lost"], 1, 0, {"lost": 1}),
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
        across("unsubscribed during a fault").fault(105).unsubscribe(106).heal(110).publish(at=115).notify(at=115.1),
        ["correct"],
        0,
        1,
        {"optional": 1},
    ),
    Case(
        across("unsubscribed while slow").fault(105, "slow").unsubscribe(106).publish(at=115).notify(at=115.1),
        ["correct"],
        0,
        1,
        {"optional": 1},
    ),
    Case(
        across("unsubscribed during a fault, long ago")
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
    Case(across("its session down by itself").break_session(105, broker="B3").publish(), [*BROKE], 1, 0, {"lost": 1}),
    Case(
        across("its session down, as its broker was frozen").session(105, 110.5, broker="B3").publish(),
        ["correct"],
        1,
        0,
        {"excused": 1},
    ),
    Case(
        across("its session not back in time, though its broker was")
        .session(105, broker="B3")
        .publish(at=110.9)
        .publish("P:2", 114),
        [*BROKE],
        2,
        0,
        {"excused": 1, "lost": 1},
    ),
    Case(
        across("its session not back as long as its broker is down")
        .fault(105, peer="B3")
        .break_session(105.1, broker="B3")
        .publish(at=130),
        ["correct"],
        1,
        0,
        {"excused": 1},
    ),
    Case(
        across("its session up again")
        .fault(100, "pause", "B3")
        .session(101, 103, broker="B3")
        .heal(102, "resume", "B3")
        .publish(),
        ["lost"],
        1,
        0,
        {"lost": 1},
    ),
    Case(
        across("another broker's session down").fault(104, "pause", "B2").session(105, broker="B2").publish(),
        ["lost"],
        1,
        0,
        {"lost": 1},
    ),
    Case(
        across("another driver's session down")
        .fault(104, "pause", "B3")
        .session(105, node="d2", broker="B3")
        .publish(),
        ["lost"],
        1,
        0,
        {"lost": 1},
    ),
    Case(across("sessions closed in the end").publish(at=169).session(170), ["lost"], 1, 0, {"lost": 1}),
    Case(
        across("its publisher's session down")
        .fault(104, "pause")
        .session(105, node="d2", broker="B2")
        .add("d2", Event.PUBLISH, 110, client="P", id="P:1", peer="B2", numbers={"price": 90}, strings=A_STOCK),
        ["correct"],
        1,
        0,
        {"published": 1, "excused": 1},
    ),
    Case(
        across("its publisher's session down, and another client got it")
        .fault(104, "pause")
        .subscribe("T")
        .session(105, node="d2", broker="B2")
        .add("d2", Event.PUBLISH, 110, client="P", id="P:1", peer="B2", numbers={"price": 90}, strings=A_STOCK)
        .accept()
        .notify(client="T"),
        ["correct"],
        2,
        1,
        {"excused": 1},
    ),
]
"""Brokers and links fail, and what is lost by it is excused."""

SLOW = [
    Case(
        History("a subscription of the join phase spreads until 101 s", homes={"S": "B3"}, unsettled=["B2"])
        .advertise()
        .subscribe(at=99.5)
        .add("B1", Event.RECEIVED, 99.7, id="B3.1.1", kind="subscribe", peer="B2")
        .add("B2", Event.RECEIVED, 101, id="B3.1.1", kind="subscribe", peer="B3")
        .publish(at=100.5)
        .publish("P:2", at=101.2)
        .publish("P:3", at=114)
        .notify("P:3", at=114.1),
        ["lost"],
        2,
        1,
        {"lost": 1},
    ),
    Case(
        History("it spreads in messages of the protocol's own", homes={"S": "B3"}, unsettled=["B2"])
        .advertise()
        .subscribe(at=99.5)
        .publish(at=100.5)
        .publish("P:2", at=114),
        ["lost"],
        1,
        0,
        {"lost": 1},
    ),
    Case(
        across("it spreads for ever", unsettled=["B2"])
        .add("B2", Event.RECEIVED, 112, id="B3.1.1", kind="subscribe", peer="B3")
        .publish(at=111),
        ["lost"],
        1,
        0,
        {"lost": 1},
    ),
    Case(
        across("subscriptions of another broker's clients spread until 112 s", unsettled=["B2"])
        .add("B2", Event.RECEIVED, 112, id="B2.1.1", kind="subscribe", peer="B1")
        .publish(at=111),
        ["lost"],
        1,
        0,
        {"lost": 1},
    ),
    Case(
        across("a subscription is passed on again after a quiet join phase")
        .add("B2", Event.RECEIVED, 112, id="B3.1.1", kind="subscribe", peer="B1")
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
        across("unsubscribed while it was in a queue")
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
    Case(_renewed("renewed after a crash", 112.5).publish(at=130).notify(at=130.1), ["correct"], 1, 1),
    Case(_renewed("renewed after a crash, in vain", None).publish(at=130).notify(at=130.1), ["not renewed"], 1, 1),
    Case(_frozen(_renewed("renewed after a crash and a pause", 116.5)), ["correct"], 1, 1),
    Case(_frozen(_renewed("renewed after a crash and a pause, in vain", None)), ["not renewed"], 1, 1),
    Case(
        _renewed("withdrawn before it had to be renewed", None).unsubscribe(113).publish(at=105).notify(at=105.1),
        ["correct"],
        1,
        1,
    ),
    Case(
        across("unsubscription never confirmed").unsubscribe(110, answer=None).publish(at=130).notify(at=130.1),
        ["not confirmed"],
        0,
        1,
        {"optional": 1},
    ),
]
"""Brokers take their time, and what falls into it is excused."""
