"""The delivery oracle against histories with a known verdict: one variant each, all judged in one analysis."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.run import analyze
from analysis.summary import Delivery, Summary
from broker_service.trace import Event
from tests.analysis.history import ADVERTISED, EXPENSIVE, STOCK, History, joined, predicate, write_run

CHEAP = [STOCK, predicate("price", "<", 10)]
A_STOCK = {"class": "STOCK"}


def sent(at: float) -> tuple[str, Event, float]:
    """Something that a broker did with P:1."""
    return "B1", Event.SENT, at


@dataclass(frozen=True)
class Case:
    history: History
    verdicts: list[str]
    expected: int
    delivered: int
    numbers: dict[str, object] = field(default_factory=dict)
    """Further fields of `Delivery`; counts not named are 0."""


CASES = [
    Case(joined("delivered").publish().notify(), ["correct"], 1, 1, {"published": 1}),
    Case(joined("does not match").publish(price=50), ["correct"], 0, 0),
    # What a broker may do wrong
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
    # What is right
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
        ["correct"],
        0,
        0,
        {"unconfirmed": 1},
    ),
    Case(History("subscription rejected").advertise().subscribe(answer=Event.REJECTED).publish(), ["correct"], 0, 0),
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
    Case(joined("cut short", interrupted=True).publish(at=165), ["correct"], 0, 0),
    Case(joined("cut short, long before", interrupted=True).publish(at=150), ["lost"], 1, 0, {"lost": 1}),
    Case(joined("near the end").publish(at=165), ["lost"], 1, 0, {"lost": 1}),
    Case(
        joined("overtaken").publish("P:1", 110).publish("P:2", 110.01).notify("P:2", "P:1"),
        ["correct"],
        2,
        2,
        {"published": 2, "overtaken": 1},
    ),
    Case(joined("nothing published"), ["unjudged"], 0, 0, {"published": 0}),
    # What breaks
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
    Case(joined("under way when it broke").publish(at=109).fault(110), ["correct"], 0, 0),
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
            ("clock_jump", "B2"),
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
    # What is slow
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
    # Order
    Case(
        joined("swapped", keeps_order=True).publish("P:1", 110).publish("P:2", 110.01).notify("P:2", "P:1"),
        ["reordered"],
        2,
        2,
        {"published": 2, "reordered": 1, "overtaken": 1},
    ),
    Case(
        joined("in order", keeps_order=True).publish("P:1", 110).publish("P:2", 110.01).notify("P:1", "P:2"),
        ["correct"],
        2,
        2,
        {"published": 2},
    ),
    Case(
        joined("at the same moment", keeps_order=True).publish("P:1").publish("P:2").notify("P:1").notify("P:2"),
        ["correct"],
        2,
        2,
        {"published": 2},
    ),
    Case(
        joined("swapped at the same moment", keeps_order=True)
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
        joined("on two trees", keeps_order=True)
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
        joined("on either of two trees", keeps_order=True)
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
        joined("swapped during a fault", keeps_order=True)
        .fault(105)
        .publish("P:1", 110)
        .publish("P:2", 110.01)
        .notify("P:2", "P:1"),
        ["correct"],
        0,
        2,
        {"published": 2, "overtaken": 1, "optional": 2},
    ),
    Case(
        joined("for two clients", keeps_order=True)
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
        joined("late and twice", keeps_order=True)
        .publish("P:1", 110)
        .publish("P:2", 110.01)
        .notify("P:1", "P:2", "P:1"),
        ["duplicated"],
        2,
        3,
        {"published": 2, "duplicate": 1},
    ),
]
BY_NAME = {case.history.variant: case for case in CASES}
COUNTS = ("lost", "duplicate", "spurious", "optional", "rejected", "reordered", "overtaken", "unconfirmed")


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    directory = write_run(tmp_path_factory.mktemp("histories") / "run", [case.history for case in CASES])
    return analyze(directory, PlainEngine())


def delivery(judged: Summary, name: str) -> Delivery:
    return next(variant.delivery for variant in judged.variants if variant.name == name)


@pytest.mark.parametrize("name", BY_NAME)
def test_a_history_is_judged_as_it_should_be(judged: Summary, name: str) -> None:
    case, found = BY_NAME[name], delivery(judged, name)
    wanted = dict.fromkeys(COUNTS, 0) | {"verdicts": case.verdicts, "expected": case.expected}
    wanted |= {"delivered": case.delivered, **case.numbers}
    assert {key: getattr(found, key) for key in wanted} == wanted
    assert found.delivered == found.expected - found.lost + found.optional + found.duplicate + found.spurious


def test_what_may_come_and_does_not_is_counted(judged: Summary) -> None:
    for name in ("during a fault", "never confirmed", "cut short", "unsubscribing, not delivered"):
        assert (delivery(judged, name).excused, delivery(judged, name).optional) == (1, 0), name
    for name in ("during a fault, delivered", "does not match", "delivered", "dropped"):
        assert delivery(judged, name).excused == 0, name


def test_the_run_is_the_sum_of_its_variants(judged: Summary) -> None:
    assert judged.delivery == ["lost", "duplicated", "spurious", "reordered"]
    assert not judged.correct
    assert [variant.name for variant in judged.variants] == list(BY_NAME)


def test_each_defect_has_an_example(judged: Summary) -> None:
    found = {example.defect: example for example in delivery(judged, "all at once").examples}
    assert set(found) == {"lost", "duplicated", "spurious"}
    assert (found["lost"].publication, found["lost"].client, found["lost"].publisher) == ("P:1", "S", "P")
    assert found["lost"].published_ns == 110_000_000_000
    assert found["lost"].detail == "no broker received the publication"
    assert found["duplicated"].detail == "notified 2 times"
    assert found["spurious"].detail == "no subscription matches"
    assert "refused" in delivery(judged, "rejected without a reason").examples[0].detail
    overtaken = delivery(judged, "overtaken").examples
    assert [(example.defect, example.publication) for example in overtaken] == [("overtaken", "P:1")]


def test_ten_examples_of_a_defect_are_enough(tmp_path: Path) -> None:
    history = joined("base")
    for number in range(25):
        history.publish(f"P:{number:02}", 105 + number)
    summary = analyze(write_run(tmp_path / "run", [history], fidelity=None), PlainEngine())
    assert summary.variants[0].delivery.lost == 25
    assert [e.publication for e in summary.variants[0].delivery.examples] == [f"P:{number:02}" for number in range(10)]
    assert summary.fidelity == summary.variants[0].fidelity == "UNKNOWN"
