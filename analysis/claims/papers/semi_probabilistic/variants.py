"""Variants of the scenarios of semi-probabilistic routing, and the quantities of which all measures are made.

- The **delivery** of a variant is its delivery ratio: notified over due pairs of an event and a subscriber.
- **Messages** are all messages over links, subscriptions among them (section 4): those of the events, brought to the
  number of events of a published run, and those by which subscriptions were set up and changed.
- **Copies** are the messages of events alone, for each event.

Variants are called by what they vary, joined by `+`: `static+phi-1`. `phi` is the horizon, `tau` the threshold.
"""

from __future__ import annotations

from collections.abc import Sequence

from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.model import ClaimsError
from broker_service.messages import Kind

EVENTS = 9957
"""Events of a published run: 11,958,600 messages of flooding, N (l - 1) + 1 = 1201 for each event."""
DECLARATION = b'scribe"'
"""The end of the kinds `subscribe` and `unsubscribe` in a line of a log."""
HORIZONS = ("phi-0", "phi-1", "phi-2", "phi-3")


def named(run: MeasuredRun, *parts: str) -> MeasuredVariant:
    """The variant of this name. Raises `ClaimsError` where there is none."""
    name = "+".join(parts)
    for variant in run.variants:
        if variant.name == name:
            return variant
    raise ClaimsError(f"{run.directory}: there is no variant {name}")


def by_horizon(run: MeasuredRun, *point: str) -> Sequence[MeasuredVariant]:
    """The variants of one point with the horizons 0 to 3."""
    return [named(run, *point, horizon) for horizon in HORIZONS]


def copies(variant: MeasuredVariant) -> float | None:
    """Messages over links for each event; None where nothing was published."""
    return _sent(variant, publications=True) / variant.published if variant.published else None


def messages(variant: MeasuredVariant) -> float | None:
    """Messages of a published run; None where nothing was published."""
    of_events = copies(variant)
    return None if of_events is None else of_events * EVENTS + _sent(variant, publications=False)


def quotient(value: float | None, of: float | None) -> float | None:
    """One number over another; None where either is missing, or the other is 0."""
    return value / of if value is not None and of else None


def excess(value: float | None, over: float | None) -> float | None:
    """The margin by which one number exceeds another, relative to that."""
    found = quotient(value, over)
    return None if found is None else found - 1


def difference(value: float | None, less: float | None) -> float | None:
    return None if value is None or less is None else value - less


def least(values: Sequence[float | None]) -> float | None:
    """The least of several margins, which holds for all of them; None where one is missing."""
    known = [value for value in values if value is not None]
    return min(known) if len(known) == len(values) else None


def _sent(variant: MeasuredVariant, *, publications: bool) -> int:
    return sum(row.sent for row in variant.messages if (row.kind == Kind.PUBLISH.word) is publications)
