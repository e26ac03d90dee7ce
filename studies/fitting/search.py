"""A search for parameters whose simulations are cells, as a command: interrupted, it goes on where it ended."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from emulation.runtimes.ladder import SIMULATED
from record.errors import UserError
from record.exit_codes import ExitCode
from studies.cells import CellResult
from studies.cells.attempt import Keep
from studies.cells.executors.interface import ExecutorOptions
from studies.cells.store import CellStore

Result = TypeVar("Result", bound=CellResult)
Search = Callable[[CellStore[Result], ExecutorOptions], None]


def add_options(parser: argparse.ArgumentParser, out: str) -> None:
    """Adds the options that all searches have, with the default directory of the results."""
    parser.add_argument("--jobs", type=int, help="simulations side by side; as many as CPUs by default")
    parser.add_argument("--out", type=Path, default=Path(out), help="directory of the results")


def carry_out(search: Search[Result], kind: type[Result], asked: argparse.Namespace) -> int:
    """Lets a search run with its results in the directory `asked.out`, which it holds, and returns the exit code."""
    options = ExecutorOptions(runtime=SIMULATED, retries=0, keep=Keep.NONE, jobs=asked.jobs)
    store = CellStore(asked.out, kind)
    try:
        with store.held():
            search(store, options)
    except UserError as error:
        print(f"fitting: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted; the same command goes on with what was tried so far", file=sys.stderr)
        return ExitCode.INTERRUPTED
    return ExitCode.CORRECT
