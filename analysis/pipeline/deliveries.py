"""The verdicts on deliveries alone, for a caller that judges thousands of small runs and reads no table."""

from __future__ import annotations

from pathlib import Path

from analysis.engines import Engine
from analysis.pipeline.delivery import delivery_of
from analysis.pipeline.stages import run_stages
from analysis.run_files.run_directory import open_run
from analysis.tables.event_choice import EventTable
from analysis.tables.summary import Delivery
from record.callbacks import do_nothing


def judged_deliveries(run_directory: Path, engine: Engine) -> list[Delivery]:
    """The findings on each variant of a simulated run whose logs are whole, as `analyze` comes to them.

    Writes no summary, and only the tables that stages leave. Raises `UserError`.
    """
    run = open_run(run_directory)
    run.results.mkdir(exist_ok=True)
    with engine.open() as workers:
        findings = run_stages(run, workers, do_nothing, EventTable.NONE)
    return [delivery_of(number, variant, findings, [], []) for number, variant in enumerate(run.manifest.variants)]
