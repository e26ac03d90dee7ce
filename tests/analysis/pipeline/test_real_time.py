"""Delays of a starved host, and of a drain phase that was too short, are no fault of a router."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.pipeline.real_time import starved
from analysis.report.sentences.delivery import delivery_sentence
from analysis.tables.deliveries import Expectation
from analysis.tables.power import Power
from analysis.tables.results import read_table
from analysis.tables.summary import Delivery
from emulation.fidelity import thresholds
from record import manifest
from record.fidelity import OF_A_STARVED_HOST, Check, Fidelity, FidelityVerdict, VariantFidelity, check_on
from record.figures import Figure, FigureVerdict
from record.log import Event
from tests.analysis.diamond import ANNOUNCING, DIAMOND, crossing
from tests.analysis.history import History, across, joined, write_run


def judged(directory: Path, history: History, *checks: Check, undrained: bool = False) -> Delivery:
    run = write_run(directory / "run", [history], None, overlay=DIAMOND)
    if checks:
        of_variant = VariantFidelity(name=history.variant, verdict=FidelityVerdict.INVALID, checks=list(checks))
        found = Fidelity(verdict=FidelityVerdict.INVALID, variants=[of_variant])
        (run / "fidelity.json").write_bytes(msgspec.json.encode(found))
    if undrained:
        written = manifest.read(run)
        written.variants[0].undrained = True
        manifest.write(written, run)
    return analyze(run, PlainEngine()).variants[0].delivery


def failed(threshold: thresholds.Threshold, verdict: FidelityVerdict = FidelityVerdict.INVALID) -> Check:
    return Check(name=threshold.name, value=1.0, unit="", limit=0.5, verdict=verdict, detail="too much")


def silent() -> History:
    """A subscription that was confirmed and never announced."""
    return crossing("silent", ANNOUNCING).subscribe(at=110).publish(at=105)


def test_the_names_are_those_of_thresholds() -> None:
    assert {
        threshold.name for threshold in vars(thresholds).values() if isinstance(threshold, thresholds.Threshold)
    } >= OF_A_STARVED_HOST


def test_a_start_that_is_not_announced_is_a_defect(tmp_path: Path) -> None:
    assert judged(tmp_path, silent()).verdicts == ["start not announced"]


@pytest.mark.parametrize("threshold", [thresholds.RELAY_HELD_UP, thresholds.CPU_STEAL, thresholds.HOST_THROTTLED])
def test_it_is_not_judged_on_a_starved_host(tmp_path: Path, threshold: thresholds.Threshold) -> None:
    found = judged(tmp_path, silent(), failed(threshold))
    assert found.verdicts == ["unjudged"]
    assert found.examples == []
    reason = "starts and confirmations that did not come in time, because the host was starved"
    assert f"not judged: {reason} ({threshold.name}: too much)" in found.power_in_words()
    owing = msgspec.structs.replace(found, power=Power(owed=9, excused={}, not_judged={}, implied=0))
    assert delivery_sentence(owing).startswith(f"Not all could be judged: {reason}")


@pytest.mark.parametrize(
    "check",
    [failed(thresholds.LINKS_DURING), failed(thresholds.HOST_THROTTLED, FidelityVerdict.DEGRADED)],
)
def test_it_is_judged_where_programs_ran_in_time(tmp_path: Path, check: Check) -> None:
    assert judged(tmp_path, silent(), check).verdicts == ["start not announced"]


def test_contention_that_makes_a_figure_invalid_starves_a_host() -> None:
    def figure(name: Figure, contention: float | None) -> FigureVerdict:
        return FigureVerdict(
            figure=name, value_ms=100.0, contention_ms=contention, unexplained_ms=90.0,
            verdict=FidelityVerdict.INVALID, counts=False, reason="why",
        )  # fmt: skip

    (reason,) = starved(None, "base", [figure(Figure.MEAN, 50.0), figure(Figure.P99, 50.1)])
    assert reason == "99th percentile of the delay: why"
    assert starved(None, "base", [figure(Figure.P95, None), figure(Figure.P50, -80.0)]) == []


def test_one_of_several_hosts_that_is_starved_is_named() -> None:
    check = failed(thresholds.RELAY_HELD_UP)
    on_host = msgspec.structs.replace(check, name=check_on("h2", check.name))
    of_variant = VariantFidelity(name="base", verdict=FidelityVerdict.INVALID, checks=[on_host])
    found = Fidelity(verdict=FidelityVerdict.INVALID, variants=[of_variant])
    assert starved(found, "base") == ["relay held up (h2): too much"]


def test_a_loss_remains_one_on_a_starved_host(tmp_path: Path) -> None:
    """It was drained, so nothing was on its way any more."""
    lossy = joined("lossy").publish("P:1", 120).publish("P:2", 168).notify("P:2", at=168.1)
    assert judged(tmp_path, lossy, failed(thresholds.HOST_THROTTLED)).verdicts == ["lost"]


def under_way() -> History:
    """A history of three publications: the first is lost, the second comes, and the third is published a second before
    the end."""
    return joined("late").publish("P:1", 120).publish("P:2", 121).notify("P:2", at=121.1).publish("P:3", 169.5)


def test_a_drain_that_was_too_short_says_so(tmp_path: Path) -> None:
    found = judged(tmp_path, under_way(), undrained=True)
    assert (found.verdicts, found.lost, found.not_judged) == (["lost"], 1, 1)
    assert found.power.not_judged == {"the drain phase ended while they were on their way": 1}
    rows = {row.publication: row.defect for row in read_table(tmp_path / "run" / "results", Expectation)}
    assert rows["P:1"] == "lost"
    assert rows.get("P:3") is None


def test_a_drain_that_was_long_enough_excuses_nothing(tmp_path: Path) -> None:
    found = judged(tmp_path, under_way())
    assert (found.lost, found.not_judged) == (2, 0)


def waiting_at_b1(name: str) -> History:
    """Messages wait at B1 from 120 s to the end, and it came there at 130 s, after one of which S was told at last."""
    history = across(name).publish("P:0", 129).receive("P:0", 129.01).notify("P:0", at=169)
    history.publish("P:1", 130).receive("P:1", 130.01)
    for second in range(120, 171):
        history.add("B1", Event.QUEUE, float(second), peer="B2", queue=7, count=1)
    return history


def test_a_publication_that_waits_for_a_slow_broker_until_the_end_is_on_its_way(tmp_path: Path) -> None:
    history = waiting_at_b1("waiting").fault(119, "slow", "B2")
    found = judged(tmp_path, history, undrained=True)
    assert found.power.not_judged == {"the drain phase ended while they were on their way": 1}
    assert judged(tmp_path / "drained", history).verdicts == ["lost"]


def test_a_publication_that_waits_for_nothing_until_the_end_is_lost(tmp_path: Path) -> None:
    """Eight messages on a link that works take no minute, whatever the broker's gauges say."""
    assert judged(tmp_path, waiting_at_b1("kept"), undrained=True).verdicts == ["lost"]


def test_a_publication_that_moves_for_ever_is_lost(tmp_path: Path) -> None:
    """Publications that were published later came long ago, so this one is not on its way but in circles."""
    history = joined("circles").publish("P:1", 130).publish("P:2", 140).notify("P:2", at=140.1)
    for second in range(130, 170):
        history.receive("P:1", second + 0.5)
    assert judged(tmp_path, history, undrained=True).verdicts == ["lost"]
