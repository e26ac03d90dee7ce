"""`python -m studies.fitting`: fits the TID scenarios' assumptions to what the paper states about fixed routing."""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from emulation.host.worker_processes import WorkerProcesses
from studies.fitting.candidates import Candidate, hypercube, near, slower
from studies.fitting.stated import NUMBERS, STATEMENTS, Given, cost, loss, mean, slowness
from studies.fitting.trial import SCREENING, Trial, conduct, read_result

SPREAD = 1.3
"""Factor within which candidates are drawn anew around the best ones."""


class Fit:
    """All trials so far, on disk, so that an interrupted fit goes on where it ended."""

    def __init__(self, directory: Path, jobs: int) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._processes = WorkerProcesses(conduct, jobs, preload=[conduct.__module__])
        self._given: dict[Candidate, list[Given]] = {}

    def try_all(self, candidates: Iterable[Candidate], seeds: Sequence[int]) -> None:
        """Conducts the trials of these candidates that have no result yet."""
        every = [Trial(candidate, seed, self._file(candidate, seed)) for candidate in candidates for seed in seeds]
        missing = [trial for trial in every if not trial.file.exists()]
        for number, _ in enumerate(self._processes.run(missing), start=1):
            print(f"[{number}/{len(missing)}]", file=sys.stderr, flush=True)
        for trial in every:
            self._given.setdefault(trial.candidate, []).append(read_result(trial.file).given)

    def best(self, count: int, seeds: int) -> list[Candidate]:
        """The candidates of the least loss among those with at least so many seeds."""
        tried = [candidate for candidate, given in self._given.items() if len(given) >= seeds]
        return sorted(tried, key=self._rank)[:count]

    def _rank(self, candidate: Candidate) -> tuple[float, float]:
        """By loss; candidates that lack a figure come last, ordered by what their other figures cost."""
        given = self._given[candidate]
        return loss(given), cost(given)

    def paced(self, candidate: Candidate) -> Candidate:
        """The candidate with the time scale at which its delays would be the stated ones."""
        return slower(candidate, slowness(self._given[candidate]))

    def row(self, candidate: Candidate) -> str:
        """A row of the table: assumptions, results and loss."""
        given = self._given[candidate]
        numbers = [mean(stated.name, given) for stated in (*NUMBERS, *STATEMENTS)]
        cells = [
            candidate.overlay,
            f"{candidate.window}",
            *(f"{value:.3g}" for value in (candidate.send_time, candidate.service_time, candidate.delay)),
            f"{candidate.selectivity:.3g}%",
            f"{candidate.rate:.0f}",
            *("-" if number is None else f"{number:.3g}" for number in numbers),
            f"{loss(given):.2f}",
        ]
        return f"| {' | '.join(cells)} |"

    def _file(self, candidate: Candidate, seed: int) -> Path:
        numbers = "-".join(f"{getattr(candidate, name):.6g}" for name in candidate.__struct_fields__[1:])
        return self._directory / f"{candidate.overlay.replace(' ', '_')}-{numbers}-{seed}.json"


def main() -> int:
    options = _options()
    rng = random.Random(options.seed)
    fit = Fit(options.out, options.jobs)
    fit.try_all(hypercube(options.candidates, rng), [SCREENING])
    paced = [fit.paced(candidate) for candidate in fit.best(options.best, 1)]
    fit.try_all(
        [*paced, *(new for candidate in paced for new in near(candidate, options.near, SPREAD, rng))], range(1, 2)
    )
    fit.try_all(fit.best(options.last, 1), range(SCREENING + 1, SCREENING + options.seeds))
    assumed = ["overlay", "window", "send ms", "service ms", "delay ms", "selectivity", "rate"]
    stated = [*NUMBERS, *STATEMENTS]
    print(f"| {' | '.join([*assumed, *(number.label for number in stated), 'loss'])} |")
    print("|---" * (len(assumed) + len(stated) + 1) + "|")
    print(f"| *stated* {'| ' * len(assumed)}{' | '.join(f'{number.value:.3g}' for number in stated)} | 0 |")
    for candidate in fit.best(options.last, options.seeds):
        print(fit.row(candidate))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m studies.fitting", description=__doc__)
    parser.add_argument("--candidates", type=int, default=60, help="size of the Latin hypercube")
    parser.add_argument("--best", type=int, default=3, help="candidates of it around which others are drawn")
    parser.add_argument("--near", type=int, default=5, help="further candidates around each of them")
    parser.add_argument("--last", type=int, default=4, help="candidates that are tried with more seeds")
    parser.add_argument("--seeds", type=int, default=4, help="seeds of these")
    parser.add_argument("--seed", type=int, default=1, help="seed of the draws")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="trials side by side")
    parser.add_argument("--out", type=Path, default=Path("runs/fitting"), help="directory of the results")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
