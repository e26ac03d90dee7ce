"""The extent of proofs: `make test` tries some examples of a property, `make proof` sixteen times as many.

A property that asks for a number of its own has that number in both, unless it asks by `tried`. Tests that plant
defects, and so prove what other tests find, take a part of them in `make test`, drawn by `drawn`;
`make proof` takes all.

Tests with the marker `proof` prove more than one change needs to know: clusters, several hosts, cases on real brokers
that pass in the simulator, runs that take seconds and differ little from quicker ones, and all of `tests/properties`.
`make test` runs a twelfth of them, which the revision draws, so that some changes together run all; `make proof` runs
all, and so does a command that names files or tests. Those with the marker `whole` take minutes; no part has them."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import pytest

from tests.placement import sharing_module

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
PARTS = 12
"""`make test` runs one of so many parts of the proofs."""
_ROOM = "tests/properties/"
"""All tests of this room count as proofs: each property is that of many protocols, and conformance cases come first."""


def part() -> int:
    """Number, from 0, of the part of the proofs that `make test` runs.

    Neighbours in a file are in different parts, unless they share a fixture, which would be made in each of these.
    `BROKERLAB_PART` chooses a part; outside of a repository it is the first.
    """
    if chosen := os.environ.get("BROKERLAB_PART"):
        return int(chosen) % PARTS
    asked = subprocess.run(
        ["git", "rev-parse", "--verify", "--short=8", "HEAD"],
        cwd=Path(__file__).parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return int(asked.stdout, 16) % PARTS if asked.returncode == 0 else 0


def takes_a_part(config: pytest.Config) -> bool:
    """True where the user chose no tests, and all are to be run that a change must pass."""
    chosen = config.option.keyword or config.option.markexpr or config.args != config.getini("testpaths")
    return not IS_WHOLE and not chosen


def is_proof(test: pytest.Item) -> bool:
    return test.nodeid.startswith(_ROOM) or test.get_closest_marker("proof") is not None


def left_out_of(tests: Iterable[pytest.Item], number: int) -> list[pytest.Item]:
    """The proofs of all other parts, and those of no part; tests come in the order of their files."""
    all_tests = list(tests)
    whole = [test for test in all_tests if test.get_closest_marker("whole") is not None]
    places: dict[str, int] = {}
    left_out = [*whole]
    for test in all_tests:
        if is_proof(test) and test not in whole:
            place = places.setdefault(sharing_module(test) or test.nodeid, len(places))
            left_out += [test] if place % PARTS != number else []
    return left_out


def drawn(defects: Iterable[T]) -> list[T]:
    """Planted defects to try, in their order: a third of them in `make test`, at least one, and all in `make proof`."""
    rows = list(defects)
    if IS_WHOLE or not rows:
        return rows
    places = random.Random(_SEED).sample(range(len(rows)), -(-len(rows) // _SHARE))
    return [rows[place] for place in sorted(places)]
