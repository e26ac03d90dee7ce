"""Cases in the simulator: what the steps mean, and what a result tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, cast

import pytest

from broker_service.core.actions import ActionExecutor
from broker_service.messages import Message
from broker_service.routing.interface import Actions, Send
from broker_service.routing.registry import PROTOCOLS as ROUTERS
from broker_service.routing.tid import TidOptions
from studies.conformance import (
    PROTOCOLS,
    CaseVerdict,
    ConformanceProtocol,
    Difference,
    Result,
    SimulatedCaseRunner,
    run_case,
)
from studies.conformance.result import differences
from studies.conformance.running import brokers_between
from tests.broker_service.defective import DEFECTIVE, registered
from tests.studies.conformance.cases import ADVERTISE, DEAR, SUBSCRIBE, case, publish, step
from topology.link_properties import Link
from topology.model import Broker as OverlayBroker
from topology.model import Overlay

UNSUBSCRIBE = step("unsubscribe", "S", "B3", "s1")
UNADVERTISE = step("unadvertise", "P", "B1", "a1")


def run(*steps: dict[str, Any], protocol: str = "tid-fixed", **fields: Any) -> Result:
    return run_case(case(*steps, **fields), PROTOCOLS[protocol], SimulatedCaseRunner())


def got(*steps: dict[str, Any], client: str = "S", **fields: Any) -> tuple[Any, ...]:
    """Notifications of a client, learnt from a case that expects nothing."""
    return next((difference.got for difference in run(*steps, **fields).differences if difference.client == client), ())


class ScotsOnly(TidOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    attributes: ClassVar = ("region", "cluster")


def test_a_case_is_skipped_by_a_protocol_that_its_overlay_does_not_suit(monkeypatch: pytest.MonkeyPatch) -> None:
    scots_only = replace(ROUTERS["tid"], options=ScotsOnly)
    monkeypatch.setitem(cast(dict[str, Any], ROUTERS), "structured", scots_only)
    protocol = ConformanceProtocol("structured", "structured")
    assert run_case(case(ADVERTISE), protocol, SimulatedCaseRunner()).verdict is CaseVerdict.PASSED
    ring = {"brokers": [f"B{number}" for number in range(5)], "links": [[f"B{n}", f"B{(n + 1) % 5}"] for n in range(5)]}
    result = run_case(case(ADVERTISE, **ring), protocol, SimulatedCaseRunner())
    assert result.verdict is CaseVerdict.SKIPPED
    assert result.note == "structured needs an overlay whose brokers have cluster, region"


def test_a_case_is_skipped_where_a_fault_that_must_cost_nothing_may_cost_publications() -> None:
    steps = (ADVERTISE, SUBSCRIBE, publish("p1"))
    needs = {"expect": {"S": ["p1"]}, "survives": ["link_down"]}
    assert run(*steps, protocol="tid-fixed", **needs).verdict is CaseVerdict.PASSED
    result = run(*steps, protocol="semi-probabilistic", **needs)
    assert result.verdict is CaseVerdict.SKIPPED
    assert result.note == "semi-probabilistic may lose publications by link_down"


def test_links_come_and_go_for_protocols_whose_neighbours_may_change() -> None:
    new, gone = ({"op": op, "link": ["B1", "B3"]} for op in ("link_new", "link_gone"))
    steps = (ADVERTISE, SUBSCRIBE, publish("p1"), new, publish("p2"), gone, publish("p3"))
    options = {"protocols": ["semi-probabilistic"], "options": {"horizon": 1, "threshold": 0}}
    assert run(*steps, protocol="semi-probabilistic", expect={"S": ["p2"]}, **options).verdict is CaseVerdict.PASSED
    result = run(*steps, protocol="tid-fixed", expect={"S": ["p1", "p2", "p3"]})
    assert result.verdict is CaseVerdict.SKIPPED
    assert result.note == "neighbours of brokers that route by tid-fixed do not change"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_case_passes_when_everybody_got_just_what_was_expected(protocol: str) -> None:
    steps = (ADVERTISE, SUBSCRIBE, publish("p1"), publish("p2", price=10))
    assert run(*steps, protocol=protocol, expect={"S": ["p1"]}).verdict is CaseVerdict.PASSED
    for wrong in ({}, {"S": []}, {"S": ["p1", "p1"]}, {"S": ["p2"]}, {"S": ["p1"], "P": ["p1"]}):
        assert run(*steps, protocol=protocol, expect=wrong).verdict is CaseVerdict.FAILED


def test_notifications_come_in_any_order_unless_the_case_says_otherwise() -> None:
    steps = (ADVERTISE, SUBSCRIBE, publish("p1"), publish("p2"))
    swapped = {"S": ["p2", "p1"]}
    assert run(*steps, expect=swapped).verdict is CaseVerdict.PASSED
    failed = run(*steps, expect=swapped, ordered=True)
    assert failed.verdict is CaseVerdict.FAILED
    assert failed.differences[0].concerns == ("p1",)
    assert run(*steps, expect={"S": ["p1", "p2"]}, ordered=True).verdict is CaseVerdict.PASSED


def test_what_is_withdrawn_counts_no_more() -> None:
    assert got(ADVERTISE, SUBSCRIBE, publish("p1"), UNSUBSCRIBE, publish("p2")) == ("p1",)
    assert got(ADVERTISE, SUBSCRIBE, publish("p1"), UNADVERTISE, publish("p2")) == ("p1",)


def test_an_operation_that_is_rejected_is_part_of_the_case() -> None:
    result = run(publish("early"), ADVERTISE, SUBSCRIBE, UNADVERTISE, step("unsubscribe", "S", "B3", "s9"))
    assert result.verdict is CaseVerdict.PASSED
    assert len(result.refused) == 2
    assert "'early' conforms to no advertisement" in result.refused[0]
    assert "no subscription 's9'" in result.refused[1]


def test_the_same_id_may_be_published_again() -> None:
    assert got(ADVERTISE, SUBSCRIBE, publish("p1"), publish("p1")) == ("p1", "p1")


def test_a_step_that_waits_does_not_let_the_overlay_settle() -> None:
    slow = {"links": [{"between": ["B1", "B2"], "delay": "5ms"}, {"between": ["B2", "B3"], "delay": "5ms"}]}
    eager = {**SUBSCRIBE, "wait": "2ms"}
    patient = {**SUBSCRIBE, "wait": "12ms"}
    assert got(ADVERTISE, eager, publish("p1"), **slow) == ()
    assert got(ADVERTISE, patient, publish("p1"), **slow) == ("p1",)
    late = step("unsubscribe", "S", "B3", "s1")
    assert got(ADVERTISE, SUBSCRIBE, publish("p1", wait="2ms"), late, **slow) == ()


def test_a_client_that_moves_leaves_everything_behind() -> None:
    home = (ADVERTISE, SUBSCRIBE)
    elsewhere = step("subscribe", "S", "B1", "s1", DEAR)
    assert got(*home, elsewhere, publish("p1")) == ("p1",)
    cheap = step("subscribe", "S", "B1", "s2", "[class,eq,'STOCK'],[price,<,50]")
    assert got(*home, cheap, publish("p1")) == ()
    assert got(*home, elsewhere, UNSUBSCRIBE, publish("p1")) == ()  # it moved back, with nothing
    assert got(*home, publish("p1", broker="B2")) == ()  # the publisher moved, and its advertisement is gone


def test_a_client_moves_away_from_a_dead_broker() -> None:
    dead = {"op": "kill", "broker": "B3"}
    back = {"op": "restart", "broker": "B3"}
    elsewhere = step("subscribe", "S", "B1", "s1", DEAR)
    assert got(ADVERTISE, SUBSCRIBE, dead, elsewhere, back, publish("p1")) == ("p1",)


def test_a_broker_that_comes_back_finds_its_neighbours_and_its_clients() -> None:
    for broker in ("B1", "B2", "B3"):
        dead, back = {"op": "kill", "broker": broker}, {"op": "restart", "broker": broker}
        assert got(ADVERTISE, SUBSCRIBE, dead, back, publish("p1")) == ("p1",)
    assert got(ADVERTISE, SUBSCRIBE, {"op": "kill", "broker": "B2"}, publish("p1")) == ()


def test_a_link_that_is_down_holds_what_it_could_not_carry() -> None:
    down, up = {"op": "link_down", "link": ["B1", "B2"]}, {"op": "link_up", "link": ["B2", "B1"]}
    assert got(ADVERTISE, SUBSCRIBE, down, publish("p1")) == ()
    assert got(ADVERTISE, SUBSCRIBE, down, publish("p1"), up) == ("p1",)


def test_a_session_that_breaks_repeats_what_is_in_doubt_and_declares_what_stands() -> None:
    here = step("subscribe", "T", "B1", "t1", DEAR)
    steps = (ADVERTISE, here, SUBSCRIBE, publish("p1", wait="50ms"), {"op": "break_session", "broker": "B1"})
    assert got(*steps, publish("p2"), client="T") == ("p1", "p2")
    assert got(*steps, publish("p2")) == ("p1", "p2")
    breaks = {"op": "break_session", "broker": "B3", "wait": "20ms"}
    early = (publish("p1", wait="10ms"), publish("p2"))
    assert got(ADVERTISE, SUBSCRIBE, breaks, *early) == (), "it is not open again yet"


def test_many_publications_of_one_step_are_routed_in_order() -> None:
    assert got(ADVERTISE, SUBSCRIBE, publish("p", count=3), publish("q")) == ("p.1", "p.2", "p.3", "q")
    steps = (ADVERTISE, SUBSCRIBE, publish("p", count=3))
    assert run(*steps, expect={"S": ["p"]}, ordered=True).verdict is CaseVerdict.PASSED
    failed = run(*steps, expect={"S": ["p.1", "p.3"]})
    assert failed.differences[0].surplus == ("p.2",)
    assert [way.publications for way in failed.on_the_way] == [("p.2",)]


def test_links_that_publications_cross_are_compared() -> None:
    one_hop, two_hops = ["B1", "B2"], ["B2", "B3"]
    for crosses, sentence in (
        ([one_hop, two_hops], None),
        ([one_hop], "1 publication crossed the link from B2 to B3, and none should"),
        ([one_hop, two_hops, ["B3", "B2"]], "no publication crossed the link from B3 to B2, and one should"),
    ):
        result = run(ADVERTISE, SUBSCRIBE, publish("p1", crosses=crosses), expect={"S": ["p1"]})
        assert result.verdict is (CaseVerdict.PASSED if sentence is None else CaseVerdict.FAILED)
        assert result.crossings == (() if sentence is None else (f"steps[2] (publish): {sentence}",))
    many = run(ADVERTISE, SUBSCRIBE, publish("p", count=5, crosses=[two_hops]), expect={"S": ["p"]})
    assert many.crossings == ("steps[2] (publish): 5 publications crossed the link from B1 to B2, and none should",)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_detection_is_the_set_of_its_publications(protocol: str) -> None:
    steps = (
        ADVERTISE,
        step("composite", "S", "B3", "c1", "{{[price,<,10]}&{[price,>,90]}}"),
        publish("p1", price=100),
        publish("p2", price=5),
        publish("p3", price=6),
    )
    for expected in ([["p1", "p2"], ["p1", "p3"]], [["p3", "p1"], ["p2", "p1"]]):
        assert run(*steps, protocol=protocol, expect={"S": expected}).verdict is CaseVerdict.PASSED
    for wrong in ([["p1", "p2"]], [["p1", "p2"], ["p2", "p3"]], ["p1", "p2", "p3"], [["p1", "p2"], ["p1", "p3"]] * 2):
        failed = run(*steps, protocol=protocol, expect={"S": wrong})
        assert failed.verdict is CaseVerdict.FAILED
    assert got(*steps, protocol=protocol) == (("p1", "p2"), ("p1", "p3"))


def test_the_window_of_a_composite_is_in_the_time_of_the_overlay() -> None:
    both = "{{[price,<,10]}&{[price,>,90]}}"
    steps = (
        ADVERTISE,
        {**step("composite", "S", "B3", "short", both), "within": "1s"},
        {**step("composite", "S", "B3", "long", both), "within": "10s"},
        step("composite", "S", "B3", "unbounded", both),
        {**publish("p1", price=100), "wait": "5s"},
        publish("p2", price=5),
    )
    assert got(*steps) == (("p1", "p2"), ("p1", "p2"))


def test_a_failure_shows_the_tables_that_the_publication_met() -> None:
    result = run(ADVERTISE, SUBSCRIBE, publish("p1"), UNSUBSCRIBE, brokers=["B1", "B2", "B3", "B4"],
                 links=[["B1", "B2"], ["B2", "B3"], ["B2", "B4"]])  # fmt: skip
    (way,) = result.on_the_way
    assert (way.publications, way.publisher, way.subscriber) == (("p1",), "B1", "B3")
    assert list(way.tables) == ["B1", "B2", "B3"]
    assert len(way.tables["B2"]["publication_routing_table"]) == 1  # type: ignore[arg-type]


def test_a_broker_that_loses_a_publication_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    perform = ActionExecutor.perform

    def lossy(self: ActionExecutor, actions: Actions) -> None:
        perform(self, [action for action in actions if not (isinstance(action, Send) and action.message.id == "p2")])

    monkeypatch.setattr(ActionExecutor, "perform", lossy)
    result = run(ADVERTISE, SUBSCRIBE, publish("p1"), publish("p2"), expect={"S": ["p1", "p2"]})
    assert [difference.missing for difference in result.differences] == [("p2",)]


def test_an_overlay_that_never_settles_fails_the_case(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ActionExecutor.receive

    def echo(self: ActionExecutor, neighbour: str, messages: Sequence[Message], arrived: int | None) -> None:
        whole(self, neighbour, messages, arrived)
        for message in messages:
            self._links[neighbour].put(message)

    monkeypatch.setattr(ActionExecutor, "receive", echo)
    delay = [{"between": ["B1", "B2"], "delay": "1s"}, {"between": ["B2", "B3"], "delay": "1s"}]
    result = run(ADVERTISE, links=delay)
    assert result.verdict is CaseVerdict.FAILED
    assert result.problem.startswith("steps[0] (advertise): the overlay does not settle")


def test_differences_are_counted_per_client() -> None:
    found = differences({"S": ["a", "b", "b"]}, {"S": ["b", "c"], "T": ["a"]}, ordered=False)
    assert found == (Difference("S", ("a", "b", "b"), ("b", "c")), Difference("T", (), ("a",)))
    assert found[0].missing == ("a", "b")
    assert found[0].surplus == ("c",)
    assert differences({"S": [("a", "b")]}, {"S": [("a", "b")]}, ordered=False) == ()


@pytest.mark.parametrize(
    ("one", "other", "between"),
    [
        ("A", "A", "A"),
        ("A", "B", "AB"),
        ("B", "A", "AB"),
        ("B", "F", "BF"),
        ("A", "E", "ABCDE"),
        ("B", "D", "BCD"),
        ("F", "E", "FBCDE"),
    ],
)
def test_brokers_between_two_are_those_on_any_way(one: str, other: str, between: str) -> None:
    links = ("AB", "BC", "CD", "DB", "DE", "BF")  # a triangle BCD with a tail at each of two corners
    overlay = Overlay("o", tuple(map(OverlayBroker, "ABCDEF")), tuple(Link(*pair) for pair in links))
    assert brokers_between(overlay, one, other) == set(between)


def test_a_defect_of_a_router_fails_the_case_with_its_stack_trace() -> None:
    protocol = ConformanceProtocol("defective", DEFECTIVE, {"fails_in": "receive"})
    with registered():
        result = run_case(case(ADVERTISE, SUBSCRIBE, publish("p1")), protocol, SimulatedCaseRunner())
    assert result.verdict is CaseVerdict.FAILED
    assert "broker defect: B" in result.problem
    assert "    a, b = (1, 2, 3)" in result.problem
    assert result.refused == result.differences == ()
