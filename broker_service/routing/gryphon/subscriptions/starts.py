"""Announcements of starts: the subscriptions of a leaf whose start has not been announced to their clients yet.

The paper's subscription starts in each stream with the first publication whose vector has its virtual start time. A
leaf announces the start (this is not in the paper) once every broker that can be reached has a V_b with that time, as
the acknowledgements of its news tell (`dissemination`). From then on such brokers give their publications no vector
below it, not even after a crash, because they store their V_b before they acknowledge news.

A subscription that an earlier one covers has an old start time. That this time had settled before does not suffice,
because a broker that could not be reached then may be reached now; so it has to settle once more.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from broker_service.routing.gryphon.virtual_time.clock import VirtualTime

Subscriber = TypeVar("Subscriber", bound=Hashable)


class AwaitedStarts(Generic[Subscriber]):
    """The virtual start times of subscriptions whose start has not been announced."""

    def __init__(self) -> None:
        self._times: dict[Subscriber, VirtualTime] = {}
        self._new: set[VirtualTime] = set()

    def __len__(self) -> int:
        return len(self._times)

    def add(self, subscriber: Subscriber, time: VirtualTime) -> None:
        """A subscription was made that starts at this time."""
        self._times[subscriber] = time
        self._new.add(time)

    def take_new_times(self) -> list[VirtualTime]:
        """The start times of the subscriptions that were made since this was asked last, in ascending order."""
        times = sorted(self._new)
        self._new.clear()
        return times

    def discard(self, subscriber: Subscriber) -> None:
        """A subscription was withdrawn."""
        self._times.pop(subscriber, None)

    def take(self, reached: VirtualTime) -> list[Subscriber]:
        """Removes and returns the subscriptions that start at this time or before, in the order in which they were
        made."""
        found = [subscriber for subscriber, time in self._times.items() if time <= reached]
        for subscriber in found:
            del self._times[subscriber]
        return found
