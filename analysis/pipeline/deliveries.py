"""The verdicts on deliveries alone, for a caller that judges thousands of small runs and reads no table."""

from __future__ import annotations

from pathlib import Path

from analysis.engines import Engine
from analysis.pipeline.delivery import delivery_of
from analysis.pipeline.judgement import NO_TABLES, judge
from analysis.run_files.logs import Logs
from analysis.run_files.run_directory import open_run
from analysis.tables.summary import Delivery
from record.callbacks import do_nothing


def judged_deliveries(run_directory: Path, engine: Engine, logs: Logs) -> list[Delivery]:
    """The findings on each variant of a simulated run whose `logs` are whole, as `analyze` comes to them.

    Writes nothing. Raises `UserError`.
    """
    run = open_run(run_directory, logs=logs)
    with engine.open() as workers:
        judgement = judge(run, workers, do_nothing, NO_TABLES).judgement
    return [delivery_of(number, variant, judgement, [], []) for number, variant in enumerate(run.manifest.variants)]
