"""The budget of delays: the parts that delays are made of, over all, by size, over time and by node."""

from __future__ import annotations

from msgspec import Struct


class DelayParts(Struct, frozen=True, kw_only=True):
    """The parts of some delays, as means of milliseconds. They are disjoint intervals that add up to the mean delay."""

    links_ms: float
    """Delay, jitter, transmission and queueing of links, as asked; of links that lose, TCP's repeats. Access links of
    clients' sites are among them."""
    waiting_for_links_ms: float
    """In output queues, and for send times of links."""
    waiting_at_brokers_ms: float
    """Behind brokers' earlier work, for modelled service, held back by a router, and for faults."""
    work_ms: float
    """Processor time of the handling: what a calibration has, or a router's logged time where that is more."""
    platform_ms: float | None
    """Wake-ups, system calls and gRPC: modelled, the mean of the calibration. Null without one."""
    contention_ms: float | None
    """Waiting for a processor. Null where it is not known; then it is in the unexplained."""
    unexplained_ms: float
    """The rest, positive or negative."""
    unexplained_absolute_ms: float
    """The mean of its absolute values, of one notification each, which do not cancel."""

    @property
    def delay_ms(self) -> float:
        """The mean delay."""
        known = (self.links_ms, self.waiting_for_links_ms, self.waiting_at_brokers_ms, self.work_ms)
        return sum(known) + (self.platform_ms or 0) + (self.contention_ms or 0) + self.unexplained_ms

    @property
    def contention_share(self) -> float | None:
        """Share of the delay for which notifications waited for processors. None where it is not known."""
        return None if self.contention_ms is None or self.delay_ms <= 0 else self.contention_ms / self.delay_ms

    def in_words(self) -> str:
        """The parts as a line; waiting that is next to nothing is left out."""
        waiting = (("waiting for links", self.waiting_for_links_ms), ("waiting at brokers", self.waiting_at_brokers_ms))
        named: list[tuple[str, float | None]] = [
            ("links", self.links_ms),
            *((name, part) for name, part in waiting if part >= _SHOWN_FROM),
            ("work", self.work_ms),
            ("platform", self.platform_ms),
            ("contention", self.contention_ms),
        ]
        shown = [f"{name} {'not known' if part is None else _rounded(part)}" for name, part in named]
        sign = "" if abs(self.unexplained_ms) < _SHOWN_FROM else "+" if self.unexplained_ms > 0 else "-"
        shown.append(f"unexplained {sign}{_rounded(abs(self.unexplained_ms))}")
        return f"{_rounded(self.delay_ms)} ms: {', '.join(shown)}"


class Budget(Struct, frozen=True, kw_only=True):
    """One row per variant and logarithmic class of delay that holds a notification whose way is in the log."""

    variant: str
    lower_ms: float
    """Inclusive."""
    upper_ms: float
    """Exclusive."""
    notifications: int
    parts: DelayParts


class BudgetOverTime(Struct, frozen=True, kw_only=True):
    """One row per variant and second in which publications were intended of whose notifications the log has the
    ways."""

    variant: str
    second: int
    notifications: int
    parts: DelayParts


class BudgetAtNode(Struct, frozen=True, kw_only=True):
    """One row per variant and node (a broker, a driver, the relay) at which there was contention, or time that nothing
    explains. Milliseconds, as means over all notifications of the variant whose ways are in the log."""

    variant: str
    node: str
    contention_ms: float | None
    """Null where it is not known."""
    unexplained_ms: float
    unexplained_absolute_ms: float
    """The mean of its absolute values, of one passage of a notification each."""


_SHOWN_FROM = 0.05
"""Milliseconds that are shown as 0.1."""


def _rounded(milliseconds: float) -> str:
    return f"{milliseconds:,.0f}" if milliseconds >= 10 else f"{milliseconds:.1f}"
