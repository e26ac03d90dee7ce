"""The words for a comparison of delays agree with its numbers, and claim no more than interval and logs show."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from analysis.compare.sentences.delays import delay_comparison
from analysis.tables.comparison import Comparison, RelievedLink
from record.fidelity import FidelityVerdict
from record.figures import DifferenceVerdict

ROUTING = {"vary": {"routing.publications": ["fixed", "dynamic"]}}
DEGREES = {"vary": {"routing.publications": ["fixed", "dynamic"], "topology.degree": [2, 4]}}
FASTER = Comparison(
    reference="fixed",
    variant="dynamic",
    pairs=4500,
    reference_mean_ms=30.94,
    variant_mean_ms=21.3,
    relative_difference=-0.31,
    interval=(-0.37, -0.24),
)
RELIEVED = RelievedLink(source="B3", target="B7", reference_publications=1634, variant_publications=812)


def finding(scenario: dict[str, Any] = ROUTING, **changes: Any) -> str:
    return delay_comparison(msgspec.structs.replace(FASTER, **changes), scenario).finding


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "Dynamic routing was 31% faster than fixed routing (95% interval 24% to 37%)."),
        (
            {"queueing_share": 0.9, "relieved": RELIEVED},
            "Dynamic routing was 31% faster than fixed routing (95% interval 24% to 37%), because publications went "
            "round the busy link B3 → B7.",
        ),
        (
            {"queueing_share": 0.9},
            "Dynamic routing was 31% faster than fixed routing (95% interval 24% to 37%), because messages waited less "
            "in output queues.",
        ),
        (
            {"queueing_share": 0.4},
            "Dynamic routing was 31% faster than fixed routing (95% interval 24% to 37%).",
        ),
        (
            {"relative_difference": 0.31, "interval": (0.24, 0.37), "queueing_share": 0.9, "relieved": RELIEVED},
            "Dynamic routing was 31% slower than fixed routing (95% interval 24% to 37%), because messages waited "
            "longer in output queues.",
        ),
        (
            {"relative_difference": 0.04, "interval": (-0.01, 0.09), "queueing_share": 0.9, "relieved": RELIEVED},
            "No difference beyond chance between dynamic routing and fixed routing: dynamic routing was 4.0% slower "
            "than fixed routing, with a 95% interval from 1.0% faster to 9.0% slower; a run about 2 times as long "
            "would tell a difference of this size from chance.",
        ),
        (
            {"candidates": 3},
            "Of the 3 other variants, dynamic routing was the fastest: 31% faster than fixed routing (95% interval "
            "24% to 37%).",
        ),
        (
            {"interval": None},
            "Nothing was shown about the delays of dynamic routing and fixed routing: chance can only be ruled out "
            "over at least 25 s in which both deliver (field timeline.run).",
        ),
        (
            {"relative_difference": -0.002, "interval": (-0.05, 0.046)},
            "No difference beyond chance between dynamic routing and fixed routing: dynamic routing was 0.2% faster "
            "than fixed routing, with a 95% interval from 5.0% faster to 4.6% slower.",
        ),
        (
            {"relative_difference": -0.0004, "interval": (-0.01, 0.01)},
            "Dynamic routing was as fast as fixed routing, to within 0.1%.",
        ),
        (
            {"relative_difference": 0.0, "interval": (0.0, 0.0)},
            "Dynamic routing and fixed routing delivered 4,500 notifications with the same delays.",
        ),
        (
            {"relative_difference": None, "interval": None},
            "Dynamic routing and fixed routing delivered no notification in common, so their delays cannot be "
            "compared.",
        ),
    ],
)  # fmt: skip
def test_a_finding_claims_what_the_interval_and_the_logs_show(changes: dict[str, Any], expected: str) -> None:
    assert finding(**changes) == expected


def test_variants_that_differ_in_more_than_routing_are_named_as_they_are() -> None:
    assert finding(DEGREES, variant="dynamic+4", reference="fixed+2").startswith(
        "Variant dynamic+4 was 31% faster than variant fixed+2"
    )
    assert finding({}).startswith("Variant dynamic was")


def test_names_are_written_as_people_write_them() -> None:
    protocols = {"vary": {"routing": {"protocol-rendezvous": {}, "protocol-tid": {}}}}
    assert finding(protocols, variant="protocol-rendezvous", reference="protocol-tid").startswith(
        "Rendezvous routing was 31% faster than TID routing"
    )
    composites = {"vary": {"routing.composites": ["simple", "dcsr"]}}
    assert finding(composites, variant="dcsr", reference="simple").startswith("DCSR routing was 31% faster than simple")
    assert finding(DEGREES, variant="dcsr+2", reference="simple+4").startswith("Variant DCSR+2 was")


def test_the_numbers_behind_a_finding() -> None:
    def numbers(**changes: Any) -> str:
        return delay_comparison(msgspec.structs.replace(FASTER, **changes), ROUTING).numbers

    means = "Mean delay 21.3 ms instead of 30.9 ms, over 4,500 notifications that both delivered."
    assert numbers() == means
    assert numbers(relieved=RELIEVED) == f"{means} B3 → B7 carried 812 publications instead of 1,634."
    assert numbers(relieved=RELIEVED, interval=(-0.37, 0.1)) == means
    assert numbers(relative_difference=None) == ""


def held(without: float | None, verdict: FidelityVerdict | None) -> DifferenceVerdict:
    return DifferenceVerdict(without_contention=without, unexplained=0.02, verdict=verdict)


def test_a_difference_that_contention_can_explain_is_not_shown_as_found() -> None:
    assert finding(verdict=held(-0.05, FidelityVerdict.INVALID), queueing_share=0.9, relieved=RELIEVED) == (
        "No difference beyond contention between dynamic routing and fixed routing: 31% faster as "
        "measured, and 5.0% faster without contention."
    )


@pytest.mark.parametrize(
    ("verdict", "told"),
    [
        (held(-0.3, FidelityVerdict.VALID), ""),
        (
            held(-0.25, FidelityVerdict.DEGRADED),
            " The difference is 31% faster as measured, and 25% faster without contention.",
        ),
        (held(None, None), " The difference is 31% faster; it is not known what contention did to it."),
    ],
)
def test_a_difference_that_holds_in_part_has_the_other_one_beside_it(verdict: DifferenceVerdict, told: str) -> None:
    found = delay_comparison(msgspec.structs.replace(FASTER, verdict=verdict), ROUTING)
    assert found.finding == finding()
    assert found.numbers == delay_comparison(FASTER, ROUTING).numbers + told
