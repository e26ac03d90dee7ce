"""Time dilation where figures are printed: its factor, reason and cost, and what it takes from delays."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import UNSET
from msgspec.structs import replace
from rich.console import Console

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.report.data import read_report_data
from analysis.report.sentences.dilation import missing_in_words
from analysis.report.sentences.settings import what_was_run
from analysis.tables.summary import Summary
from command_line.commands.verdicts import print_dilation
from emulation.planning.dilation import with_dilation
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record import manifest
from record.figures import Figure
from record.manifest import ChosenDilation, DilationRehearsal, HostShare
from scenario.loading import load

CHOSEN = ChosenDilation(
    factor=2.0, variant="base", planned=2.0, kept=True,
    rehearsals=[DilationRehearsal(dilation=2.0, found=HostShare(figure=Figure.MEAN, share=0.04), seconds=31.0)],
)  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated run at a dilation of 2, analysed."""
    plan = make_plan(load(Path("scenarios/smoke.yaml"), {"time_dilation": "auto", "timeline.run": "2s"}))
    directory = simulate(with_dilation(plan, CHOSEN), tmp_path_factory.mktemp("runs")).directory
    analyze(directory, PlainEngine())
    return directory


@pytest.fixture
def summary(run: Path) -> Summary:
    return read_report_data(run).summary


def printed(summary: Summary, run: Path, **changed: object) -> str:
    console = Console(width=300)
    with console.capture() as captured:
        print_dilation(console, summary, replace(manifest.read(run), **changed))
    return captured.get()


def test_the_terminal_states_factor_reason_cost_and_what_is_missing(run: Path, summary: Summary) -> None:
    lines = printed(summary, run).strip().splitlines()
    assert lines[0] == (
        "time dilation 2, chosen for all variants by rehearsals of base (2: 4.0% of the mean delay is this host's), "
        "which took 31 s"
    )
    assert lines[1].startswith("base: at a time dilation of 2, brokers' work and platform look 50% smaller")


def test_what_is_missing_is_the_work_and_the_platform_that_were_divided_away(summary: Summary) -> None:
    delay = summary.variants[0].delay
    assert delay.budget and delay.mean_ms is not None and delay.budget.parts.platform_ms is not None
    missing = delay.budget.parts.work_ms + delay.budget.parts.platform_ms
    assert missing > 0.1
    words = missing_in_words(delay, 2.0)
    assert words is not None
    assert words.endswith(
        f"without {missing:.1f} ms of them, {delay.mean_ms + missing:.1f} ms with; percentiles are without them, too"
    )
    assert missing_in_words(delay, 1.0) is None
    assert str(missing_in_words(replace(delay, budget=UNSET), 2.0)).endswith("and delays are without that")


def test_a_run_at_its_own_speed_prints_nothing(run: Path, summary: Summary) -> None:
    record = manifest.read(run).variants[0]
    record.time_dilation = 1.0
    assert printed(summary, run, variants=[record], dilation=UNSET) == ""


def test_the_page_states_it_too(run: Path) -> None:
    rows = dict(what_was_run(read_report_data(run)))
    assert rows["Time dilation"].startswith("2 times slower")
    assert rows["Time dilation chosen"].startswith("2, chosen for all variants by rehearsals")
    assert "50% smaller" in rows["Dilated delays, base"]
