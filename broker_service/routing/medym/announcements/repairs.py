"""Requests for the states that a server lacks, and answers: how often, because a request is small and an answer large.

1. A neighbour is asked at most once in `ASK_AFTER`; what is missing meanwhile is asked for then.
2. A state that a neighbour was sent is on its way to it, or there. It is not sent again for `SENT_FOR`, whatever the
   neighbour asks, unless the link was broken meanwhile. So a neighbour that asks without end gets each version of each
   state once in that time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from broker_service.routing.medym.messages import State, Version

ASK_AFTER: Final = 0.1
"""Seconds until a neighbour is asked again."""
SENT_FOR: Final = 1.0
"""Seconds for which states that a neighbour was sent count as known to it."""


@dataclass(slots=True)
class _Sent:
    since: float
    versions: dict[int, Version] = field(default_factory=dict)


class Repairs:
    """Requests and answers of one server, with their times. Servers are named by their numbers."""

    def __init__(self, now: Callable[[], float]) -> None:
        """`now` returns seconds."""
        self._now = now
        self._asked: dict[int, float] = {}
        """Times of the last requests, by neighbour."""
        self._sent: dict[int, _Sent] = {}
        """Versions of the states that each neighbour was sent lately."""

    def wait_to_ask(self, neighbour: int) -> float:
        """Seconds until a neighbour may be asked again; 0 if it may be asked now, which is then recorded as done."""
        now = self._now()
        wait = self._asked.get(neighbour, -ASK_AFTER) + ASK_AFTER - now
        if wait > 0:
            return wait
        self._asked[neighbour] = now
        return 0.0

    def with_sent(self, neighbour: int, versions: Mapping[int, Version]) -> Mapping[int, Version]:
        """The versions that a neighbour has, with those that it was sent lately."""
        sent = self._sent.get(neighbour)
        if sent is None:
            return versions
        if self._now() - sent.since >= SENT_FOR:
            del self._sent[neighbour]
            return versions
        later = {server: version for server, version in sent.versions.items() if version > versions.get(server, (0, 0))}
        return {**versions, **later}

    def note_sent(self, neighbour: int, states: Iterable[State]) -> None:
        """Records the states that a neighbour is sent."""
        versions = {state.server: state.version for state in states}
        if versions:
            sent = self._sent.setdefault(neighbour, _Sent(self._now()))
            sent.versions |= versions

    def link_up(self, neighbour: int) -> None:
        """A neighbour may have lost what it was sent."""
        self._sent.pop(neighbour, None)
