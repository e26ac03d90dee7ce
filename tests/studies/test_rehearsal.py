"""Rehearsals that choose a time dilation: how often, of what, and that nothing of them stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from unittest.mock import Mock

import msgspec
import pytest
from rich.console import Console

from analysis.tables.budget import DelayParts
from analysis.tables.summary import Delay, DelayBudget, VariantSummary
from emulation.host.room import Host
from emulation.planning.calibration import Calibration
from emulation.planning.dilation import with_dilation
from emulation.planning.plan import Plan, make_plan
from emulation.run import RunOutcome
from emulation.run.interrupt import Interrupted
from emulation.run.progress import Snapshot, display
from emulation.simulation.run import simulate
from record import manifest
from record.figures import Figure, FigureVerdict
from record.manifest import HostShare
from scenario.loading import load_text
from studies import rehearsal
from studies.rehearsal import (
    MOST_ROUNDS,
    REHEARSED,
    Rehearsing,
    deployed,
    host_share,
    next_factor,
    rehearsed_scenario,
    rehearsing_here,
)

SCENARIO = """
name: pair
topology: {kind: line, brokers: 2, link: {delay: 5ms}}
routing: {protocol: tid}
workload:
  publications: {source: stocks, publishers: 2, rate: 10/s}
  subscriptions: {subscribers: 2, selectivity: 100%}
timeline: {join: 2s, run: 20s, drain: 5s, withdraw: 3s}
vary: {workload.publications.rate: [10/s, 20/s]}
faults: [{at: run+1s, kill: B2, for: 1s}]
logs: {publications: 50%}
time_dilation: auto
"""


def planned() -> Plan:
    return make_plan(load_text(SCENARIO, "pair.yaml"))


class Stage:
    """Rehearsals in virtual time, and the plans that were deployed."""

    def __init__(self, *, frame: int = 0) -> None:
        self.deployed: list[Plan] = []
        self.directories: list[Path] = []
        self.lines: list[str] = []
        self.interrupted = False
        costs = Calibration(frame=frame, work={"publish": 1})
        self.rehearsing = Rehearsing(costs, Host(1, 1 << 30), deployed(self._deploy), self.lines.append)

    def _deploy(self, plan: Plan, directory: Path) -> RunOutcome:
        self.deployed.append(plan)
        self.directories.append(directory)
        outcome = simulate(plan, directory)
        outcome.interrupted = self.interrupted
        return outcome


@pytest.fixture
def shares(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float | None]]:
    """The share of the mean delay that each rehearsal finds to be the host's, in turn."""
    given: list[float | None] = []
    left = (None if share is None else HostShare(figure=Figure.MEAN, share=share) for share in given)
    monkeypatch.setattr(rehearsal, "host_share", lambda _: next(left))
    yield given


def test_a_calm_rehearsal_keeps_the_planners_factor_and_nothing_stays(shares: list[float | None]) -> None:
    shares += [0.04]
    stage = Stage()
    chosen = stage.rehearsing.choose([planned()])
    assert (chosen.factor, chosen.planned, chosen.kept, len(chosen.rehearsals)) == (1.0, 1.0, True, 1)
    (only,) = chosen.rehearsals
    assert only.found is not None and only.found.share == 0.04 and only.seconds > 0
    assert not stage.directories[0].exists(), "the rehearsal's logs are thrown away"
    (rehearsed,) = stage.deployed
    assert [variant.name for variant in rehearsed.variants] == ["base"], "one variant stands for all"
    assert chosen.variant == "20-s", "the one that takes most"


def test_the_factor_begins_with_the_planners_and_rises(shares: list[float | None]) -> None:
    shares += [0.4, 0.08, 0.03]
    stage = Stage(frame=12_000_000)
    chosen = stage.rehearsing.choose([planned()])
    tried = [each.dilation for each in chosen.rehearsals]
    assert tried == sorted(set(tried)) and len(tried) == 3
    assert tried[0] == chosen.planned > 1 and chosen.factor == tried[-1] and chosen.kept
    assert [plan.scenario.time_dilation for plan in stage.deployed] == tried
    assert "40.0% of the mean delay" in chosen.in_words() and f"{chosen.factor:g}, chosen for all" in chosen.in_words()


def test_each_rehearsal_has_lines_of_its_own(shares: list[float | None]) -> None:
    shares += [0.4, None]
    stage = Stage()
    stage.rehearsing.choose([planned()])
    told = [line for line in stage.lines if line.startswith("rehearsal ")]
    assert [line.partition(":")[0] for line in told] == [f"rehearsal {number} of at most 3" for number in (1, 1, 2, 2)]
    assert "20-s at a dilation of 1; its logs are thrown away" in told[0]
    assert "40.0% of the mean delay" in told[1] and "not known" in told[3]


def test_the_run_of_a_rehearsal_shows_nothing_of_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def emulate(plan: Plan, _: object, directory: Path, console: Console, *__: object, **___: object) -> RunOutcome:
        console.print("variant 1 of 1")
        with display(Snapshot(), console) as shown:
            shown.print_line("brokers are up")
        return simulate(plan, directory)

    monkeypatch.setattr(rehearsal, "emulate", emulate)
    out = StringIO()
    rehearsing_here(Mock(), Console(file=out, force_terminal=True, highlight=False)).choose([planned()])
    assert "rehearsal 1 of at most 3" in out.getvalue()
    assert "variant 1" not in out.getvalue() and "brokers are up" not in out.getvalue()


def test_after_three_rounds_the_next_factor_is_taken_and_called_unconfirmed(shares: list[float | None]) -> None:
    shares += [0.9] * 9
    chosen = Stage().rehearsing.choose([planned()])
    assert len(chosen.rehearsals) == MOST_ROUNDS and not chosen.kept
    assert chosen.factor > chosen.rehearsals[-1].dilation
    assert "not confirmed by a rehearsal" in chosen.in_words()


def test_contention_that_cannot_be_measured_ends_it(shares: list[float | None]) -> None:
    shares += [None]
    chosen = Stage().rehearsing.choose([planned()])
    assert (len(chosen.rehearsals), chosen.factor, chosen.kept) == (1, chosen.planned, False)
    assert "not measured" in chosen.in_words()


def test_an_interrupted_rehearsal_chooses_nothing() -> None:
    stage = Stage()
    stage.interrupted = True
    with pytest.raises(Interrupted):
        stage.rehearsing.choose([planned()])
    assert not stage.directories[0].exists()


def test_the_heaviest_of_several_plans_is_rehearsed() -> None:
    lighter = make_plan(load_text(SCENARIO.replace("[10/s, 20/s]", "[1/s, 2/s]"), "pair.yaml"))
    chosen = Stage().rehearsing.choose([lighter, planned(), lighter])
    assert chosen.variant == "20-s"


def test_a_rehearsal_is_the_beginning_of_the_run_in_calm_weather() -> None:
    scenario = planned().variants[1].scenario
    short = rehearsed_scenario(scenario, 3.0)
    assert short.workload == scenario.workload and short.topology == scenario.topology and short.seed == scenario.seed
    assert (short.timeline.run, short.timeline.drain, short.timeline.withdraw) == (REHEARSED, 2.0, None)
    assert (short.faults, short.logs, short.name, short.time_dilation) == ((), None, "rehearsal", 3.0)


def test_steps_are_larger_the_closer_to_a_limit() -> None:
    assert next_factor(1.0, 0.6) == 1.5
    assert next_factor(2.0, 9.0) == 4.0
    assert next_factor(100.0, 9.0) == 200.0


def test_all_variants_get_the_factor_and_the_manifest_states_it(tmp_path: Path, shares: list[float | None]) -> None:
    shares += [0.3, 0.01]
    chosen = Stage().rehearsing.choose([planned()])
    run = simulate(with_dilation(planned(), chosen), tmp_path).directory
    record = manifest.read(run)
    assert record.scenario["time_dilation"] == "auto" and record.dilation == chosen
    assert {variant.time_dilation for variant in record.variants} == {chosen.factor} != {1.0}


def test_a_simulated_run_needs_no_rehearsal(tmp_path: Path) -> None:
    record = manifest.read(simulate(planned(), tmp_path).directory)
    assert record.dilation is msgspec.UNSET
    assert {variant.time_dilation for variant in record.variants} == {1.0}


def summary_of(budget: DelayBudget | msgspec.UnsetType, figures: Sequence[FigureVerdict] = ()) -> VariantSummary:
    summary = Mock(spec=VariantSummary)
    summary.delay = Mock(spec=Delay, budget=budget, figures=figures)
    return summary


def budget_of(contention: float | None) -> DelayBudget:
    parts = DelayParts(
        links_ms=8.0 if contention else 10.0, waiting_for_links_ms=0, waiting_at_brokers_ms=0, work_ms=0, platform_ms=0,
        contention_ms=contention, unexplained_ms=0, unexplained_absolute_ms=0,
    )  # fmt: skip
    return DelayBudget(notifications=3, parts=parts, contention_at=None, unexplained_at=None)


def figure_of(figure: Figure, contention: float, unexplained: float, *, counts: bool = True) -> FigureVerdict:
    return FigureVerdict(
        figure=figure, value_ms=10.0, contention_ms=contention, unexplained_ms=unexplained, verdict=None, counts=counts
    )


@pytest.mark.parametrize(("contention", "share"), [(2.0, 0.2), (0.0, 0.0), (None, None)])
def test_the_share_is_that_of_the_delay(contention: float | None, share: float | None) -> None:
    found = host_share(summary_of(budget_of(contention)))
    assert (None if found is None else found.share) == share
    assert host_share(summary_of(msgspec.UNSET)) is None


@pytest.mark.parametrize(
    ("figures", "figure", "share"),
    [
        ([figure_of(Figure.MEAN, 0.1, 0.9)], Figure.MEAN, 0.09),
        ([figure_of(Figure.MEAN, -0.8, 0.1)], Figure.MEAN, 0.08),
        ([figure_of(Figure.MEAN, 0.8, 0.0), figure_of(Figure.P99, 1.5, 0.0)], Figure.MEAN, 0.08),
        ([figure_of(Figure.MEAN, 0.8, 0.0), figure_of(Figure.P99, 2.4, 0.0)], Figure.P99, 0.24),
        ([figure_of(Figure.MEAN, 0.4, 0.0), figure_of(Figure.P99, 9.0, 0.0, counts=False)], Figure.MEAN, 0.04),
    ],
    ids=["the-unexplained", "less-than-without", "of-the-mean", "of-a-percentile", "that-does-not-count"],
)
def test_the_figure_closest_to_its_limit_tells_the_share(
    figures: list[FigureVerdict], figure: Figure, share: float
) -> None:
    found = host_share(summary_of(budget_of(0.2), figures))
    assert found is not None
    assert (found.figure, found.share) == (figure, pytest.approx(share))
