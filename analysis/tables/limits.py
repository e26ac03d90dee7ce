"""Verdicts on the limits that a scenario gives its figures."""

from __future__ import annotations

import enum

import msgspec

from record.limits import LimitedFigure

_UNITS = {LimitedFigure.RECOVERY: " s", LimitedFigure.MEMORY: " MB"}
_MEGABYTE = 1e6


class LimitOutcome(enum.StrEnum):
    """The outcome of a limit."""

    MET = "met"
    MISSED = "missed"
    NOT_JUDGED = "not judged"


class LimitVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one limit of one variant."""

    figure: LimitedFigure
    """mean, p50, p95, p99, recovery, messages, excused or memory."""
    than: str | msgspec.UnsetType = msgspec.UNSET
    """The other variant of a relative limit; not set for an absolute one."""
    most: float
    """The limit: milliseconds for delays, seconds for the recovery, bytes for memory, otherwise a number. Of a relative
    limit, the largest ratio to the other variant's figure."""
    found: float | None
    """The figure, or the ratio; null where there is none."""
    outcome: LimitOutcome
    """met, missed or not judged."""
    reason: str = ""
    """The reason why it was not judged, or why there is no figure."""

    @property
    def name(self) -> str:
        """The limit as in the scenario, the same in every build: `p95`, or `mean, against fixed`."""
        return self.figure.value if self.than is msgspec.UNSET else f"{self.figure.value}, against {self.than}"

    def in_words(self) -> str:
        """The verdict as a line: the figure, the limit, and by how much it was missed."""
        wanted = self._limit_in_words()
        if self.outcome is LimitOutcome.NOT_JUDGED:
            return f"{self.figure.in_words}: not judged, {wanted}: {self.reason}"
        if self.found is None:
            return f"{self.figure.in_words}: {self.outcome}, because {self.reason}; {wanted}"
        return f"{self.figure.in_words} {self._found_in_words()}: {self._outcome_in_words()}; {wanted}"

    def _limit_in_words(self) -> str:
        if self.than is msgspec.UNSET:
            return f"at most {amount(self.figure, self.most)} expected"
        if self.most == 1:
            return f"at most {self.than}'s expected"
        if self.most < 1:
            return f"at least {_percent(1 - self.most)} less than {self.than}'s expected"
        return f"at most {_percent(self.most - 1)} more than {self.than}'s expected"

    def _found_in_words(self) -> str:
        found = self.found or 0.0
        if self.than is msgspec.UNSET:
            return amount(self.figure, found)
        if found == 1:
            return f"as {self.than}'s"
        return f"{_percent(abs(1 - found))} {'less' if found < 1 else 'more'} than {self.than}'s"

    def _outcome_in_words(self) -> str:
        if self.outcome is LimitOutcome.MET:
            return "met"
        beyond = (self.found or 0.0) - self.most
        if self.than is not msgspec.UNSET:
            return f"missed by {100 * beyond:,.3g} percentage points"
        share = f" ({_percent(beyond / self.most)})" if self.most else ""
        return f"missed by {amount(self.figure, beyond)}{share}"


def amount(figure: LimitedFigure, value: float) -> str:
    """A figure in its unit: milliseconds and seconds as they are, bytes in megabytes."""
    if figure.is_delay:
        return f"{_number(value)} ms"
    number = _number(value / _MEGABYTE if figure is LimitedFigure.MEMORY else value)
    return f"{number}{_UNITS.get(figure, '')}"


def _number(value: float) -> str:
    """A number of four digits at least, and without needless zeros."""
    return f"{value:,.0f}" if value == round(value) or value >= 1000 else f"{value:.4g}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%" if share < 10 else f"{100 * share:,.0f}%"
