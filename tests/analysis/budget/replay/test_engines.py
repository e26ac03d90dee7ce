"""Both engines replay a run without contention alike, in several tasks."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from msgspec import UNSET
from pyspark.sql import SparkSession

from analysis.engines import PlainEngine, RunningSpark
from analysis.pipeline import analyze
from analysis.pipeline import judgement as pipeline
from record.files import MANIFEST, PROCESSORS
from record.processors import ProcessorBlock
from tests.analysis.auditing.edited import CALM, run_of

pytestmark = pytest.mark.timeout(900)
"""Spark's workers wait for processors behind all others on a busy host."""


def as_on_a_busy_host(run: Path) -> None:
    """Makes a simulated run that of real brokers, of which B2 waits for a processor half of the time."""
    manifest = json.loads((run / MANIFEST).read_bytes())
    manifest["at_rest"] = manifest.pop("calibration")
    manifest["links"] = {"name": "userspace", "reason": "asked for"}
    (run / MANIFEST).write_text(json.dumps(manifest))
    waits = [number for begin in range(0, 12_000_000, 1000) for number in (0, begin, begin + 1000, 500, 500)]
    (run / PROCESSORS).write_bytes(msgspec.json.encode(ProcessorBlock("base", 0, ["B2"], waits)) + b"\n")


@pytest.mark.proof
def test_both_engines_replay_the_same(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(CALM, tmp_path)
    as_on_a_busy_host(run)
    # Four tasks read logs, and most later stages have two: Spark takes much longer to start one than that takes.
    monkeypatch.setattr(pipeline, "SMALLEST_SHARE", 150_000)
    monkeypatch.setattr(pipeline, "LARGEST_SHARE", 150_000)
    (plain,) = analyze(run, PlainEngine()).variants
    without = plain.delay.without_contention
    assert without is not UNSET
    assert plain.delay.mean_ms is not None
    assert without.mean_ms < plain.delay.mean_ms, "what messages to B2 took beyond the calibration was contention"
    (by_spark,) = analyze(run, RunningSpark(spark)).variants
    assert by_spark.delay == plain.delay
