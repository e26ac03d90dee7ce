"""Guidance: the runs that the next ones are made of, so that calm ones are not sampled a thousand times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

from studies.exploration.mutation import Parent

_FRESH = 0.25
"""Share of the runs that are drawn anew though others could be changed."""
_MOST_KEPT = 400
"""Runs that are kept, each of some 100 kB; then the half whose news have become common is forgotten."""
_CANDIDATES = 4
"""Parents that are compared before one of them is chosen."""


class Guidance(Protocol):
    """Decides what the next run is made of."""

    def parent(self, random: Random) -> Parent | None:
        """A run to be changed; None for a new one."""

    def note(self, parent: Parent, features: Iterable[str]) -> None:
        """Takes note of a run and its features."""


class Unguided:
    """Draws every run anew."""

    def parent(self, random: Random) -> Parent | None:
        """No parent."""
        return None

    def note(self, parent: Parent, features: Iterable[str]) -> None:
        """Learns nothing."""


@dataclass(slots=True)
class ByCoverage:
    """Changes runs that showed what none had shown before, those first whose news are still rare."""

    seen: Counter[str] = field(default_factory=Counter)
    """The number of runs with each feature, those of an earlier exploration included."""
    _kept: list[tuple[Parent, tuple[str, ...]]] = field(default_factory=list)
    """Runs with what they showed first."""

    def parent(self, random: Random) -> Parent | None:
        """One of the runs that were kept."""
        if not self._kept or random.random() < _FRESH:
            return None
        candidates = [random.choice(self._kept) for _ in range(_CANDIDATES)]
        return min(candidates, key=self._rarity)[0]

    def note(self, parent: Parent, features: Iterable[str]) -> None:
        """Keeps the run if it showed something new."""
        found = sorted(features)
        news = tuple(feature for feature in found if feature not in self.seen)
        self.seen.update(found)
        if news:
            self._kept.append((parent, news))
        if len(self._kept) > _MOST_KEPT:
            self._kept = sorted(self._kept, key=self._rarity)[: _MOST_KEPT // 2]

    def _rarity(self, kept: tuple[Parent, tuple[str, ...]]) -> int:
        return min(self.seen[feature] for feature in kept[1])
