"""A search: what holds and why not, variants side by side, and a planted defect that costs capacity and no delivery."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.limits import LimitOutcome, LimitVerdict
from broker_service.routing.cbf.router import CbfRouter
from record.errors import UserError
from record.limits import LimitedFigure
from scenario.loading import load_text
from scenario.sections.search import HoldsWhile
from studies.saturation.bisection import LoadOutcome
from studies.saturation.capacity import LINKS_ONLY, Capacity, SaturationSummary
from studies.saturation.cell import SaturationCell, SaturationResult
from studies.saturation.page import render
from studies.saturation.queues import QueueCourse
from studies.saturation.search import SaturationSearch
from studies.saturation.sentences import capacity_table, carries, conditions_in_words, findings, title
from tests.studies.campaign.made_up import cell as campaign_cell
from tests.studies.campaign.made_up import result as campaign_result

SCENARIO = """\
name: grid
topology: {kind: line, brokers: 4, link: {delay: 2ms, send_time: 20ms}}
routing: {protocol: tid}
workload:
  publications: {source: stocks, publishers: 4, placement: [B1], rate: 1/s}
  subscriptions: {subscribers: 4, placement: [B2, B4], selectivity: 10%}
timeline: {join: 1s, run: 2s, drain: 1s}
search:
  raise: workload.publications.rate
  from: 10/s
  to: 200/s
  while: {p95: 500ms, delivery: correct}
  seeds: 1
  within: 25%
"""
VARIED = SCENARIO + "vary: {routing.publications: [fixed, dynamic]}\n"


def search(directory: Path, text: str = VARIED, **overrides: str) -> SaturationSearch:
    file = directory / "grid.yaml"
    file.write_text(text)
    return SaturationSearch(file, {f"search.{key}": value for key, value in overrides.items()})


def simulating(directory: Path) -> Callable[[Sequence[SaturationCell]], list[SaturationResult]]:
    """Runs cells in this process."""

    def run_cells(cells: Sequence[SaturationCell]) -> list[SaturationResult]:
        results = []
        for cell in cells:
            outcome = cell.simulate(cell.plan(), directory)
            results.append(cell.read(outcome, analyze(outcome.directory, PlainEngine()), "simulated"))
        return results

    return run_cells


def made_up(cell: SaturationCell, **changes: object) -> SaturationResult:
    figures = campaign_result(campaign_cell(), faults=[]).variants[0]
    calm = QueueCourse(middle=1.0, last=1.0)
    made = SaturationResult(
        fingerprint=cell.fingerprint, runtime="simulated", delivery=["correct"], fidelity="VALID",
        variant=cell.variant, load=cell.load, seed=cell.seed, figures=figures, queues=calm, messages=300,
        undrained=False,
    )  # fmt: skip
    return replace(made, **changes)


def pretending(
    result_of: Callable[[SaturationCell], SaturationResult],
) -> Callable[[Sequence[SaturationCell]], list[SaturationResult]]:
    return lambda cells: [result_of(cell) for cell in cells]


def up_to(most: dict[str, float]) -> Callable[[SaturationCell], SaturationResult]:
    return lambda cell: made_up(cell, undrained=cell.load > most[cell.variant])


def test_a_defect_of_a_router_costs_capacity_and_no_delivery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted one: content-based forwarding passes on what nobody wants, which the brokers behind drop."""
    forwarding = SCENARIO.replace("protocol: tid", "protocol: cbf")
    (honest,) = search(tmp_path, forwarding).run(simulating(tmp_path))
    forward = CbfRouter._forward

    def to_all(self, message, found, source):
        return forward(self, message, found._replace(neighbours=tuple(self._sums)), source)

    monkeypatch.setattr(CbfRouter, "_forward", to_all)
    (wasteful,) = search(tmp_path, forwarding).run(simulating(tmp_path))
    assert honest.highest is not None
    assert wasteful.highest is not None
    assert wasteful.end is not None
    assert 1.5 * wasteful.highest < honest.highest
    assert wasteful.end.reason


def test_the_point_at_which_a_variant_gives_in_is_found_for_each(tmp_path: Path) -> None:
    found = search(tmp_path).run(pretending(up_to({"fixed": 50.0, "dynamic": 100.0})))
    assert [capacity.variant for capacity in found] == ["fixed", "dynamic"]
    for capacity, most in zip(found, (50.0, 100.0), strict=True):
        assert capacity.highest is not None
        assert capacity.highest <= most < (capacity.least_failing or 0.0) <= capacity.highest * 1.26
        assert capacity.highest_of(0) == capacity.highest
        assert capacity.end is not None
        assert capacity.end.reason == "the drain phase was too short for what was on its way"


@pytest.mark.parametrize(
    ("changes", "outcome", "reason"),
    [
        ({}, LoadOutcome.HOLDS, None),
        ({"undrained": True}, LoadOutcome.FAILS, "the drain phase was too short for what was on its way"),
        (
            {"queues": QueueCourse(middle=40.0, last=90.0)},
            LoadOutcome.FAILS,
            "queues grow: 40 messages waited in the middle, 90 later",
        ),
        ({"fidelity": "INVALID"}, LoadOutcome.NOT_JUDGED, None),
        ({"fidelity": "INVALID", "undrained": True}, LoadOutcome.FAILS, "the drain phase was too short"),
    ],
)
def test_a_run_holds_or_says_why_not(
    tmp_path: Path, changes: dict[str, object], outcome: LoadOutcome, reason: str | None
) -> None:
    seen = []

    def result_of(cell: SaturationCell) -> SaturationResult:
        seen.append(made_up(cell, **changes))
        return seen[-1]

    search(tmp_path).run(pretending(result_of))
    assert seen[0].load_outcome is outcome
    assert (not seen[0].reasons) == (reason is None)
    assert reason is None or reason in seen[0].reasons[0]


@pytest.mark.parametrize(
    ("delivery", "fidelity", "limit", "outcome"),
    [
        (["lost"], "VALID", None, LoadOutcome.FAILS),
        (["unjudged"], "VALID", None, LoadOutcome.FAILS),
        (["unjudged"], "INVALID", None, LoadOutcome.NOT_JUDGED),
        (["lost"], "INVALID", None, LoadOutcome.FAILS),
        (["correct"], "VALID", LimitOutcome.MET, LoadOutcome.HOLDS),
        (["correct"], "VALID", LimitOutcome.MISSED, LoadOutcome.FAILS),
        (["correct"], "DEGRADED", LimitOutcome.NOT_JUDGED, LoadOutcome.NOT_JUDGED),
    ],
)
def test_a_finding_is_the_protocols_and_what_cannot_be_judged_the_hosts(
    tmp_path: Path, delivery: list[str], fidelity: str, limit: LimitOutcome | None, outcome: LoadOutcome
) -> None:
    def result_of(cell: SaturationCell) -> SaturationResult:
        made = made_up(cell, fidelity=fidelity)
        verdict = LimitVerdict(figure=LimitedFigure.P95, most=1.0, found=2.0, outcome=limit or LimitOutcome.MET)
        figures = replace(made.figures, delivery=delivery, limits=[verdict] if limit else [])
        assert replace(made, figures=figures).load_outcome is outcome
        return made

    search(tmp_path).run(pretending(result_of))


@pytest.mark.parametrize(("share", "highest"), [("60%", 100.0), ("100%", 50.0)])
def test_a_load_holds_in_the_stated_share_of_the_seeds(tmp_path: Path, share: str, highest: float) -> None:
    """The third seed gives in at half the load of the others."""

    def result_of(cell: SaturationCell) -> SaturationResult:
        return made_up(cell, undrained=cell.load > (50.0 if cell.seed == 2 else 100.0))

    found, _ = search(tmp_path, seeds="3", share=share, within="2%").run(pretending(result_of))
    assert found.highest == pytest.approx(highest, rel=0.03)
    assert found.highest_of(2) == pytest.approx(50.0, rel=0.03) or share == "60%"


def summary_of(capacities: list[Capacity], limited_to: str = LINKS_ONLY) -> SaturationSummary:
    return SaturationSummary(
        name="grid", description="", raised="rate", unit="/s", conditions="all is well", seeds=[0], share=1.0,
        runtime="simulated", limited_to=limited_to, capacities=capacities,
    )  # fmt: skip


def test_variants_are_set_side_by_side(tmp_path: Path) -> None:
    summary = summary_of(search(tmp_path, within="1%").run(pretending(up_to({"fixed": 50.0, "dynamic": 85.0}))))
    (sentence,) = findings(summary)
    assert sentence.startswith("dynamic carries 1.7 times what fixed does (")
    assert title(summary) == "grid: the highest rate that holds (links and messages only)"
    page = render(summary)
    assert "Dynamic carries 1.7 times what fixed does" in page
    assert "the drain phase was too short" in page
    assert capacity_table(summary).row_count == 2


def test_conditions_and_the_ends_are_told_in_units(tmp_path: Path) -> None:
    while_ = HoldsWhile.model_validate({"p95": "200ms", "mean": "1.5s", "judged": "95%"})
    assert conditions_in_words(while_, 0.6, 3) == (
        "deliveries are correct, 95% of the owed notifications is judged, mean is at most 1,500 ms, "
        "p95 is at most 200 ms, queues do not grow and are empty at the end, in 60% of 3 seeds"
    )
    none, all_ = search(tmp_path).run(pretending(up_to({"fixed": 5.0, "dynamic": 500.0})))
    assert (carries(none, "/s"), carries(all_, "/s")) == ("less than 10/s", "200/s at least")


def test_equal_variants_are_not_ranked(tmp_path: Path) -> None:
    found = search(tmp_path).run(pretending(up_to({"fixed": 50.0, "dynamic": 50.0})))
    (sentence,) = findings(summary_of(found))
    assert "carry the same, as far as the loads tried tell" in sentence


def test_a_search_that_ends_unjudged_says_so_and_its_result_is_a_bound(tmp_path: Path) -> None:
    found = search(tmp_path).run(
        pretending(
            lambda cell: made_up(
                cell,
                fidelity="INVALID" if cell.load > 90 else "VALID",
                undrained=cell.variant == "fixed" and cell.load > 30,
            )
        )
    )
    sentences = list(findings(summary_of(found, "")))
    assert sentences[0].startswith("dynamic carries at least ")
    assert any("which was not judged; on real brokers that is this host's part" in sentence for sentence in sentences)


def test_a_curve_that_is_not_monotone_is_named(tmp_path: Path) -> None:
    found = search(tmp_path, SCENARIO, within="3%").run(
        pretending(lambda cell: made_up(cell, undrained=40 < cell.load < 45 or cell.load > 150))
    )
    assert [round(load) for load in found[0].holding_beyond] == [50, 64]
    assert any(": the curve is not monotone: " in sentence for sentence in findings(summary_of(found)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("search:", "description: |\n  none\nsearching:"), "unknown field 'searching'"),
        (("to: 200/s", "to: 200/min"), "write both in the same unit"),
        (("to: 200/s", "to: 9/s"), "`from` must be more than 0 and less than `to`"),
        (("from: 10/s", "from: some"), "expected a load such as 5/s or 100, got 'some'"),
        (("publications.rate", "routing"), "search: workload.routing: 10/s"),
        (("seeds: 1", "share: 0%"), "search.share: must be greater than 0"),
        (("raise: workload.publications.rate", "raise: routing.publications"), "varies as well; leave one of both"),
    ],
)
def test_what_cannot_be_searched_is_refused(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    with pytest.raises(UserError) as refused:
        search(tmp_path, VARIED.replace(*change))
    assert message in str(refused.value)


def test_a_scenario_without_a_search_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no `search`"):
        search(tmp_path, SCENARIO.partition("search:")[0])


def test_a_scenario_with_a_search_is_itself_when_it_is_written_and_read_again() -> None:
    scenario = load_text(SCENARIO, "grid")
    assert scenario.search is not None
    assert scenario.resolved()["search"]["while"] == {"delivery": "correct", "p95": "0.5s"}
    assert type(scenario).model_validate(scenario.resolved()).search == scenario.search
