"""Moves at a rate: drawn by the seed, each from where the last one led, and mistakes that name the field."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
import yaml

from emulation.planning.dilation import dilate
from emulation.planning.plan import VariantPlan, make_plan
from record.errors import BadInputError
from scenario.loading import load_text
from scenario.sections.faults import FaultItem

BASE: dict[str, Any] = {
    "name": "roaming",
    "topology": {"kind": "star", "brokers": 5, "link": {"delay": "1ms"}},
    "routing": {"protocol": "tid"},
    "workload": {
        "publications": {"source": "stocks", "publishers": 1, "rate": "1/s", "placement": ["B1"]},
        "subscriptions": {"subscribers": 6, "selectivity": "10%", "placement": ["B2", "B3"]},
    },
    "timeline": {"join": "2s", "run": "200s"},
    "seed": 1,
}
SITES = {
    "berlin": {"broker": "B2", "clients": ["S1", "S2"]},
    "oslo": {"broker": "B3", "clients": "S3"},
    "empty": {"broker": "B3", "clients": []},
}


def plans(roaming: dict[str, Any], **changed: Any) -> tuple[VariantPlan, ...]:
    text = yaml.safe_dump({**BASE, "clients": {"sites": SITES, "roaming": roaming}, **changed})
    return make_plan(load_text(text, "roaming.yaml")).variants


def moves(roaming: dict[str, Any], **changed: Any) -> tuple[FaultItem, ...]:
    (variant,) = plans(roaming, **changed)
    return variant.roaming


def of_sites(found: tuple[FaultItem, ...]) -> dict[str, list[FaultItem]]:
    courses: defaultdict[str, list[FaultItem]] = defaultdict(list)
    for move in found:
        courses[(move.move or ("",))[0]].append(move)
    return courses


def begins(course: list[FaultItem]) -> Iterator[float]:
    return (move.at.seconds for move in course if move.at is not None)


def test_sites_with_clients_move_at_the_rate_and_wait_while_they_are_away() -> None:
    courses = of_sites(moves({"rate": "1/s", "away": "500ms..1500ms", "stays": "1s"}))
    assert courses.keys() == {"berlin", "oslo"}
    for course in courses.values():
        gaps = [later - move - 1 for move, later in pairwise(begins(course))]
        waits = [gap - (move.away or 0.0) for gap, move in zip(gaps, course, strict=False)]
        assert min(waits) >= -1e-9
        assert statistics.mean(waits) == pytest.approx(1.0, rel=0.35)  # 60 moves: the mean's deviation is 0.13
        assert all(0.5 <= (move.away or 0.0) <= 1.5 for move in course)
        assert len({move.away for move in course}) > len(course) / 2


def test_a_site_goes_on_from_where_it_has_come() -> None:
    (course,) = of_sites(moves({"rate": "1/s", "sites": "berlin", "to": "neighbours"})).values()
    at = "B2"
    for move in course:  # of a star: to the hub and back to any ray
        assert (move.to == "B1") == (at != "B1")
        at = move.to or ""
    assert {move.to for move in course} == {"B1", "B2", "B3", "B4", "B5"}


def test_brokers_are_named_or_play_a_role() -> None:
    course = of_sites(moves({"rate": "1/s", "sites": "oslo", "to": ["hub", "B5", "random(1)"]}))["oslo"]
    assert {"B1", "B5"} < {move.to for move in course}
    assert len({move.to for move in course}) == 3


def test_another_rate_is_the_same_course_earlier_and_another_site_no_other_course() -> None:
    slow, fast = plans({"rate": "1/s"}, vary={"clients.roaming.rate": ["30/min", "1/s"]})
    for name, course in of_sites(slow.roaming).items():
        faster = of_sites(fast.roaming)[name]
        assert [move.to for move in course] == [move.to for move in faster][: len(course)]
        assert list(begins(course)) == pytest.approx([2 * at for at in begins(faster)][: len(course)], abs=0.2)
    alone = moves({"rate": "1/s", "sites": "oslo"})
    assert of_sites(alone)["oslo"] == of_sites(fast.roaming)["oslo"]
    assert alone != moves({"rate": "1/s", "sites": "oslo"}, seed=2)


def test_drawn_moves_are_faults_of_the_plan_and_dilated_with_it() -> None:
    (plan,) = plans({"rate": "1/s", "handover": "make before break", "overlap": "2s"}, time_dilation=3)
    names = {entry.name for entry in plan.schedule().entries}
    assert names == {"clients.roaming"}
    starts = [entry.start for entry in plan.schedule().entries]
    assert starts == sorted(starts)
    assert [entry.start for entry in dilate(plan).schedule().entries] == [3 * start for start in starts]
    assert {move.overlap for move in dilate(plan).roaming} == {6.0}
    assert {link.a for link in plan.later_access} == {"berlin", "oslo"}


@pytest.mark.parametrize(
    ("roaming", "field", "sentence"),
    [
        ({}, "rate", "required"),
        ({"rate": "0/s"}, "rate", "sites that never move do not roam"),
        ({"rate": "2"}, "rate", "write a rate of moves with one of"),
        ({"rate": "1000000/s"}, "rate", "more than 10,000 moves of 2 sites in 200 s"),
        ({"rate": "1/s", "sites": "paris"}, "sites", "no site, and no client on a site, is 'paris'"),
        ({"rate": "1/s", "sites": "S1"}, "sites", "S1 shares berlin with other clients"),
        ({"rate": "1/s", "to": "B9"}, "to", "no broker 'B9'"),
        ({"rate": "1/s", "sites": "oslo", "to": "B3"}, "to", "oslo is at B3, and no site has another broker"),
        ({"rate": "1/s", "away": "2s..1s"}, "away", "2s..1s"),
        ({"rate": "1/s", "overlap": "1s"}, "", "`overlap` belongs to `handover: make before break`"),
        ({"rate": "1/s", "handover": "make before break", "away": "1s"}, "", "`away` does not belong"),
        ({"rate": "1/s", "handover": "slow"}, "handover", "make before break"),
    ],
)
def test_mistakes_name_the_field(roaming: dict[str, Any], field: str, sentence: str) -> None:
    with pytest.raises(BadInputError) as caught:
        moves(roaming)
    assert f"clients.roaming{field and '.'}{field}: " in str(caught.value)
    assert sentence in str(caught.value)
