"""Histories of a run in which nothing breaks, with the verdicts of the delivery oracle."""

from __future__ import annotations

from dataclasses import dataclass, field

from record.log import Event
from record.promises import Order, Promises
from tests.analysis.history import ADVERTISED, EXPENSIVE, STOCK, History, across, joined, predicate

ON_TREES = Promises(order=Order.ADVERTISEMENT)
CHEAP = [STOCK, predicate("price", "<", 10)]


@dataclass(frozen=True)
class Case:
    history: History
    verdicts: list[str]
    expected: int
    delivered: int
    numbers: dict[str, object] = field(default_factory=dict)
    """Further fields of `Delivery`; counts not named are 0."""


WRONG = [
    Case(joined("dropped").publish(), ["lost"], 1, 0, {"lost": 1}),
    Case(joined("doubled").publish().notify("P:1", "P:1"), ["duplicated"], 1, 2, {"duplicate": 1}),
    Case(joined("tripled").publish().notify("P:1", "P:1", "P:1"), ["duplicated"], 1, 3, {"duplicate": 2}),
    Case(
        joined("unsubscribe ignored").unsubscribe(110).publish(at=115).notify(at=115.1),
        ["spurious"],
        0,
        1,
        {"spurious": 1, "spurious_causes": {"subscription withdrawn": 1}},
    ),
    Case(
        joined("delivered to one that does not match").publish(price=50).notify(),
        ["spurious"],
        0,
        1,
        {"spurious": 1, "spurious_causes": {"no subscription matches": 1}},
    ),
    Case(
        joined("delivered outside its advertisement").publish(volume=7).notify(),
        ["spurious"],
        0,
        1,
        {"spurious": 1, "spurious_causes": {"outside its advertisements": 1}},
    ),
    Case(
        joined("delivered after unadvertise").unadvertise(110).publish(at=115).notify(at=115.1),
        ["spurious"],
        0,
        1,
        {"spurious": 1, "spurious_causes": {"outside its advertisements": 1}},
    ),
    Case(
        History("delivered before it subscribed").advertise().publish(at=105).notify(at=105.1).subscribe(at=120),
        ["spurious"],
        0,
        1,
        {"spurious": 1, "spurious_causes": {"not yet subscribed": 1}},
    ),
    Case(
        joined("never published").publish().notify("P:1", "P:9"),
        ["spurious"],
        1,
        2,
        {"spurious": 1, "spurious_causes": {"unknown publication": 1}},
    ),
    Case(
        joined("spurious twice").publish(price=50).notify("P:1", "P:1"),
        ["spurious"],
        0,
        2,
        {"spurious": 2, "spurious_causes": {"no subscription matches": 2}},
    ),
    Case(
        joined("all at once").publish("P:1").publish("P:2").publish("P:3", price=1).notify("P:2", "P:2", "P:3"),
        ["lost", "duplicated", "spurious"],
        2,
        3,
        {"lost": 1, "duplicate": 1, "spurious": 1, "spurious_causes": {"no subscription matches": 1}},
    ),
    Case(joined("rejected without a reason").publish().reject(), ["lost"], 1, 0, {"lost": 1, "rejected": 1}),
]
"""Defects of a broker."""

RIGHT = [
    Case(joined("delivered").publish().notify(), ["correct"], 1, 1, {"published": 1}),
    Case(joined("does not match").publish(price=50), ["correct"], 0, 0),
    Case(joined("rejected with a reason").publish(volume=7).reject(), ["correct"], 0, 0, {"rejected": 1}),
    Case(joined("outside, not delivered").publish(volume=7), ["correct"], 0, 0),
    Case(History("never advertised").subscribe().publish(), ["correct"], 0, 0),
    Case(joined("unsubscribed, not delivered").unsubscribe(110).publish(at=115), ["correct"], 0, 0),
    Case(joined("unsubscribed long after").publish(at=105).unsubscribe(110), ["lost"], 1, 0, {"lost": 1}),
    Case(
        joined("unsubscribing, delivered").unsubscribe(110).publish(at=111).notify(at=111.1),
        ["correct"],
        0,
        1,
        {"optional": 1},
    ),
    Case(joined("unsubscribing, not delivered").unsubscribe(110).publish(at=111), ["correct"], 0, 0),
    Case(joined("unadvertising, not delivered").unadvertise(110).publish(at=109), ["correct"], 0, 0),
    Case(
        History("subscribing, delivered").advertise().subscribe(at=110).publish(at=111).notify(at=111.1),
        ["correct"],
        0,
        1,
        {"optional": 1},
    ),
    Case(History("subscribing, not delivered").advertise().subscribe(at=110).publish(at=111), ["correct"], 0, 0),
    Case(
        joined("a second one in flight").subscribe(id="s2", at=110).publish(at=111).notify("P:1", "P:1", at=111.1),
        ["duplicated"],
        1,
        2,
        {"duplicate": 1},
    ),
    Case(
        History("settled").advertise().subscribe(at=110).publish(at=112.1),
        ["lost"],
        1,
        0,
        {"lost": 1},
    ),
    Case(
        History("the run's beginning settles").advertise(at=99).subscribe(at=99.5).publish(at=100.1),
        ["lost"],
        1,
        0,
        {"lost": 1},
    ),
    Case(
        History("never confirmed").advertise().subscribe(answer=None).publish(),
        ["not confirmed"],
        0,
        0,
        {"unconfirmed": 1},
    ),
    Case(History("subscription rejected").advertise().subscribe(answer=Event.REJECTED).publish(), ["rejected"], 0, 0),
    Case(
        History("nonsense rejected")
        .advertise()
        .subscribe(predicates=[predicate("price", "rhymes", 1.0)], answer=Event.REJECTED)
        .publish(),
        ["correct"],
        0,
        0,
    ),
    Case(
        History("two subscriptions, one notification").advertise().subscribe().subscribe(id="s2").publish().notify(),
        ["correct"],
        1,
        1,
    ),
    Case(
        History("publisher subscribes to itself").advertise().subscribe(client="P").publish().notify(client="P"),
        ["correct"],
        1,
        1,
    ),
    Case(
        joined("same name, other content")
        .subscribe(at=110, predicates=CHEAP)
        .publish(at=115)
        .publish("P:2", at=115, price=5)
        .notify("P:2", at=115.1),
        ["correct"],
        1,
        1,
        {"published": 2},
    ),
    Case(
        History("no equality predicate").advertise().subscribe(predicates=[EXPENSIVE[1]]).publish(),
        ["lost"],
        1,
        0,
        {"lost": 1},
    ),
    Case(joined("cut short", interrupted=True).publish(at=165), ["correct"], 1, 0),
    Case(joined("cut short, long before", interrupted=True).publish(at=150), ["lost"], 1, 0, {"lost": 1}),
    Case(
        joined("cut off when cut short", interrupted=True, homes={"S": "B2"})
        .fault(110, "link_down", "B1-B2")
        .publish(at=130),
        ["correct"],
        1,
        0,
    ),
    Case(
        joined("lost before what was cut short", interrupted=True, homes={"S": "B2"})
        .publish(at=110)
        .fault(130, "link_down", "B1-B2"),
        ["lost"],
        1,
        0,
        {"lost": 1},
    ),
    Case(joined("near the end").publish(at=165), ["lost"], 1, 0, {"lost": 1}),
    Case(
        joined("overtaken").publish("P:1", 110).publish("P:2", 110.01).notify("P:2", "P:1"),
        ["correct"],
        2,
        2,
        {"published": 2, "overtaken": 1},
    ),
    Case(joined("nothing published"), ["unjudged"], 0, 0, {"published": 0}),
]

ORDER = [
    Case(
        joined("swapped", promises=ON_TREES).publish("P:1", 110).publish("P:2", 110.01).notify("P:2", "P:1"),
        ["reordered"],
        2,
        2,
        {"published": 2, "reordered": 1, "overtaken": 1},
    ),
    Case(
        joined("in order", promises=ON_TREES).publish("P:1", 110).publish("P:2", 110.01).notify("P:1", "P:2"),
        ["correct"],
        2,
        2,
        {"published": 2},
    ),
    Case(
        joined("at the same moment", promises=ON_TREES).publish("P:1").publish("P:2").notify("P:1").notify("P:2"),
        ["correct"],
        2,
        2,
        {"published": 2},
    ),
    Case(
        joined("swapped at the same moment", promises=ON_TREES)
        .publish("P:1")
        .publish("P:2")
        .notify("P:2")
        .notify("P:1"),
        ["reordered"],
        2,
        2,
        {"published": 2, "reordered": 1, "overtaken": 1},
    ),
    Case(
        joined("on two trees", promises=ON_TREES)
        .advertise(id="a2", predicates=[*ADVERTISED, predicate("volume", ">", 0)])
        .publish("P:1", 110, volume=1)
        .publish("P:2", 110.01)
        .notify("P:2", "P:1"),
        ["correct"],
        2,
        2,
        {"published": 2, "overtaken": 1},
    ),
    Case(
        joined("on either of two trees", promises=ON_TREES)
        .advertise(id="a2", at=91)
        .unadvertise(at=111)
        .publish("P:1", 110)
        .publish("P:2", 110.01)
        .notify("P:2", "P:1"),
        ["correct"],
        2,
        2,
        {"published": 2, "overtaken": 1},
    ),
    Case(
        across("swapped during a fault", promises=ON_TREES)
        .fault(105)
        .publish("P:1", 110)
        .publish("P:2", 110.01)
        .notify("P:2", "P:1"),
        ["correct"],
        2,
        2,
        {"published": 2, "overtaken": 1},
    ),
    Case(
        joined("for two clients", promises=ON_TREES)
        .subscribe("T")
        .publish("P:1", 110)
        .publish("P:2", 110.01)
        .notify("P:2", at=110.1)
        .notify("P:1", "P:2", client="T", at=110.1)
        .notify("P:1", at=110.2),
        ["reordered"],
        4,
        4,
        {"published": 2, "reordered": 1, "overtaken": 1},
    ),
    Case(
        joined("late and twice", promises=ON_TREES)
        .publish("P:1", 110)
        .publish("P:2", 110.01)
        .notify("P:1", "P:2", "P:1"),
        ["duplicated"],
        2,
        3,
        {"published": 2, "duplicate": 1},
    ),
]
