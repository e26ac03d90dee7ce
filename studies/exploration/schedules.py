"""Fault schedules of every kind, and of several at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from record.faults import FaultKind
from studies.exploration.draws import magnitude, milliseconds, written
from studies.exploration.link_faults import Fault, LinkFaults, drawn_duration
from studies.exploration.operations import Course, Timed
from studies.exploration.site_faults import SiteFaults
from studies.exploration.sites import SiteInRun
from studies.exploration.surroundings import Surroundings

MOST_FAULTS = 5
_NEAR_OPERATION = 0.5
"""Share of the faults that come shortly after an operation, while the overlay is at it."""
_OF_SITES = 0.6
"""Share of the faults that strike clients, where these are on sites."""


@dataclass(frozen=True, slots=True)
class Struck:
    """The parts of one overlay that faults may strike."""

    brokers: Sequence[str]
    links: Sequence[tuple[str, str]]
    sites: Sequence[SiteInRun] = ()


@dataclass(frozen=True, slots=True)
class Schedules:
    """Draws faults on the brokers, links and sites of one overlay."""

    random: Random
    surroundings: Surroundings
    struck: Struck
    end: int
    """The end of the run phase, nanoseconds since the start of the join phase."""
    _sites: SiteFaults | None = field(default=None)

    @classmethod
    def of(cls, random: Random, surroundings: Surroundings, struck: Struck, end: int) -> Schedules:
        """Schedules on all of an overlay."""
        sites = SiteFaults(random, struck.brokers, struck.sites, struck.sites, end) if struck.sites else None
        return cls(random, surroundings, struck, end, sites)

    def drawn(self, course: Course, operations: Sequence[Timed], most: int = MOST_FAULTS) -> list[Fault]:
        """Several faults, or none, at any times of the run phase and shortly before it, or shortly after operations."""
        random = self.random
        number = random.choice((0, *range(1, most + 1), 1, 2))
        late = [timed for timed in operations if timed[0] >= course.join // 2]
        times = sorted(random.randint(course.join // 2, course.end - 1) for _ in range(number))
        if number > 1 and random.random() < 0.3:  # at the same time, or nearly
            times = [times[0] + milliseconds(random.choice((0, magnitude(random, 0.1, 100)))) * place
                     for place in range(number)]  # fmt: skip
        faults: list[Fault] = []
        schedules = self
        for drawn in times:
            time, near = drawn, schedules
            if late and random.random() < _NEAR_OPERATION:
                at, operation = random.choice(late)
                time = at + milliseconds(magnitude(random, 0.001, 1_000))
                if random.random() < 0.5:
                    near = schedules.near(operation["broker"], operation["client"])
            faults.append(near.one(min(time, course.end - 1)))
            schedules = schedules.after(faults[-1])
        return faults

    def near(self, *names: str) -> Schedules:
        """Draws faults on the brokers of these names and the links between them, or on those of one of them, and on the
        sites of these names, clients or brokers."""
        struck, named = self.struck, set(names)
        brokers = [broker for broker in struck.brokers if broker in named] or struck.brokers
        between = [link for link in struck.links if set(link) <= named]
        links = between or [link for link in struck.links if set(link) & named] or struck.links
        sites = None if self._sites is None else self._sites.near(*names)
        return replace(self, struck=Struck(brokers, links, struck.sites), _sites=sites)

    def after(self, fault: Fault) -> Schedules:
        """Draws faults that may come after this one, where it is a move."""
        return self if self._sites is None else replace(self, _sites=self._sites.after(fault))

    def one(self, at: int) -> Fault:
        """A fault of any kind that the protocol survives, so many nanoseconds after the start of the join phase."""
        if self._sites is not None and self.random.random() < _OF_SITES:
            return {"at": written(at), **self._sites.one(at)}
        links = LinkFaults(self.random, self.struck.links, self.end)
        verbs = [
            self._of_broker, self._of_broker, links.cut, links.cut,
            self._partition, links.flap, links.worse, self._reset,
        ]  # fmt: skip
        if self.surroundings.survives(FaultKind.DISTURB):
            verbs.append(self._disturb)
        if not self.struck.links:
            verbs = [self._of_broker]
        return {"at": written(at), **self.random.choice(verbs)(at)}

    def _for(self, at: int) -> str:
        return drawn_duration(self.random, at, self.end)

    def _link_or_direction(self) -> str:
        return LinkFaults(self.random, self.struck.links, self.end).link_or_direction()

    def _of_broker(self, at: int) -> Fault:
        verb = self.random.choice(("kill", "kill", "stop", "pause", "slow"))
        fault: dict[str, Any] = {verb: [self.random.choice(self.struck.brokers)], "for": self._for(at)}
        if verb == "slow":
            fault["service_time"] = f"{magnitude(self.random, 0.5, 50):.3g}ms"
        return fault

    def _partition(self, at: int) -> Fault:
        """Some brokers are cut off from all others: near an operation, its own broker is."""
        brokers = list(self.struck.brokers)
        side = self.random.sample(brokers, self.random.randint(1, max(1, len(brokers) - 1)))
        return {"partition": [side, "rest"], "for": self._for(at)}

    def _reset(self, _at: int) -> Fault:
        return {"reset": [self._link_or_direction()]}

    def _disturb(self, at: int) -> Fault:
        random = self.random
        fault: dict[str, Any] = {"disturb": [self._link_or_direction()], "for": self._for(at)}
        kinds = random.sample(("lose", "repeat", "hold"), random.randint(1, 3))
        for kind in kinds:
            share = f"{random.choice((1, 10, 33))}%"
            fault[kind] = f"{share} by {magnitude(random, 1, 1_000):.3g}ms" if kind == "hold" else share
        return fault
