"""A comparison with another revision: its tree comes and goes, its figures are paired, and what it lacks is named."""

from __future__ import annotations

import math
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.compare import CompareError, Figure, alternate, checked_out, main, measure, prepare, ratios
from benchmarks.support.ratios import ratio_of

ROOT = Path(__file__).resolve().parents[2]
TARGETS = """
from dataclasses import dataclass
@dataclass
class Target:
    name: str
    unit: str
@dataclass
class Judgement:
    target: Target
    measured: float
"""
BENCHMARK = """
from benchmarks.targets import Judgement, Target
def run(arguments):
    print("as every benchmark does")
    return [Judgement(Target("speed", "m/s"), {speed} * float(*arguments)), Judgement(Target("{own}", ""), 1.0)]
"""
SPEED = Figure("speed", "m/s")


def repository(directory: Path) -> Path:
    """A repository whose first commit lacks the benchmark, whose second runs at 2 m/s, and whose tree does at 3 m/s."""
    shutil.copytree(ROOT / "setup", directory / "setup")
    shutil.copytree(ROOT / "proto", directory / "proto")
    for name in ("constraints.txt", ".gitignore"):
        shutil.copy(ROOT / name, directory / name)
    (directory / "broker_service" / "generated").mkdir(parents=True)
    (directory / "broker_service" / "generated" / "__init__.py").touch()
    git(directory, "init", "--quiet")
    commit(directory, "empty")
    (directory / "benchmarks").mkdir()
    (directory / "benchmarks" / "targets.py").write_text(TARGETS)
    (directory / "benchmarks" / "walk.py").write_text(BENCHMARK.format(speed=2, own="old"))
    commit(directory, "walks")
    (directory / "benchmarks" / "walk.py").write_text(BENCHMARK.format(speed=3, own="new"))
    return directory


def git(directory: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=tester", "-c", "user.email=tester@localhost"]
    return subprocess.run(
        ["git", "-C", str(directory), *identity, *arguments], check=True, capture_output=True, text=True
    ).stdout


def commit(directory: Path, tag: str) -> None:
    git(directory, "add", "--all")
    git(directory, "commit", "--quiet", "--no-verify", "-m", tag)
    git(directory, "tag", tag)


def test_a_revision_is_measured_beside_this_tree_and_leaves_nothing(tmp_path: Path) -> None:
    root = repository(tmp_path)
    with checked_out("walks", root) as tree:
        prepare(tree, "walk")
        assert list((tree / "broker_service" / "generated").glob("*_pb2.py"))
        here, other = alternate(root, tree, "walk", ["10"], 2)
    assert [run[SPEED] for run in here] == [30, 30]
    assert [run[SPEED] for run in other] == [20, 20]
    ratio = ratios(here, other)
    assert list(ratio) == [SPEED], "figures of one tree alone have no ratio"
    assert ratio[SPEED] is not None and ratio[SPEED].mean == pytest.approx(1.5)
    assert not tree.exists()
    assert len(git(root, "worktree", "list").splitlines()) == 1


def test_a_revision_without_the_benchmark_is_refused(tmp_path: Path) -> None:
    with (
        checked_out("empty", repository(tmp_path)) as tree,
        pytest.raises(CompareError, match="the revision has no benchmark walk"),
    ):
        prepare(tree, "walk")
    assert not tree.exists()


def test_a_revision_that_does_not_exist_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["no-such-revision", "simulation"]) == 2
    assert capsys.readouterr().err == "no revision no-such-revision\n"


def test_a_benchmark_that_fails_is_reported_with_its_output(tmp_path: Path) -> None:
    root = repository(tmp_path)
    with pytest.raises(CompareError, match=r"(?s)walk failed in .*could not convert string to float"):
        measure(root, "walk", ["fast"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_comparison_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    root = repository(tmp_path / "repository")
    for name in ("compare.py", "command.py", "support"):
        source = ROOT / "benchmarks" / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, root / "benchmarks" / name)
    (root / "benchmarks" / "targets.py").write_text((ROOT / "benchmarks" / "targets.py").read_text())
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    (root / "benchmarks" / "simulation.py").write_text(
        f"import pathlib, signal\ndef run(_):\n    pathlib.Path({str(begun)!r}).write_text('')\n    signal.pause()\n"
    )
    commit(root, "sleeps")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    running = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.compare", "sleeps"],
        cwd=root,
        env={"PATH": "/usr/bin:/bin", "TMPDIR": str(temporary), "PYTHONPATH": f"{root}:{ROOT}"},
        stderr=subprocess.PIPE,
    )
    begun.read_text()
    running.send_signal(number)
    _, errors = running.communicate(timeout=30)
    assert running.returncode == 130, errors.decode()
    assert not list(temporary.iterdir())
    assert len(git(root, "worktree", "list").splitlines()) == 1


def test_the_interval_of_a_ratio_contains_the_ratio_in_95_of_100_samples() -> None:
    source = random.Random(1)
    found = 0
    for _ in range(1000):
        pairs = [(source.lognormvariate(math.log(2), 0.1), source.lognormvariate(0, 0.1)) for _ in range(5)]
        ratio = ratio_of(*zip(*pairs, strict=True))
        assert ratio is not None
        found += ratio.low <= 2 <= ratio.high
    assert 930 < found < 970


def test_a_ratio_of_zeros_is_none() -> None:
    assert ratio_of([1, 0], [1, 1]) is None
    assert ratio_of([1, 1], [1, 0]) is None
