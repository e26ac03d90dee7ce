from __future__ import annotations

from broker_service.language.notation import parse_composite
from broker_service.routing.tid.placement.decision.choice import Choice, divergence, least_cost
from broker_service.routing.tid.placement.decision.explanation import explain
from broker_service.routing.tid.placement.rates.cardinality import PartMatches
from tests.broker_service.routing.tid.placement.situations import equal_times

PATTERN = parse_composite("{[a,isPresent,0]}&{{[b,isPresent,0]}||{[c,isPresent,0]}}")


def sources(*by_part: tuple[str, float]) -> list[PartMatches]:
    return [PartMatches(rate, {next_hop: rate}) for next_hop, rate in by_part]


def test_candidates_are_compared_broker_by_broker() -> None:
    decision = Choice(least_cost).decide(PATTERN, sources(("B1", 100), ("B2", 2), ("B2", 3)), equal_times(0.001, "B5"))
    assert explain(decision, "B0").splitlines() == [
        "(1 & (2 || 3)) -> B1: least total routing cost, 5 matches a second",
        "    join at B0 costs 0.53 = 0.215 at B0 + 0.3 at B1 + 0.015 at B2",
        "  * join at B1 costs 0.262 = 0.03 at B0 + 0.217 at B1 + 0.015 at B2",
        "    join at B2 costs 0.883 = 0.315 at B0 + 0.268 at B2 + 0.3 at B1",
        "  part 1 -> B1: next hop of its advertisements, 100 matches a second",
        "  (2 || 3) -> B2: common destination of its operands, 5 matches a second",
        "    part 2 -> B2: next hop of its advertisements, 2 matches a second",
        "    part 3 -> B2: next hop of its advertisements, 3 matches a second",
        "part 1: {[a,isPresent,0]}",
        "part 2: {[b,isPresent,0]}",
        "part 3: {[c,isPresent,0]}",
    ]


def test_a_part_without_advertisement_waits_here() -> None:
    decision = Choice(divergence).decide(
        PATTERN, [*sources(("B0", 1), ("B2", 2)), PartMatches(0, {})], equal_times(0, None)
    )
    assert explain(decision, "B0").splitlines()[:5] == [
        "(1 & (2 || 3)) -> here: first broker at which the operands' sources lie in different directions, "
        "1 matches a second",
        "  part 1 -> here: next hop of its advertisements, 1 matches a second",
        "  (2 || 3) -> B2: common destination of its operands, 2 matches a second",
        "    part 2 -> B2: next hop of its advertisements, 2 matches a second",
        "    part 3 -> waits here: no advertisement, 0 matches a second",
    ]
