"""The extent of proofs: `make test` tries some examples of a property, `make proof` sixteen times as many.

A property that asks for a number of its own has that number in both, unless it asks by `tried`. Tests that plant
defects, and so prove what other tests find, take a part of them in `make test`, drawn by `drawn`;
`make proof` takes all.

Tests with the marker `proof` prove more than one change needs to know: clusters, several hosts, cases on real brokers
that pass in the simulator. `make test` runs a third of them, which the revision draws, so that a few changes together
run all; `make proof` runs all, and so does a command that names files or tests."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import pytest

T = TypeVar("T")

IS_WHOLE = bool(os.environ.get("BROKERLAB_PROOF"))
"""True under `make proof`."""
_TIMES = 16
EXAMPLES = 25
"""Examples of a property that asks for no number of its own."""


def tried(usual: int) -> int:
    """The number of examples, seeds or files to try, of which `make test` tries `usual`."""
    return usual * _TIMES if IS_WHOLE else usual


_SHARE = 3
"""One of so many planted defects is tried by `make test`."""
_SEED = 1
"""Another seed draws other defects."""
_THIRDS = 3


def third() -> int:
    """The third of the tests marked `proof` that `make test` runs: 0, 1 or 2.

    Tests of one file are in different thirds. `BROKERLAB_THIRD` chooses one; outside of a repository it is the first.
    """
    if chosen := os.environ.get("BROKERLAB_THIRD"):
        return int(chosen) % _THIRDS
    asked = subprocess.run(
        ["git", "rev-parse", "--verify", "--short=8", "HEAD"],
        cwd=Path(__file__).parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return int(asked.stdout, 16) % _THIRDS if asked.returncode == 0 else 0


def takes_a_third(config: pytest.Config) -> bool:
    """True where the user chose no tests, and all are to be run that a change must pass."""
    chosen = config.option.keyword or config.option.markexpr or config.args != config.getini("testpaths")
    return not IS_WHOLE and not chosen


def left_out_of(tests: Iterable[pytest.Item], number: int) -> list[pytest.Item]:
    """The tests marked `proof` in two of the three thirds; tests come in the order of their files."""
    proofs = (test for test in tests if test.get_closest_marker("proof"))
    return [test for place, test in enumerate(proofs) if place % _THIRDS != number]


def drawn(defects: Iterable[T]) -> list[T]:
    """Planted defects to try, in their order: a third of them in `make test`, at least one, and all in `make proof`."""
    rows = list(defects)
    if IS_WHOLE or not rows:
        return rows
    places = random.Random(_SEED).sample(range(len(rows)), -(-len(rows) // _SHARE))
    return [rows[place] for place in sorted(places)]
