"""Plants defects and infidelities one by one, and looks whether the verdict alone names them.

Each trial is a simulated run of a few brokers and a few virtual seconds in a process of its own, which is analysed and
judged as `brokerlab emulate` does. Honest runs must not be blamed. The exit code is 1 when a defect is missed or an
honest run is blamed.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from record.scratch import scratch_directory
from tests.gauntlet.catalogue import trials
from tests.gauntlet.forks import Forks
from tests.gauntlet.frozen import MUTANTS_SEED
from tests.gauntlet.hunting import hunted
from tests.gauntlet.table import show, write_json
from tests.gauntlet.trials import Outcome, Part, Trial

_EXAMPLES = """\
examples:
  python -m tests.gauntlet                       everything, within 15 minutes on two cores
  python -m tests.gauntlet --part 1/5 --seed 7   a fifth, drawn by the seed
  python -m tests.gauntlet --only medym          the trials whose name contains the word
  python -m tests.gauntlet --only mutants        the mutants alone
  python -m tests.gauntlet --list                the names of all trials but mutants
  python -m tests.gauntlet --json outcomes.json  all outcomes with their sentences, too
"""
_WITHIN = 120.0
"""Seconds that a trial may take."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does, so that nothing is left
    with scratch_directory():
        return _run(options)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.gauntlet",
        description=__doc__,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--part", default="1/1", metavar="N/M", help="the N-th of M parts of all trials")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="draws parts and faults (default: 1)")
    parser.add_argument("--mutants-seed", type=int, metavar="N", help="draws other mutants than the frozen seed")
    parser.add_argument("--only", nargs="+", default=(), metavar="NAME", help="trials whose area/name contains a NAME")
    parser.add_argument("--list", action="store_true", help="print the trials' names and run none")
    parser.add_argument(
        "--mutants", type=int, default=200, metavar="N", help="harmful mutants in all parts together (default: 200)"
    )
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="trials at a time (default: 2)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all outcomes as JSON")
    return parser.parse_args(arguments)


def _run(options: argparse.Namespace) -> int:
    try:
        part = Part.parse(options.part)
    except ValueError:
        print(f"--part {options.part}: write 1/5 for the first of five parts", file=sys.stderr)
        return 2
    wanted = [
        trial
        for trial in part.taken(trials(options.seed), options.seed)
        if not options.only or any(word in trial.title for word in options.only)
    ]
    mutants = 0 if options.only and "mutants" not in options.only else options.mutants // part.of
    if not wanted and not mutants:
        print("no trial has such a name; see --list", file=sys.stderr)
        return 2
    if options.list:
        for trial in wanted:
            print(f"{trial.kind}: {trial.title}")
        return 0
    outcomes = [*_judged(wanted, options.workers), *_hunted(options, part, mutants)]
    show(Console(highlight=False), outcomes)
    if options.json is not None:
        write_json(outcomes, options.json)
    return 0 if all(outcome.is_right for outcome in outcomes) else 1


def _judged(trials: Sequence[Trial], workers: int) -> list[Outcome]:
    ends = Forks(workers, _WITHIN).each((trial, trial.judge) for trial in trials)
    return _shown((Outcome(trial, end.result, end.failure, end.seconds) for trial, end in ends), len(trials))


def _hunted(options: argparse.Namespace, part: Part, wanted: int) -> list[Outcome]:
    seed = MUTANTS_SEED if options.mutants_seed is None else options.mutants_seed
    return _shown(hunted(Forks(options.workers, _WITHIN), seed, part, wanted), wanted) if wanted else []


def _shown(outcomes: Iterable[Outcome], number: int) -> list[Outcome]:
    """Shows the progress of outcomes as they come, and returns all."""
    came: list[Outcome] = []
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    # Refreshed by hand, because a process with a second thread must not fork.
    with Progress(*columns, console=Console(stderr=True), auto_refresh=False, transient=True) as progress:
        bar = progress.add_task("", total=number)
        for outcome in outcomes:
            came.append(outcome)
            if not outcome.is_right:
                progress.console.print(f"not as it should be: {outcome.title}", markup=False, soft_wrap=True)
            progress.update(bar, advance=1, description=outcome.title)
            progress.refresh()
    return came


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
