"""The engine in memory writes what plain Python writes, and verdicts on deliveries alone are those of the summary."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from analysis.engines import MemoryEngine, PlainEngine
from analysis.pipeline import analyze, judgement
from analysis.pipeline.deliveries import judged_deliveries
from analysis.run_files.logs import LogsInMemory
from analysis.tables.event_choice import EventTable
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record.files import LOGS, log_files
from record.log import TraceRecord
from scenario.loading import load_text

SCENARIO = """
name: ring
topology: {kind: ring, brokers: 4, link: {delay: 2ms..5ms, bandwidth: 200kbit}}
routing: {protocol: tid}
workload:
  publications: {source: stocks, publishers: 3, rate: 20/s}
  subscriptions: {subscribers: 6, selectivity: 20%}
timeline: {join: 3s, run: 3s, drain: 3s}
faults: [{at: run+1s, kill: B2, for: 1s}]
vary: {routing.publications: [fixed, dynamic]}
seed: 5
"""


def test_a_run_directory_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for size in ("SMALLEST_SHARE", "LARGEST_SHARE", "BUCKET_BYTES"):
        monkeypatch.setattr(judgement, size, 50_000)
    run = simulate(make_plan(load_text(SCENARIO, "ring")), tmp_path).directory
    contents = []
    for engine in (PlainEngine(), MemoryEngine()):
        summary = analyze(run, engine, events=EventTable.ALL)
        contents.append({file: file.read_bytes() for file in run.rglob("*") if file.is_file()})
    plain, in_memory = contents
    assert plain == in_memory
    assert len([file for file in plain if "notifications.parquet" in file.parts]) > 4
    decoder = msgspec.json.Decoder(TraceRecord)
    logs = LogsInMemory({log.name: decoder.decode_lines(log.read_bytes()) for log in log_files(run / LOGS)})
    assert judged_deliveries(run, MemoryEngine(), logs) == [variant.delivery for variant in summary.variants]
