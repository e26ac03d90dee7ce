"""Faults of links, be they between brokers or between a site and its broker, and the time for which faults last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from studies.exploration.draws import magnitude, seconds, whole_magnitude, written

LONGEST = 100.0
"""Seconds that a fault lasts at most, where the run does; longer than protocols wait for a broker by default."""
_USUAL = 8.0
"""Seconds that most faults last at most; three heartbeats and the way back are less."""
_SHARES = (1, 3, 10)
"""Percentages of frames that a link drops or damages. With more, TCP waits after the heal of a fault as long again as
it lasted, and little else happens meanwhile."""

Fault = Mapping[str, Any]
"""A fault as scenarios list them, without its time."""


def drawn_duration(random: Random, at: int, end: int) -> str:
    """The time for which a fault that comes `at` lasts: a usual one, one of any magnitude, or one after which the run,
    up to its `end`, goes on."""
    usual, any_length = seconds(random.uniform(0.0, _USUAL)), seconds(magnitude(random, 0.001, LONGEST))
    return written(random.choice((usual, any_length, random.randint(0, max(0, end - at)))) or 1)


@dataclass(frozen=True, slots=True)
class LinkFaults:
    """Draws faults of some links, each of which is the pair of its ends."""

    random: Random
    links: Sequence[tuple[str, str]]
    end: int
    """The end of the run phase, nanoseconds since the start of the join phase."""

    def link(self) -> str:
        """A link."""
        return "-".join(self.random.choice(self.links))

    def link_or_direction(self) -> str:
        """A link, or one direction of it."""
        one, other = self.random.sample(self.random.choice(self.links), 2)
        return f"{one}->{other}" if self.random.random() < 0.4 else f"{one}-{other}"

    def cut(self, at: int) -> Fault:
        """A link that carries nothing."""
        return {"link_down": [self.link_or_direction()], "for": drawn_duration(self.random, at, self.end)}

    def flap(self, _at: int) -> Fault:
        """A link that carries nothing again and again."""
        down, up = (f"{magnitude(self.random, 1, 2_000):.3g}ms" for _ in range(2))
        return {"flap": [self.link()], "down": down, "up": up, "times": self.random.randint(2, 6)}

    def worse(self, at: int) -> Fault:
        """A link that is slower, or drops or damages frames."""
        random, lasts = self.random, drawn_duration(self.random, at, self.end)
        if random.random() < 0.3:
            return {"corrupt": [self.link()], "share": f"{random.choice(_SHARES)}%", "for": lasts}
        fault: dict[str, Any] = {"degrade": [self.link_or_direction()], "for": lasts}
        fault["delay"] = f"{magnitude(random, 1, 400):.3g}ms"
        if random.random() < 0.3:
            fault["loss"] = f"{random.choice(_SHARES)}%"
        if random.random() < 0.3:
            fault["bandwidth"] = f"{whole_magnitude(random, 10, 1_000)}kbit"
        return fault
