"""Damaged and foreign run directories are refused with a sentence that names the file, and nothing is judged."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analysis.compare import compare_runs
from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.report import build_report
from record.errors import RunDirectoryError
from record.log import Event
from tests.analysis.history import joined, write_run

Change = Callable[[dict[str, Any]], None]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", [joined("base").publish().notify()])


def change_manifest(directory: Path, change: Change) -> None:
    file = directory / "manifest.json"
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def variant(**fields: Any) -> Change:
    return lambda content: content["variants"][0].update(fields)


def phase(**fields: Any) -> Change:
    return lambda content: content["variants"][0]["phases"][0].update(fields)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda content: content.pop("format"), "format: 1, but this version"),
        (lambda content: content.update(format=77), "format: 77, but this version"),
        (variant(time_dilation=0), "time_dilation: 0 is not between 1 and 1000"),
        (variant(time_dilation=1e-300), "time_dilation: 1e-300 is not between"),
        (variant(recovery=-1), "recovery: -1 is no time"),
        (phase(start=2**63 - 1, end=2**63 - 1), "phases: join from 9223372036854775807"),
        (phase(start=-(2**62)), "phases: join from -4611686018427387904"),
        (phase(start=2**63), "manifest.json"),
        (phase(end=0), "phases: join from 80000000000 to 0"),
        (phase(name="run"), "phases: one occurs twice"),
        (variant(topology="../topology.json"), "topology: '../topology.json' is not the name of a file"),
        (lambda content: content["variants"].append(content["variants"][0]), "two have the same name"),
    ],
)
def test_a_manifest_that_no_run_writes_is_refused(directory: Path, change: Change, sentence: str) -> None:
    change_manifest(directory, change)
    with pytest.raises(RunDirectoryError) as refused:
        analyze(directory, PlainEngine())
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not (directory / "summary.json").exists()


def make_link(file: Path) -> None:
    file.symlink_to("/nowhere")


def make_loop(file: Path) -> None:
    file.symlink_to(file.name)


def make_sparse(file: Path) -> None:
    file.write_bytes(b"{}\n")
    os.truncate(file, 1 << 40)


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (os.mkfifo, "a pipe"),
        (Path.mkdir, "a directory"),
        (make_link, "a link"),
        (make_loop, "a link"),
        (make_sparse, "it has holes"),
    ],
)
def test_a_log_that_is_no_file_is_refused_by_name(directory: Path, make: Callable[[Path], None], kind: str) -> None:
    make(directory / "logs" / "zz.jsonl")
    with pytest.raises(RunDirectoryError, match=rf"zz\.jsonl: .*{kind}"):
        analyze(directory, PlainEngine())


def test_numbers_that_fit_no_table_are_named(tmp_path: Path) -> None:
    history = joined("base").publish()
    for at in (111, 112):
        history.add("B1", Event.DROPPED, at, kind="publish", text="queue full", count=2**63 - 1)
    with pytest.raises(RunDirectoryError, match="numbers that no run writes"):
        analyze(write_run(tmp_path / "run", [history]), PlainEngine())


def test_nothing_is_written_through_a_link(directory: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (directory / ".summary.json.part").symlink_to(victim)
    analyze(directory, PlainEngine())
    assert victim.read_text() == "precious"
    (directory / "report").symlink_to(elsewhere)
    with pytest.raises(RunDirectoryError, match="report: it is a link"):
        build_report(directory)
    (directory / "results").rename(tmp_path / "old")
    (directory / "results").symlink_to(elsewhere)
    with pytest.raises(RunDirectoryError, match="results: it is a link"):
        analyze(directory, PlainEngine())
    assert not list(elsewhere.iterdir())


def test_a_summary_that_cannot_be_read_or_is_of_another_run_is_named(directory: Path) -> None:
    analyze(directory, PlainEngine())
    change_manifest(directory, variant(name="other"))
    with pytest.raises(RunDirectoryError, match=r"summary\.json is of other variants"):
        build_report(directory)
    summary = directory / "summary.json"
    summary.unlink()
    summary.symlink_to("summary.json")
    for read in (build_report, lambda run: compare_runs(run, run)):
        with pytest.raises(RunDirectoryError, match=r"summary\.json: cannot be read"):
            read(directory)


@pytest.mark.parametrize("name", ["manifest.json", "fidelity.json", "topology.json", "processors.jsonl"])
def test_a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for(directory: Path, name: str) -> None:
    (directory / name).unlink(missing_ok=True)
    os.mkfifo(directory / name)
    with pytest.raises(RunDirectoryError, match=rf"{name}: .*it is a pipe or a device"):
        analyze(directory, PlainEngine())


@pytest.mark.parametrize("name", ["summary.json", "results/delays.parquet", "results/notifications.parquet"])
def test_a_pipe_in_the_place_of_a_result_is_refused_too(directory: Path, name: str) -> None:
    analyze(directory, PlainEngine())
    if (directory / name).is_dir():
        shutil.rmtree(directory / name)
    else:
        (directory / name).unlink()
    os.mkfifo(directory / name)
    read = build_report if name == "results/delays.parquet" else lambda run: compare_runs(run, run)
    with pytest.raises(RunDirectoryError, match=rf"{name}: "):
        read(directory)


@pytest.mark.parametrize("make", [os.mkfifo, make_link, Path.touch, Path.mkdir])
def test_parts_that_another_left_stand_in_no_ones_way(directory: Path, make: Callable[[Path], None]) -> None:
    (directory / "results").mkdir()
    make(directory / "results" / ".parts-left")
    analyze(directory, PlainEngine())
    assert not list((directory / "results").glob(".parts*"))


def test_a_start_with_a_huge_number_is_a_gap_and_is_counted_in_no_time(tmp_path: Path) -> None:
    history = joined("base").publish().notify()
    history.add("B1", Event.STARTED, 112, count=2**63 - 1)
    (found,) = analyze(write_run(tmp_path / "run", [history]), PlainEngine()).variants
    details = " ".join(check.detail for check in found.audit)
    assert re.search(r"B1 has no starts number \d+ to 9223372036854775806", details)


def test_tables_of_another_variant_are_named_by_a_comparison(directory: Path) -> None:
    analyze(directory, PlainEngine())
    change_manifest(directory, variant(name="other"))
    with pytest.raises(RunDirectoryError, match=r"results: they are of a variant 'base' that"):
        compare_runs(directory, directory)
