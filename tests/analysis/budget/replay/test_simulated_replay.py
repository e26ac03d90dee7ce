"""The replay of simulated runs, in which nothing waits for a processor, is what was measured."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import pytest
from msgspec import UNSET

from analysis.auditing.request import asked_of
from analysis.budget.replay.stage import ReplayedDelays
from analysis.budget.request import budgeted
from analysis.budget.variant import BudgetedVariant
from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.run_files.run_directory import RunDirectory
from record.files import LOGS
from record.log import Event
from record.time_units import MILLISECOND
from studies.calibration.latency import read_logs
from tests.analysis.budget.made import read, replay_of
from tests.analysis.budget.test_simulated import QUEUES, simulated

_ROUNDING = 1e-3
"""Milliseconds: the rate's times are rounded to nanoseconds, once for each frame."""


@dataclass(frozen=True, kw_only=True)
class Replayed(BudgetedVariant):
    """A variant that is replayed although it was simulated."""

    @property
    def replayed(self) -> bool:
        return True


def replay(run: RunDirectory) -> ReplayedDelays:
    reader = read(read_logs(run.path / LOGS), ["base"], run.brokers)
    variant = budgeted(run.manifest, 0, asked_of(run, 0, reader.tally()))
    forced = Replayed(**{field.name: getattr(variant, field.name) for field in fields(variant)})
    found = replay_of(reader, [forced], run.brokers).of(0)
    assert found is not None
    return found


def measured(run: RunDirectory) -> list[float]:
    """Mean and percentiles of the delays of first notifications, in milliseconds."""
    logs = list(read_logs(run.path / LOGS))
    intended = {record.id: record.intended for record in logs if record.event is Event.PUBLISH}
    first: dict[tuple[str | None, str | None], int] = {}
    for record in sorted((record for record in logs if record.event is Event.NOTIFIED), key=lambda one: one.time):
        first.setdefault((record.id, record.client), record.time - (intended[record.id] or 0))
    delays = np.array([*first.values()]) / MILLISECOND
    return [float(delays.mean()), *np.percentile(delays, [50, 95, 99]).tolist()]


@pytest.mark.proof
@pytest.mark.parametrize(("link", "service", "rate"), QUEUES)
def test_a_replay_of_a_run_without_contention_is_the_run(tmp_path: Path, link: str, service: str, rate: str) -> None:
    run = simulated(tmp_path, link, service, rate)
    found = replay(run)
    assert found.notifications > 100
    assert [found.mean_ms, found.p50_ms, found.p95_ms, found.p99_ms] == pytest.approx(measured(run), abs=_ROUNDING)


def test_an_analysed_simulated_run_has_what_was_measured_as_its_delay_without_contention(tmp_path: Path) -> None:
    (variant,) = analyze(simulated(tmp_path, "{delay: 20ms}").path, PlainEngine()).variants
    without = variant.delay.without_contention
    assert without is not UNSET
    for name in without.__struct_fields__:
        assert getattr(without, name) == getattr(variant.delay, name)
