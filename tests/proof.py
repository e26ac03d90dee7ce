"""The extent of proofs: `make test` tries some examples of a property, `make proof` sixteen times as many.

A property that asks for a number of its own has that number in both, unless it asks by `tried`. Tests that plant
defects, and so prove what other tests find, take a part of them in `make test`, drawn by `drawn`;
`make proof` takes all."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from typing import TypeVar

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


def drawn(defects: Iterable[T]) -> list[T]:
    """Planted defects to try, in their order: a third of them in `make test`, at least one, and all in `make proof`."""
    rows = list(defects)
    if IS_WHOLE or not rows:
        return rows
    places = random.Random(_SEED).sample(range(len(rows)), -(-len(rows) // _SHARE))
    return [rows[place] for place in sorted(places)]
