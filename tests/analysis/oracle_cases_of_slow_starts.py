"""Histories of a run in which a restarted broker listens late, or listens and takes no session back."""

from __future__ import annotations

from record.log import Event
from record.time_units import SECOND
from tests.analysis.history import RECOVERY, History, joined
from tests.analysis.oracle_cases import Case

_LATE = 110 + RECOVERY + 10
"""Seconds, long after a session should be back with a broker that was restarted at 110."""


def _restarted(variant: str, *, back: float, listens: float | None = None, seen: float | None = None) -> History:
    """B1 is restarted at 110; its session is back at some time, and what its client subscribes to again comes to it.
    Looks found that it listens at `seen`, and the last one that found nobody was at `listens`."""
    history = joined(variant).add("B1", Event.RECEIVED, 95.001, kind="subscribe", id="s1", client="S", hops=0)
    history.fault(109, "kill", "B1").heal(110, "restart", "B1").break_session(109.001, back)
    if listens is not None and seen is not None:
        span = round((seen - listens) * SECOND)
        history.add("emulator", Event.LISTENING, seen, peer="B1", duration=span)
    return history.add("B1", Event.RECEIVED, back + 0.5, kind="subscribe", id="s1", client="S", hops=0)


def _and_served(history: History) -> History:
    return history.publish(at=_LATE + 20).notify(at=_LATE + 20.1)


SLOW_STARTS = [
    Case(
        _and_served(_restarted("it started slowly", back=_LATE, listens=_LATE - 1.1, seen=_LATE - 1)),
        ["correct"],
        1,
        1,
    ),
    Case(
        _restarted("it started slowly, and a publication came meanwhile", back=_LATE, listens=_LATE - 1.1, seen=_LATE)
        .publish(at=_LATE - 0.5),
        ["correct"],
        1,
        0,
        {"excused": 1},
    ),
    Case(
        _and_served(_restarted("it was back late, and nobody looked", back=_LATE)),
        ["session broken"],
        1,
        1,
    ),
    Case(
        _and_served(_restarted("it listened, and was back late", back=_LATE, listens=110, seen=110.2)),
        ["session broken"],
        1,
        1,
    ),
    Case(
        _and_served(_restarted("it was looked at too seldom", back=_LATE, listens=110, seen=_LATE - 1)),
        ["session broken"],
        1,
        1,
    ),
    Case(
        _and_served(
            _restarted("another start was slow", back=_LATE, listens=_LATE - 1.1, seen=_LATE - 1)
            .fault(112, "kill", "B3").heal(112.5, "restart", "B3")
        ),
        ["correct"],
        1,
        1,
    ),
]  # fmt: skip
"""Looks from outside say when it listened, and nothing else excuses that a session is back late."""
