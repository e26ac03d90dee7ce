"""This tree against another revision: `python -m benchmarks.compare REVISION [BENCHMARK] [--rounds N] [-- ARGUMENTS]`.

The revision is checked out into a temporary folder, with protobuf code of its own, and removed at the end. A benchmark
runs in both trees in turn, so that other work on the machine disturbs both alike. A table states the ratio of each
figure, this tree's to the revision's: the geometric mean over the rounds with its 95% interval, by Student's t
distribution of the rounds' logarithms. An interval that contains 1 shows no difference.

    python -m benchmarks.compare main simulation --rounds 10 -- relay busy
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
from rich.table import Table

from benchmarks.command import BENCHMARKS
from benchmarks.support.ratios import Ratio, ratio_of
from benchmarks.targets import console

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 5
_MEASURE = """
import importlib, pathlib, sys
import msgspec
benchmark, result, *arguments = sys.argv[1:]
judgements = importlib.import_module(f"benchmarks.{benchmark}").run(arguments)
root = pathlib.Path.cwd()
own = {folder.name for folder in root.iterdir() if folder.is_dir()}
foreign = [
    module.__file__
    for name, module in sys.modules.items()
    if name.partition(".")[0] in own and getattr(module, "__file__", None)
    and not pathlib.Path(module.__file__).is_relative_to(root)
]
if foreign:
    sys.exit(f"measured {foreign[0]}, which is not in {root}")
pathlib.Path(result).write_bytes(msgspec.json.encode(judgements))
"""
"""Program that runs a benchmark of the tree in which it is started and writes its judgements. It uses nothing of this
tree, so it measures older revisions, too."""


class CompareError(Exception):
    """The comparison cannot be made; the text gives the reason."""


class _Target(msgspec.Struct):
    name: str
    unit: str = ""


class _Judgement(msgspec.Struct):
    """The part of `benchmarks.targets.Judgement` that every revision has."""

    target: _Target
    measured: float


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value's name and unit."""

    name: str
    unit: str


Figures = Mapping[Figure, float]


@contextmanager
def checked_out(revision: str, root: Path = ROOT) -> Iterator[Path]:
    """A tree of a revision beside this one, ready to run. Raises `CompareError` for a revision that does not exist."""
    commit = _git(root, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", failure=f"no revision {revision}")
    with tempfile.TemporaryDirectory(prefix="compare-") as temporary:
        tree = Path(temporary, "tree")
        try:
            _git(root, "worktree", "add", "--quiet", "--detach", str(tree), commit, failure="cannot check it out")
            yield tree
        finally:
            _git(root, "worktree", "remove", "--force", str(tree), failure="cannot remove it")


def prepare(tree: Path, benchmark: str) -> None:
    """Generates a tree's protobuf code. Raises `CompareError` for a tree that lacks the benchmark."""
    if not (tree / "benchmarks" / f"{benchmark}.py").is_file() or not (tree / "benchmarks" / "targets.py").is_file():
        raise CompareError(
            f"the revision has no benchmark {benchmark} that judges figures, so there is none to compare"
        )
    (tree / ".venv").symlink_to(sys.prefix)
    generated = subprocess.run(["setup/proto.sh"], cwd=tree, capture_output=True, text=True, check=False)
    if generated.returncode:
        raise CompareError(f"the revision's setup/proto.sh failed: {generated.stderr.strip()}")


def measure(tree: Path, benchmark: str, arguments: Sequence[str]) -> Figures:
    """Runs a benchmark of a tree once. Raises `CompareError` if it fails."""
    with tempfile.NamedTemporaryFile(prefix="brokerlab-figures-") as result:
        command = [sys.executable, "-c", _MEASURE, benchmark, result.name, *arguments]
        environment = {**os.environ, "PYTHONPATH": str(tree)}
        done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CompareError(f"{benchmark} failed in {tree}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        judgements = msgspec.json.decode(Path(result.name).read_bytes(), type=list[_Judgement])
    return {Figure(found.target.name, found.target.unit): found.measured for found in judgements}


def alternate(
    here: Path, other: Path, benchmark: str, arguments: Sequence[str], rounds: int
) -> tuple[list[Figures], list[Figures]]:
    """Figures of this tree and of the other one, a pair each round. The order within a pair alternates."""
    found: dict[Path, list[Figures]] = {here: [], other: []}
    for number in range(rounds):
        for tree in (other, here) if number % 2 == 0 else (here, other):
            found[tree].append(measure(tree, benchmark, arguments))
        load = f"load average {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} processors"
        print(f"round {number + 1} of {rounds}: {load}", flush=True)
    return found[here], found[other]


def ratios(here: Sequence[Figures], other: Sequence[Figures]) -> dict[Figure, Ratio | None]:
    """The ratio of each figure that both trees have, in the order of this tree; None where some value is zero."""
    common = [figure for figure in here[0] if figure in other[0]]
    return {figure: ratio_of([run[figure] for run in here], [run[figure] for run in other]) for figure in common}


def _print(found: Mapping[Figure, Ratio | None], here: Sequence[Figures], other: Sequence[Figures]) -> None:
    table = Table("figure", "revision", "this tree", "ratio", "95% interval", title="medians, and ratios of pairs")
    for figure, ratio in found.items():
        values = (f"{sorted(run[figure] for run in runs)[len(runs) // 2]:,.4g} {figure.unit}" for runs in (other, here))
        shown = ("", "") if ratio is None else (f"{ratio.mean:.3f}", f"{ratio.low:.3f} to {ratio.high:.3f}")
        table.add_row(figure.name, *values, *shown)
    console().print(table)
    for figure in here[0].keys() ^ other[0].keys():
        print(f"only {'this tree' if figure in here[0] else 'the revision'} has the figure: {figure.name}")


def _git(root: Path, *arguments: str, failure: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise CompareError(f"{failure}{': ' if done.stderr else ''}{done.stderr.strip()}")
    return done.stdout.strip()


def main(arguments: Sequence[str]) -> int:
    end = list(arguments).index("--") if "--" in arguments else len(arguments)
    own, passed_on = arguments[:end], arguments[end + 1 :]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compare", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("revision", metavar="REVISION", help="a commit, a tag or a branch")
    parser.add_argument(
        "benchmark", nargs="?", default="simulation", choices=[benchmark.name for benchmark in BENCHMARKS],
        metavar="BENCHMARK", help="one of those of `make bench`; simulation by default",
    )  # fmt: skip
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help=f"pairs of runs; {ROUNDS} by default")
    options = parser.parse_args(own)
    if options.rounds < 2:
        parser.error("an interval needs two rounds")
    try:
        with checked_out(options.revision) as tree:
            prepare(tree, options.benchmark)
            here, other = alternate(ROOT, tree, options.benchmark, passed_on, options.rounds)
    except CompareError as error:
        print(error, file=sys.stderr)
        return 2
    _print(ratios(here, other), here, other)
    return 0


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _interrupt)
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main(sys.argv[1:]))
    sys.exit(130)
