"""Verdicts and figures of brokers that are not brokerlab's: what their level cannot know is absent, and never 0."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec import UNSET

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.summary import VariantSummary
from record.contract import CONTRACT
from record.fidelity import FidelityVerdict
from record.log import EMULATOR
from record.manifest import MODELLED
from record.promises import Loss, Promises
from tests.analysis.history import DRIVER, History, across, joined, write_run
from tests.analysis.judging.judged import verdicts_of

_REASON = "brokers of level 1 keep no logs"
_KILLS_COST = Promises(survives={"kill": Loss.IN_FLIGHT})


def _analysed(folder: Path, history: History, level: int) -> VariantSummary:
    """The summary of a history as brokers of this level leave it: without their logs below level 3."""
    if level < 3:
        history.records = [record for record in history.records if record.node in {DRIVER, EMULATOR}]
    run = write_run(folder / "run", [history])
    file = run / "manifest.json"
    manifest = msgspec.json.decode(file.read_bytes())
    manifest["variants"][0]["foreign"] = {"contract": CONTRACT, "level": level}
    file.write_bytes(msgspec.json.encode(manifest))
    (variant,) = analyze(run, PlainEngine()).variants
    return variant


def test_a_notification_that_no_fault_can_have_cost_is_lost(tmp_path: Path) -> None:
    found = _analysed(tmp_path, joined("base").publish(), level=1)
    assert verdicts_of(found.delivery) == ["lost"]
    (example,) = found.delivery.examples
    assert example.detail == f"its way is unknown, because {_REASON}"


@pytest.mark.parametrize(("level", "verdict"), [(1, "unjudged"), (3, "lost")])
def test_one_that_a_fault_may_have_cost_is_not_judged_without_logs(tmp_path: Path, level: int, verdict: str) -> None:
    """With logs, it is lost, because these say that it passed the broker before that was killed."""
    history = (
        across("base", promises=_KILLS_COST).publish().carry("P:1", 110.01, "B1", "B2", "B3").fault(110.5).heal(111)
    )
    found = _analysed(tmp_path, history, level).delivery
    assert found.verdicts == [verdict]
    assert (found.power.not_judged == {_REASON: 1}) == (level == 1)


def test_what_brokers_would_have_logged_is_absent(tmp_path: Path) -> None:
    history = joined("base", promises=_KILLS_COST).publish().notify().fault(112).heal(113)
    found = _analysed(tmp_path, history, level=2)
    written = msgspec.to_builtins(found)
    assert "matching" not in written
    assert (found.messages, found.broker_messages, found.drops, found.router_work) == ([], [], [], [])
    assert (found.delay.mean_ms is not None, found.delay.queueing_share, found.delay.budget) == (True, None, UNSET)
    (fault,) = found.faults
    assert (fault.noticed, fault.dropped, fault.detected_first_s) == (None, None, None)
    assert found.withheld is not UNSET
    assert any("brokers of level 2 keep no logs" in figures for figures in found.withheld)
    assert all(figure.verdict is None and not figure.counts for figure in found.delay.figures)


def test_checks_that_need_brokers_logs_are_not_measured_and_say_why(tmp_path: Path) -> None:
    checks = {check.name: check for check in _analysed(tmp_path, joined("base").publish().notify(), 1).audit}
    for name in ("links that went down by themselves", "effects logged before their causes"):
        assert (checks[name].value, checks[name].detail) == (None, f"not measured: {_REASON}")
    assert all(check.verdict is not FidelityVerdict.INVALID or check.value is not None for check in checks.values())


def test_brokers_with_logs_have_everything_but_the_parts_of_delays(tmp_path: Path) -> None:
    found = _analysed(tmp_path, joined("base").publish().receive().notify(), level=3)
    assert found.matching is not UNSET
    assert found.withheld is not UNSET
    assert [figures.partition(":")[0] for figures in found.withheld] == ["parts of the delay"]


def test_native_brokers_withhold_nothing(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [joined("base").publish().notify()], links=MODELLED)
    (variant,) = analyze(run, PlainEngine()).variants
    assert variant.withheld is UNSET
    assert variant.matching is not UNSET
