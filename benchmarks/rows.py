"""Memory and time of large tables, through to a run: `python -m benchmarks.rows`.

A table of 100,000 rows and one of a million, in each of two formats, are checked, shown and played: virtual brokers get
20,000 of their publications, drawn from all rows. Commands are those of a user, each in a process of its own. A target
is what the larger table takes more of memory at its peak, because no command holds the rows.

    python -m benchmarks.rows                                 three minutes
    python -m benchmarks.rows --rows 10000000                 half an hour
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from benchmarks.targets import Bound, Judgement, Target, conclude

GROWN = Target("memory of a command for many rows beyond that for few", Bound.AT_MOST, 25.0, "MB")
FEW, MANY = 100_000, 1_000_000
PLAYED = 20_000
"""Publications of a run, about."""
SECONDS = 100
_PART = 250_000
"""Rows that are made at a time."""
_CLIENTS = 40
_SCENARIO = """
name: rows
topology: {{kind: line, brokers: 3}}
routing: {{protocol: tid}}
workload:
  kind: file
  operations: rows.{form}
  columns: {{time: ts, client: who, operation: verb, id: key, content: body}}
  attributes: {{level: level}}
  constants: {{class: LEVEL}}
  unit: ms
  speed: {speed}
  share: {share}
timeline: {{join: 5s, run: {seconds}s, drain: 3s}}
logs: {{publications: 1%}}
"""
_LAUNCH = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:], stdout=sys.stderr)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_maxrss, used.ru_utime + used.ru_stime)
sys.exit(code)
"""
"""A small program that runs a command, because a process counts the memory of the one that started it as its own."""


@dataclass(frozen=True, slots=True)
class Cost:
    """One command."""

    megabytes: float
    """Memory at its peak."""
    processors: float
    """Seconds."""


def run(arguments: Sequence[str]) -> list[Judgement]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=MANY)
    parser.add_argument("--formats", nargs="+", choices=("parquet", "csv"), default=("parquet", "csv"))
    parsed = parser.parse_args(arguments)
    rows, formats = parsed.rows, parsed.formats
    judgements = []
    for form in formats:
        few, many = measured(form, FEW), measured(form, rows)
        for name in few:
            named = replace(GROWN, name=f"memory of `{name}` for {rows:,} rows of {form} beyond that for {FEW:,}")
            judgements.append(named.judge(many[name].megabytes - few[name].megabytes))
    return judgements


def measured(form: str, rows: int) -> dict[str, Cost]:
    """The cost of each command with a table of a format."""
    with tempfile.TemporaryDirectory(prefix="rows-") as directory:
        scenario, table = Path(directory, "rows.yaml"), Path(directory, f"rows.{form}")
        write_table(table, rows)
        share = PLAYED / rows
        text = _SCENARIO.format(form=form, speed=rows / 1000 / SECONDS, share=f"{100 * share:.4f}%", seconds=SECONDS)
        scenario.write_text(text)
        simulated = ["--runtime", "simulated", "--no-spark", "--no-report", "--out", str(Path(directory, "runs"))]
        commands = {
            "check": ["check", str(scenario)],
            "workload show": ["workload", "show", str(scenario)],
            "emulate": ["emulate", str(scenario), *simulated],
        }
        costs = {}
        for name, command in commands.items():
            costs[name] = cost = cost_of(command)
            size = table.stat().st_size / 1e6
            print(
                f"{rows:,} rows of {form} ({size:.0f} MB): {name} takes {cost.megabytes:.0f} MB "
                f"and {cost.processors:.0f} s of a processor",
                flush=True,
            )
        return costs


def cost_of(command: Sequence[str]) -> Cost:
    """Runs a command of brokerlab. Raises `SystemExit` with its output when it fails."""
    whole = [sys.executable, "-c", _LAUNCH, sys.executable, "-m", "command_line", *command]
    done = subprocess.run(whole, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"wrong: {' '.join(command)} failed:\n{done.stderr}")
    kilobytes, processors = map(float, done.stdout.split())
    return Cost(kilobytes / 1024, processors)


def write_table(file: Path, rows: int) -> None:
    """Writes a table: clients that watch, and then publications of as many others, a millisecond apart."""
    parts = parts_of(rows)
    first = next(parts)
    if file.suffix == ".parquet":
        with pa.parquet.ParquetWriter(file, first.schema) as written:
            written.write_batch(first)
            for part in parts:
                written.write_batch(part)
    else:
        with pa.csv.CSVWriter(file, first.schema) as lines:
            lines.write_batch(first)
            for part in parts:
                lines.write_batch(part)


def parts_of(rows: int) -> Iterator[pa.RecordBatch]:
    watching = [f"[class,eq,'LEVEL'],[level,>,{number}]" for number in range(60, 60 + _CLIENTS)]
    yield _part(
        np.zeros(_CLIENTS, dtype=np.int64), [f"watcher-{number}" for number in range(_CLIENTS)],
        ["subscribe"] * _CLIENTS, ["w"] * _CLIENTS, watching, [None] * _CLIENTS,
    )  # fmt: skip
    draw = np.random.default_rng(1)
    names = np.array([f"gauge-{number}" for number in range(_CLIENTS)])
    for begin in range(0, rows, _PART):
        count = min(_PART, rows - begin)
        yield _part(
            1 + begin + np.arange(count), names[draw.integers(_CLIENTS, size=count)], ["publish"] * count,
            [None] * count, [None] * count, draw.integers(100, size=count).astype(np.float64),
        )  # fmt: skip


def _part(ts: object, who: object, verb: object, key: object, body: object, level: object) -> pa.RecordBatch:
    columns = [pa.array(ts, pa.int64()), *(pa.array(found, pa.string()) for found in (who, verb, key, body))]
    return pa.record_batch([*columns, pa.array(level, pa.float64())], ["ts", "who", "verb", "key", "body", "level"])


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
