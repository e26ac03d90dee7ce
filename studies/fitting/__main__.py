"""`python -m studies.fitting`: fits the TID scenarios' assumptions to what the paper states about fixed routing.

The search spends little on most candidates and much on few, because queues differ more between seeds than between good
candidates:

1. A Latin hypercube and the assumptions in use are tried with one seed.
2. The best are rescaled to the stated delays, and further candidates are drawn around them, again with one seed.
3. The best of all get a second seed, and candidates nearer to the best of these are drawn and tried with two.
4. Successive halving: half of the candidates get twice as many seeds, until the last few have 12.

A candidate's first seed is simulated in part where Fig. 5(a) alone costs too much. It is completed before the halving,
because the mean over seeds would be biased without the costly ones.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Iterable, Sequence

from rich.console import Console

from studies.cells.executors.interface import ExecutorOptions
from studies.cells.scheduler import require_results
from studies.cells.store import CellStore
from studies.fitting.candidates import IN_USE, Candidate, hypercube, near, slower
from studies.fitting.cell import Figure, FigureCell, FigureResult
from studies.fitting.search import add_options, carry_out
from studies.fitting.stated import NUMBERS, STATEMENTS, Given, cost, loss, loss_beyond, mean, slowness

HOPELESS = 1.5
"""Loss by Fig. 5(a) alone from which on the first seed of a candidate has no other figures."""

WIDE, NARROW = 1.4, 1.2
"""Factors within which candidates are drawn around the best ones, first and then."""
SCREENED = 2
"""Seeds of the candidates among which the halving chooses."""
SECOND, LEADING = 20, 3
"""Candidates that get a second seed, and the best of them, around which candidates are drawn within `NARROW`."""
HALVING = ((8, 4), (4, 8), (3, 12))
"""Candidates that go on, and the number of seeds that they then have."""


class Fit:
    """All trials so far, in a directory, so that an interrupted fit goes on where it ended."""

    def __init__(self, store: CellStore[FigureResult], options: ExecutorOptions) -> None:
        self._store = store
        self._options = options
        self._console = Console(stderr=True, highlight=False)
        self._given: dict[Candidate, dict[int, Given]] = {}

    def try_each(self, candidates: Iterable[Candidate], seeds: int) -> None:
        """Simulates these candidates with seeds 1 to `seeds`, as far as they have no result yet."""
        trials = [(candidate, seed) for candidate in candidates for seed in range(1, seeds + 1)]
        for candidate, seed in trials:
            self._given.setdefault(candidate, {})[seed] = Given()
        self._simulate([FigureCell.of(candidate, Figure.FIGURE_5A, seed) for candidate, seed in trials])
        limit = HOPELESS if seeds <= SCREENED else math.inf
        self._simulate(
            [
                FigureCell.of(candidate, figure, seed)
                for candidate, seed in trials
                if seed > 1 or cost([self._given[candidate][1]]) <= limit
                for figure in (Figure.TABLE_3, Figure.FIGURE_5C)
            ]
        )

    def _simulate(self, cells: Sequence[FigureCell]) -> None:
        results = require_results(self._options, self._store, cells, self._console)
        for cell, result in zip(cells, results, strict=True):
            given = self._given[cell.candidate]
            given[cell.seed] = given[cell.seed].with_figure(result.given)

    def best(self, count: int, seeds: int) -> list[Candidate]:
        """The candidates of the least loss among those with at least so many seeds."""
        tried = [candidate for candidate, given in self._given.items() if len(given) >= seeds]
        return sorted(tried, key=self._rank)[:count]

    def _rank(self, candidate: Candidate) -> tuple[float, float]:
        """Sort key of a candidate: its loss. Candidates that lack a figure come last, ordered by the cost of their
        other figures."""
        given = list(self._given[candidate].values())
        return loss(given), cost(given)

    def paced(self, candidate: Candidate) -> Candidate:
        """The candidate with the time scale at which its delays would be the stated ones."""
        return slower(candidate, slowness(list(self._given[candidate].values())))

    def row(self, candidate: Candidate) -> str:
        """A row of the table: assumptions, results, loss, and the loss compared with that of the assumptions in use."""
        by_seed = self._given[candidate]
        given = list(by_seed.values())
        numbers = [mean(stated.name, given) for stated in (*NUMBERS, *STATEMENTS)]
        low, high = loss_beyond(by_seed, self._given[IN_USE], random.Random(1))
        cells = [
            candidate.overlay,
            f"{candidate.window}",
            *(f"{value:.3g}" for value in (candidate.send_time, candidate.service_time, candidate.delay)),
            f"{candidate.selectivity:.3g}%",
            f"{candidate.rate:.0f}",
            *("-" if number is None else f"{number:.3g}" for number in numbers),
            f"{len(given)}",
            f"{loss(given):.2f}",
            "in use" if candidate == IN_USE else f"{low:+.2f} to {high:+.2f}",
        ]
        return f"| {' | '.join(cells)} |"

    def best_of_each_kind(self) -> list[Candidate]:
        """The best candidate of each overlay and window, from the best kind to the worst."""
        kinds: dict[tuple[str, int], Candidate] = {}
        for candidate in self.best(len(self._given), 1):
            kinds.setdefault((candidate.overlay, candidate.window), candidate)
        return list(kinds.values())


def main() -> int:
    asked = _options()
    return carry_out(lambda store, options: _search(Fit(store, options), asked), FigureResult, asked)


def _search(fit: Fit, asked: argparse.Namespace) -> None:
    rng = random.Random(asked.seed)
    fit.try_each([IN_USE, *hypercube(asked.candidates, rng)], 1)
    paced = [fit.paced(candidate) for candidate in fit.best(asked.best, 1)]
    fit.try_each([*paced, *(new for candidate in paced for new in near(candidate, asked.near, WIDE, rng))], 1)
    fit.try_each(fit.best(SECOND, 1), SCREENED)
    leading = fit.best(LEADING, SCREENED)
    fit.try_each([new for candidate in leading for new in near(candidate, asked.near, NARROW, rng)], SCREENED)
    seeds = SCREENED
    for count, more in HALVING:
        fit.try_each([IN_USE, *fit.best(count, seeds)], more)
        seeds = more

    last = fit.best(HALVING[-1][0] + 1, seeds)
    _print_table(fit, last)
    print()
    _print_table(fit, [candidate for candidate in fit.best_of_each_kind() if candidate not in last])


def _print_table(fit: Fit, candidates: Iterable[Candidate]) -> None:
    assumed = ["overlay", "window", "send ms", "service ms", "delay ms", "selectivity", "rate"]
    stated = [*NUMBERS, *STATEMENTS]
    compared = ["seeds", "loss", "loss beyond that of the assumptions in use, 95% interval"]
    print(f"| {' | '.join([*assumed, *(number.label for number in stated), *compared])} |")
    print("|---" * (len(assumed) + len(stated) + len(compared)) + "|")
    print(f"| *stated* {'| ' * len(assumed)}{' | '.join(f'{number.value:.3g}' for number in stated)} | | 0 | |")
    for candidate in candidates:
        print(fit.row(candidate))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m studies.fitting",
        description="Fits the TID scenarios' assumptions to what the paper states about fixed routing.",
    )
    parser.add_argument("--candidates", type=int, default=108, help="size of the Latin hypercube")
    parser.add_argument("--best", type=int, default=5, help="best candidates of it around which others are drawn")
    parser.add_argument("--near", type=int, default=8, help="further candidates around each of them")
    parser.add_argument("--seed", type=int, default=1, help="seed of the draws")
    add_options(parser, "runs/fitting")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
