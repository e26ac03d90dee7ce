"""The detector by examples: windows, late arrivals, bounds and what they report."""

from __future__ import annotations

from itertools import permutations

import pytest

from broker_service.detection import DetectionLimits, Loss, LossReason
from broker_service.language import ContentError, Value
from broker_service.language.notation import parse_composite
from tests.broker_service.detection.naive import Published
from tests.broker_service.detection.trial import Trial

SECOND = 1_000_000_000
PAIR = parse_composite("{[class,eq,'A'],[x,=,$I$X]}&{[class,eq,'B'],[x,=,$I$X]}")
ANY_PAIR = parse_composite("{[class,eq,'A']}&{[class,eq,'B']}")


def pub(id: str, stamp: int = 0, **others: Value) -> Published:
    """A publication whose class is the first letter of its name, in upper case."""
    return Published(id, stamp, {"class": id[0].upper(), **others})


def trial(text: str, within: int = SECOND, limits: DetectionLimits | None = None) -> Trial:
    made = Trial(limits)
    made.add("c", parse_composite(text), within)
    return made


def members(made: Trial) -> list[list[str]]:
    """Identifiers of all detections."""
    return [[publication.id for publication in publications] for _, publications in made.detected]


def test_the_example_of_the_paper() -> None:
    """Li, Muthusamy, Jacobsen, Middleware 2008, section 4."""
    made = trial(
        "[class,eq,'STOCK'],[symbol,eq,'YHOO'],[open,<,22] & [class,eq,'STOCK'],[symbol,eq,'MSFT'],[open,>,31]"
    )
    yahoo = Published("y", 5, {"class": "STOCK", "symbol": "YHOO", "open": 21.5})
    dear = Published("d", 6, {"class": "STOCK", "symbol": "YHOO", "open": 22})
    microsoft = Published("m", 7, {"class": "STOCK", "symbol": "MSFT", "open": 31.5})
    made.arrive_all([microsoft, dear, yahoo])
    assert members(made) == [["y", "m"]]


@pytest.mark.parametrize(("apart", "detected"), [(SECOND, 6), (SECOND + 1, 0)])
def test_the_window_includes_its_ends_whatever_the_order_of_arrival(apart: int, detected: int) -> None:
    """The third publication lies between the first and the last; arrivals are twice the window apart."""
    published = [pub("a1", 10), pub("b1", 10 + SECOND // 2), pub("c1", 10 + apart)]
    count = 0
    for arrivals in permutations(published):
        made = trial("{[class,eq,'A']}&{[class,eq,'B']}&{[class,eq,'C']}")
        for arrival in arrivals:
            made.clock.now += 2 * SECOND
            count += len(made.arrive(arrival))
    assert count == detected


@pytest.mark.parametrize(("late", "detected"), [(SECOND + 30 * SECOND, 1), (SECOND + 30 * SECOND + 1, 0)])
def test_a_partner_finds_a_match_for_the_window_and_the_lateness(late: int, detected: int) -> None:
    made = Trial()
    made.add("c", ANY_PAIR, SECOND)
    made.arrive(pub("a1", 5))
    made.clock.now += late
    assert len(made.arrive(pub("b1", 5))) == detected


def test_numbers_of_either_type_agree_and_texts_do_not_agree_with_them() -> None:
    made = Trial()
    made.add("c", PAIR, SECOND)
    made.arrive_all([pub("a1", x=5), pub("a2", x=6), pub("b1", x=5.0), pub("b2", x="5"), pub("b3")])
    assert members(made) == [["a1", "b1"]]


def test_variables_of_one_name_and_two_types_are_different() -> None:
    made = trial("{[class,eq,'A'],[x,=,$I$X]}&{[class,eq,'B'],[x,eq,$S$X]}")
    made.arrive_all([pub("a1", x=5), pub("b1", x="red")])
    assert members(made) == [["a1", "b1"]]


def test_a_variable_that_an_operand_leaves_out_binds_nothing() -> None:
    made = trial("{[class,eq,'A'],[x,=,$I$X]}&{{[class,eq,'B'],[x,=,$I$X]}||{[class,eq,'C']}}")
    made.arrive_all([pub("a1", x=1), pub("b1", x=2), pub("c1", x=3)])
    assert members(made) == [["a1", "c1"]]


def test_tests_compare_with_the_value_of_another_publication() -> None:
    made = trial("{[class,eq,'A'],[x,=,$I$X]}&{[class,eq,'B'],[y,<,$I$X]}")
    made.arrive_all([pub("b1", y=4), pub("a1", x=5), pub("b2", y=5), pub("a2", x=6)])
    assert sorted(members(made)) == [["a1", "b1"], ["a2", "b1"], ["a2", "b2"]]


def test_one_publication_may_fill_two_leaves() -> None:
    made = trial("{[x,>,0]}&{[y,>,0]}")
    made.arrive_all([pub("p1", x=1, y=1), pub("p2", x=1)])
    assert members(made) == [["p1"], ["p1", "p2"]]


def test_equal_parts_need_not_be_filled_by_different_publications() -> None:
    made = trial("{[class,eq,'A']}&{[class,eq,'A']}")
    made.arrive_all([pub("a1", 1), pub("a2", 2)])
    assert sorted(members(made)) == [["a1"], ["a1", "a2"], ["a2"]]


def test_equal_parts_are_routed_by_one_subscription() -> None:
    made = Trial()
    parts = made.detector.add("c", parse_composite("{[class,eq,'A'],[x,=,$I$X]}&{[class,eq,'A'],[x,=,$I$Y]}"), 1)
    assert len(parts) == 1


def test_a_single_conjunction_detects_single_publications() -> None:
    made = trial("[class,eq,'A']")
    made.arrive_all([pub("a1"), pub("b1"), pub("a2")])
    assert members(made) == [["a1"], ["a2"]]


def test_supersets_count() -> None:
    made = trial("{[class,eq,'A']}&{[class,eq,'B']}||{[class,eq,'B']}")
    made.arrive_all([pub("a1", 1), pub("b1", 2)])
    assert sorted(members(made)) == [["a1", "b1"], ["b1"]]


def test_publications_of_equal_stamps_come_in_the_order_of_their_names() -> None:
    made = trial("{[class,eq,'A']}&{[class,eq,'B']}")
    made.arrive_all([pub("b1", 3), pub("a1", 3)])
    assert members(made) == [["a1", "b1"]]


def test_two_publications_of_one_name_are_told_apart_by_their_stamps() -> None:
    made = trial("{[class,eq,'A']}&{[class,eq,'B']}")
    made.arrive_all([pub("a1", 1), pub("a1", 2), pub("b1", 3), pub("a1", 1)])
    assert [[p.stamp for p in publications] for _, publications in made.detected] == [[1, 3], [2, 3]]


def test_what_is_not_detected_any_more_is_passed_over() -> None:
    made = trial("[class,eq,'A']")
    assert made.arrive(pub("a1"), {"gone": [0]}) == []
    made.remove("gone")
    assert len(made.detector) == 1


def test_content_is_decoded_for_variables_only() -> None:
    made = trial("{[class,eq,'A']}&{[class,eq,'B']}")
    assert made.detector.arrive("a1", 0, b"\xff", {"c": [0]}) == []
    made.add("c", PAIR, SECOND)
    with pytest.raises(ContentError):
        made.detector.arrive("a1", 0, b"\xff", {"c": [0]})
    assert made.detector.matches == 0


def test_the_publication_with_the_oldest_stamp_is_dropped_and_reported() -> None:
    made = trial("{[class,eq,'A']}&{[class,eq,'B']}", limits=DetectionLimits(partial_matches=3))
    made.arrive_all([pub("a1", 5), pub("a2", 3), pub("a3", 4), pub("a4", 6)])
    assert made.losses == [Loss(LossReason.MATCHES, "c", "a2", 1)]
    made.arrive(pub("b1", 2))
    assert sorted(members(made)) == [["b1", "a1"], ["b1", "a3"], ["b1", "a4"]]
    assert made.losses[1:] == [Loss(LossReason.MATCHES, "c", "b1", 1)]
    assert made.detector.matches == 3


def test_each_composite_subscription_that_loses_a_match_is_named() -> None:
    made = trial("{[class,eq,'A']}&{[class,eq,'A']}&{[class,eq,'B']}", limits=DetectionLimits(partial_matches=5))
    made.add("d", ANY_PAIR, SECOND)
    made.arrive_all([pub("a1", 1), pub("a2", 2)])
    assert made.losses == [Loss(LossReason.MATCHES, "c", "a1", 2), Loss(LossReason.MATCHES, "d", "a1", 1)]
    assert made.detector.matches == 3


def test_matches_that_need_no_partner_are_dropped_without_a_report() -> None:
    """They are kept only to know a repeat."""
    made = trial("{[class,eq,'A']}||{[class,eq,'B']}", limits=DetectionLimits(partial_matches=1))
    assert len(made.arrive_all([pub("a1", 1), pub("b1", 2), pub("a2", 3)])) == 3
    assert (made.losses, made.detector.matches) == ([], 1)


def test_the_bytes_of_contents_are_bounded_and_counted_once() -> None:
    made = trial("{[class,eq,'A']}&{[class,eq,'A']}&{[class,eq,'B']}")
    made.add("d", ANY_PAIR, SECOND)
    made.arrive(pub("a1", 1, s="x" * 1000))
    assert 1000 < made.detector.content_bytes < 1100
    small = trial("{[class,eq,'A']}&{[class,eq,'B']}", limits=DetectionLimits(partial_match_bytes=2500))
    small.arrive_all([pub(f"a{number}", number, s="x" * 1000) for number in (1, 2, 3)])
    assert small.losses == [Loss(LossReason.MATCHES, "c", "a1", 1)]
    assert small.detector.content_bytes <= 2500
    small.arrive(pub("a4", 4, s="x" * 5000))
    assert small.detector.content_bytes == 0


def test_detections_of_one_arrival_are_bounded_and_the_oldest_partners_come_first() -> None:
    made = trial("{[class,eq,'A']}&{[class,eq,'B']}", limits=DetectionLimits(detections_at_once=3))
    made.arrive_all([pub(f"a{number}", number) for number in range(5)])
    made.arrive(pub("b1", 9))
    assert members(made) == [["a0", "b1"], ["a1", "b1"], ["a2", "b1"]]
    assert made.losses == [Loss(LossReason.DETECTIONS, "c", "b1", 2)]


def test_the_work_for_one_arrival_is_bounded() -> None:
    made = trial(
        "{[class,eq,'A']}&{[class,eq,'B']}&{[class,eq,'C']}&{[class,eq,'D']}",
        limits=DetectionLimits(candidates_at_once=5_000, detections_at_once=10),
    )
    made.arrive_all([pub(f"{name}{number}", number) for name in "abc" for number in range(20)])
    assert made.losses == []
    made.arrive(pub("d1", 9))
    assert len(made.detected) == 10
    (loss,) = made.losses
    assert loss[:3] == (LossReason.CANDIDATES, "c", "d1")
    assert 4_000 < loss.lost < 5_000


def test_alternatives_without_matches_are_work_too() -> None:
    """Otherwise a pattern of many of them would multiply the bound."""
    alternatives = "||".join(f"{{[class,eq,'C'],[x,=,{number}]}}" for number in range(40))
    made = trial(
        f"{{[class,eq,'A']}}&{{[class,eq,'B']}}&{{{alternatives}}}", limits=DetectionLimits(candidates_at_once=300)
    )
    made.arrive_all([pub(f"a{number}", number) for number in range(10)])
    made.arrive(pub("b1", 9))
    assert made.losses == [Loss(LossReason.CANDIDATES, "c", "b1", 0)]


def test_a_repeat_costs_no_second_place() -> None:
    made = trial("{[class,eq,'A']}&{[class,eq,'B']}")
    made.arrive_all([pub("a1", 1)] * 3)
    assert made.detector.matches == 1


def test_many_matches_come_and_go_in_any_order() -> None:
    """Buckets move their matches together now and then; nothing may get lost meanwhile."""
    made = trial("{[class,eq,'A']}&{[class,eq,'B']}", within=100, limits=DetectionLimits(lateness=0))
    for time in range(400):
        made.clock.now = time
        made.arrive(pub(f"a{time}", time ^ 5))
        if time % 20 == 19:
            made.arrive(pub(f"b{time}", time))
    expected = {
        (f"a{first}", f"b{last}")
        for first in range(400)
        for last in range(19, 400, 20)
        if abs(first - last) <= 100 and abs((first ^ 5) - last) <= 100
    }
    assert {tuple(sorted(pair)) for pair in members(made)} == expected
    assert len(made.detected) == len(expected)
    made.clock.now += 1000
    made.detector.expire()
    assert (made.detector.matches, made.detector.content_bytes) == (0, 0)


def test_a_part_without_matches_spares_the_search() -> None:
    """Otherwise each arrival would try all pairs of the others."""
    made = trial(
        "{[class,eq,'A']}&{[class,eq,'B']}&{[class,eq,'C']}&{[class,eq,'D']}",
        limits=DetectionLimits(candidates_at_once=100),
    )
    made.arrive_all([pub(f"{name}{number}", number) for name in "abc" for number in range(20)])
    assert made.losses == []
