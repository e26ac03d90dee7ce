"""The section `timeline`: the phases of a run."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from scenario.sections.section import Section
from scenario.sections.units import DURATION, SHORTEST_TIME, Duration


class Timeline(Section):
    """The durations of the phases."""

    join: Duration
    """Clients connect, advertise and subscribe."""
    run: Duration
    """Publishers publish."""
    drain: Duration = 5.0
    """Nothing new is published; messages in flight arrive."""
    join_order: Literal["advertisements-first", "mixed"] = "advertisements-first"
    """Advertisements in the first half of `join` and subscriptions in the second, or both at random times in it."""
    withdraw: Duration | None = None
    """Longest time to wait, after all clients have left, until routing tables are compared with those before the first
    one joined. Remaining rows make the verdict `state left`. Without it, tables are not compared."""
    advertise: Duration | None = None
    """With `advertisements-first`: the part of `join` for advertising, two fifths by default. With few publishers and
    many subscribers choose less, to leave subscriptions more time to spread."""
    subscribe: Duration | None = None
    """With `advertisements-first`: the part of `join` for subscribing, by default until a tenth of `join` is left.
    Choose less in large networks, and where announcements are gathered, because subscriptions take time to spread."""
    held: Duration | None = None
    """In the scenario that a held run (`brokerlab up`) has saved: the longest run phase that was planned, where `run`
    is the one that took place. To repeat the same run, the workload is generated for this whole time, clients have
    sessions with every broker, and protocols prepare without the clients named `by-hand-...`."""

    @model_validator(mode="after")
    def _lasts(self) -> Timeline:
        for name in ("join", "run"):
            if getattr(self, name) < SHORTEST_TIME:
                raise ValueError(f"{name} must be at least {DURATION.format(SHORTEST_TIME)}")
        if self.held is not None and self.held < self.run:
            raise ValueError(f"held must be at least run ({DURATION.format(self.run)})")
        if self.advertise is not None:
            if self.join_order == "mixed":
                raise ValueError("advertise is for join_order: advertisements-first; remove it")
            if self.advertise > self.join / 2:
                raise ValueError(f"advertise must be half of join ({self.join / 2:g} s) at most")
        if self.subscribe is not None:
            if self.join_order == "mixed":
                raise ValueError("subscribe is for join_order: advertisements-first; remove it")
            if self.subscribe > 0.3 * self.join:
                raise ValueError(f"subscribe must be three tenths of join ({0.3 * self.join:g} s) at most")
        return self

    @property
    def foreseen(self) -> Timeline:
        """The phases for which the workload is made: longer ones where a held run ended early."""
        return self if self.held is None else self.model_copy(update={"run": self.held})

    @property
    def duration(self) -> float:
        """Seconds from the start of `join` to the end of `drain`."""
        return self.join + self.run + self.drain
