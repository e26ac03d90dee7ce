"""Defects that the product once had, each by a patch that takes its mend out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from broker_service.routing.common.recognition import RecognisedPublications
from broker_service.routing.gryphon.relaying.forwarding import Forwarding
from broker_service.routing.gryphon.relaying.reception import Reception
from broker_service.routing.gryphon.streams.recognition import Recognition
from broker_service.routing.tid import router
from broker_service.routing.tid.placement.seen_sets import SeenSets
from broker_service.routing.tid.placement.setup import make_units
from studies.exploration.surroundings import Shape, Surroundings

Patch = pytest.MonkeyPatch


@dataclass(frozen=True, slots=True)
class Planted:
    """A defect, the surroundings in which it is to be found, and the kinds of defects that it shows."""

    surroundings: Surroundings
    kinds: frozenset[str]
    plant: Callable[[Patch], None]


def _takes_no_late_answers(patch: Patch) -> None:
    """Gryphon takes a publication that it had to ask for within 0.1 s only, whatever the round trip. It once repeated
    and shrank each request by then, and came to the end of what it lacked too late for any run."""

    def publication(self: Any, state: Any, *places: int, again: bool, **what: Any) -> Any:
        if again and self._forwarding.now() - state.requests._asked_at > 0.1:
            return self.moved(state)
        return original(self, state, *places, again=again, **what)

    original = Reception.publication
    patch.setattr(Reception, "publication", publication)


def _tells_nothing_of_gaps(patch: Patch) -> None:
    """Gryphon gives publications up for a broker that is cut off, and tells nobody."""
    patch.setattr(Forwarding, "lost", lambda self, state, node: {})


def _recognises_few(patch: Patch) -> None:
    """Gryphon recognises fewer publications of a client than it may have in doubt."""

    def made(self: Recognition, most: int, most_bytes: int) -> None:
        original(self, 4, most_bytes)

    original = Recognition.__init__
    patch.setattr(Recognition, "__init__", made)


def _forgets_by_age(patch: Patch) -> None:
    """MEDYM forgets a publication after two seconds, whatever a link that is cut still keeps of it."""

    def add(self: Any, key: Any, published: int, note: Any) -> None:
        original(self, key, published, note)
        for old in [each for each, (time, _) in self._known.items() if time < published - 2_000_000_000]:
            del self._known[old]

    original = RecognisedPublications.add
    patch.setattr(RecognisedPublications, "add", add)


class _ForgetfulSets(SeenSets):
    """Forgets a set after some time."""

    def __init__(self, now: Callable[[], float], span: float) -> None:
        super().__init__()
        self._now, self._span = now, span
        self._times: dict[tuple[str, ...], float] = {}

    def add(self, unit: str, *publications: str) -> bool:
        now = self._now()
        for key, time in list(self._times.items()):
            if time < now - self._span:
                del self._times[key], self._seen[key]
        is_new = super().add(unit, *publications)
        if is_new:
            self._times[unit, *publications] = now
        return is_new


def _forgets_sets(patch: Patch) -> None:
    """The home of a composite subscription forgets a set after the lateness, though a former join point's report of it
    may wait for longer."""

    def made(context: Any, *rest: Any) -> Any:
        units = make_units(context, *rest)
        units._join_points._seen = _ForgetfulSets(context.now, context.composites.lateness)
        return units

    patch.setattr(router, "make_units", made)


_DCSR = {"composites": "dcsr", "statistics_interval": 0.5, "placement_interval": 1.0}
PLANTED: Mapping[str, Planted] = {
    "gryphon takes no late answers": Planted(
        Surroundings(Shape.REDUNDANT_TREE, "gryphon"),
        frozenset({"lost", "start not announced", "no quiet", "no end"}),
        _takes_no_late_answers,
    ),
    "gryphon tells nothing of gaps": Planted(
        Surroundings(Shape.REDUNDANT_TREE, "gryphon", {"forget_after": 1.0}),
        frozenset({"lost"}),
        _tells_nothing_of_gaps,
    ),
    "gryphon recognises too few": Planted(
        Surroundings(Shape.REDUNDANT_TREE, "gryphon"), frozenset({"duplicated"}), _recognises_few
    ),
    "medym forgets by age": Planted(Surroundings(Shape.FULL, "medym"), frozenset({"duplicated"}), _forgets_by_age),
    "dcsr forgets sets": Planted(
        Surroundings(Shape.CYCLIC, "tid", _DCSR, composites=True), frozenset({"detection duplicated"}), _forgets_sets
    ),
}
"""The defects by their names."""
