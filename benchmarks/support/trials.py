"""Trials of a benchmark, each in a process of its own, so that none inherits another's memory and caches."""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar

from benchmarks.targets import Judgement

Trial = Callable[[Path], Sequence[Judgement]]
"""Measures one or several figures, with files in the directory that it is given."""
_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def in_own_process(
    function: Callable[_Parameters, _Result], *args: _Parameters.args, **kwargs: _Parameters.kwargs
) -> _Result:
    """Calls a function of a module in a fresh process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, args, kwargs)


def parse_trials(
    parser: argparse.ArgumentParser, arguments: Sequence[str], trials: Mapping[str, Trial]
) -> argparse.Namespace:
    """The options of a parser to which `trials` is added, names of trials; ends the program for an unknown one."""
    parser.add_argument("trials", nargs="*", metavar="TRIAL", help=f"any of {', '.join(trials)}; all by default")
    options = parser.parse_args(arguments)
    if unknown := set(options.trials) - set(trials):
        parser.error(f"there is no trial {', '.join(sorted(unknown))}; choose from {', '.join(trials)}")
    return options


def run_trials(trials: Iterable[Trial]) -> list[Judgement]:
    """Runs trials one after another, and prints the judgements of each."""
    judgements: list[Judgement] = []
    with tempfile.TemporaryDirectory(prefix="brokerlab-benchmark-") as temporary:
        for trial in trials:
            for judgement in in_own_process(trial, Path(temporary)):
                judgements.append(judgement)
                print(f"  {judgement}", flush=True)
    return judgements
