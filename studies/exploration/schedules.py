"""Fault schedules of every kind, and of several at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from record.faults import FaultKind
from studies.exploration.draws import magnitude, milliseconds, seconds, written
from studies.exploration.operations import Course, Timed
from studies.exploration.surroundings import Surroundings

MOST_FAULTS = 5
LONGEST = 100.0
"""Seconds that a fault lasts at most, where the run does; longer than protocols wait for a broker by default."""
_USUAL = 8.0
"""Seconds that most faults last at most; three heartbeats and the way back are less."""
_NEAR_OPERATION = 0.5
"""Share of the faults that come shortly after an operation, while the overlay is at it."""
_SHARES = (1, 3, 10)
"""Percentages of frames that a link drops or damages. With more, the simulator draws times of TCP's retransmission of a
minute and longer when a frame is dropped, which no heal shortens, though it would on real brokers."""

Fault = Mapping[str, Any]
"""A fault as scenarios list them, without its time."""


@dataclass(frozen=True, slots=True)
class Schedules:
    """Draws faults on the brokers and links of one overlay."""

    random: Random
    surroundings: Surroundings
    brokers: Sequence[str]
    links: Sequence[tuple[str, str]]
    end: int
    """The end of the run phase, nanoseconds since the start of the join phase."""

    def drawn(self, course: Course, operations: Sequence[Timed], most: int = MOST_FAULTS) -> list[Fault]:
        """Several faults, or none, at any times of the run phase and shortly before it, or shortly after operations."""
        random = self.random
        number = random.choice((0, *range(1, most + 1), 1, 2))
        late = [timed for timed in operations if timed[0] >= course.join // 2]
        times = sorted(random.randint(course.join // 2, course.end - 1) for _ in range(number))
        if number > 1 and random.random() < 0.3:  # at the same time, or nearly
            times = [times[0] + milliseconds(random.choice((0, magnitude(random, 0.1, 100)))) * place
                     for place in range(number)]  # fmt: skip
        faults = []
        for time in times:
            if late and random.random() < _NEAR_OPERATION:
                at, operation = random.choice(late)
                near = self.near(operation["broker"]) if random.random() < 0.5 else self
                faults.append(near.one(min(at + milliseconds(magnitude(random, 0.001, 1_000)), course.end - 1)))
            else:
                faults.append(self.one(min(time, course.end - 1)))
        return faults

    def near(self, *brokers: str) -> Schedules:
        """Draws faults on these brokers and the links between them, or on those of one of them."""
        chosen = [broker for broker in self.brokers if broker in brokers] or self.brokers
        between = [link for link in self.links if set(link) <= set(brokers)]
        links = between or [link for link in self.links if set(link) & set(brokers)] or self.links
        return replace(self, brokers=chosen, links=links)

    def one(self, at: int) -> Fault:
        """A fault of any kind that the protocol survives, so many nanoseconds after the start of the join phase."""
        verbs = [
            self._of_broker, self._of_broker, self._of_link, self._of_link,
            self._partition, self._flap, self._worse_link, self._reset,
        ]  # fmt: skip
        if self.surroundings.survives(FaultKind.DISTURB):
            verbs.append(self._disturb)
        if not self.links:
            verbs = [self._of_broker]
        return {"at": written(at), **self.random.choice(verbs)(at)}

    def _for(self, at: int) -> str:
        """A duration: a usual one, one of any magnitude, or one after which the run goes on."""
        random = self.random
        usual, any_length = seconds(random.uniform(0.0, _USUAL)), seconds(magnitude(random, 0.001, LONGEST))
        return written(random.choice((usual, any_length, random.randint(0, max(0, self.end - at)))) or 1)

    def _broker(self) -> str:
        return self.random.choice(self.brokers)

    def _link(self) -> str:
        return "-".join(self.random.choice(self.links))

    def _link_or_direction(self) -> str:
        one, other = self.random.sample(self.random.choice(self.links), 2)
        return f"{one}->{other}" if self.random.random() < 0.4 else f"{one}-{other}"

    def _of_broker(self, at: int) -> Fault:
        verb = self.random.choice(("kill", "kill", "stop", "pause", "slow"))
        fault: dict[str, Any] = {verb: [self._broker()], "for": self._for(at)}
        if verb == "slow":
            fault["service_time"] = f"{magnitude(self.random, 0.5, 50):.3g}ms"
        return fault

    def _of_link(self, at: int) -> Fault:
        return {"link_down": [self._link_or_direction()], "for": self._for(at)}

    def _partition(self, at: int) -> Fault:
        """Some brokers are cut off from all others: near an operation, its own broker is."""
        side = self.random.sample(list(self.brokers), self.random.randint(1, max(1, len(self.brokers) - 1)))
        return {"partition": [side, "rest"], "for": self._for(at)}

    def _flap(self, _at: int) -> Fault:
        down, up = (f"{magnitude(self.random, 1, 2_000):.3g}ms" for _ in range(2))
        return {"flap": [self._link()], "down": down, "up": up, "times": self.random.randint(2, 6)}

    def _worse_link(self, at: int) -> Fault:
        random = self.random
        if random.random() < 0.3:
            return {"corrupt": [self._link()], "share": f"{random.choice(_SHARES)}%", "for": self._for(at)}
        fault: dict[str, Any] = {"degrade": [self._link_or_direction()], "for": self._for(at)}
        fault["delay"] = f"{magnitude(random, 1, 400):.3g}ms"
        if random.random() < 0.3:
            fault["loss"] = f"{random.choice(_SHARES)}%"
        if random.random() < 0.3:
            fault["bandwidth"] = f"{magnitude(random, 10, 1000):.3g}kbit"
        return fault

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
