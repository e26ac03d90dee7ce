"""The part of the cases of each test that stands for all of them.

CI repeats against the compiled build what has run from source. Compilation breaks code, not cases: most of the code of
a test runs in each of its cases, and a case differs from the others by the words of its name, as those of protocols,
operations and overlays. So with `BROKERLAB_CASES=part` each test runs in cases, drawn by its name, that have each of
these words three times between them, or as often as there is.
"""

from __future__ import annotations

import os
import random
import re
from collections import Counter, defaultdict
from collections.abc import Sequence

import pytest

VARIABLE = "BROKERLAB_CASES"
PART = "part"
IS_PART = os.environ.get(VARIABLE) == PART
_WORDS = re.compile(r"[^-_\s\[\]]+")
_TIMES = 3


def part_of(tests: Sequence[pytest.Item]) -> set[str]:
    """The names of the tests that stand for all."""
    cases: defaultdict[str, list[str]] = defaultdict(list)
    for test in tests:
        cases[test.nodeid.partition("[")[0]].append(test.nodeid)
    return {name for test, names in cases.items() for name in having_all_words(names, test)}


def having_all_words(names: Sequence[str], seed: str) -> set[str]:
    """Those of the names, drawn by the seed, that have each word three times between them, or as often as there is."""
    shuffled = sorted(names)
    random.Random(seed).shuffle(shuffled)
    seen: Counter[str] = Counter()
    taken: set[str] = set()
    for name in shuffled:
        words = set(_WORDS.findall(name))
        if any(seen[word] < _TIMES for word in words):
            seen.update(words)
            taken.add(name)
    return taken
