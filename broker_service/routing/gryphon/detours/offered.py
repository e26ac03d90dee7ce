"""Detours that one broker offers to others, of which it is the broker between (rules 3 and 5 of `detours`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from broker_service.messages import BrokerId, Message
from broker_service.routing.gryphon.detours.messages import Detour, Seek, Ways, send
from broker_service.routing.gryphon.overlay import LocalView
from broker_service.routing.interface import Action, LinkStatus, MalformedMessageError, Send

MOST_PARTS: Final = 2
"""Detours on which one message may be at once (rule 4), each of which takes it a link further."""


class OfferedDetours:
    """Detours that neighbours seek over one broker, and its passing on of messages that are on them."""

    def __init__(
        self,
        view: LocalView,
        brokers: Mapping[int, BrokerId],
        links: Mapping[BrokerId, LinkStatus],
        incarnations: Mapping[BrokerId, int],
        is_up: Callable[[BrokerId], bool],
    ) -> None:
        """`brokers` are those around this one by leaf. `links`, and `incarnations` of neighbours as far as they are
        known, are live views; `is_up` tells whether a neighbour can be reached, over its link or a detour."""
        self.seekers: dict[BrokerId, frozenset[BrokerId]] = {}
        """Brokers to which each neighbour seeks detours here."""
        self._view = view
        self._brokers = brokers
        self._links = links
        self._incarnations = incarnations
        self._is_up = is_up

    def receive_seek(self, neighbour: BrokerId, seek: Seek) -> list[Action]:
        """A neighbour seeks detours over this broker."""
        ends = frozenset(self._end(neighbour, leaf) for leaf in seek.leaves)
        if not self._is_up(neighbour):
            return []
        concerned = self.partners(neighbour) | ends | {neighbour}
        self.seekers[neighbour] = ends
        if not ends:
            del self.seekers[neighbour]
        return self.notify(concerned)

    def pass_on(self, neighbour: BrokerId, message: Message, detour: Detour) -> list[Action]:
        """Passes on a message of a neighbour that is on a detour; notifies that neighbour if there is none."""
        if self._view.leaves.get(neighbour) != detour.sender:
            raise MalformedMessageError(f"{neighbour} sends a message of leaf {detour.sender}")
        end = self._end(neighbour, detour.receiver)
        if not self._is_up(end) or message.hops > MOST_PARTS:
            return self.turn_back(neighbour)
        return [Send(end, msgspec.structs.replace(message, hops=message.hops + 1))]

    def turn_back(self, neighbour: BrokerId) -> list[Action]:
        """A message ends here that is on more detours than its sender knew, because links went down while it was on its
        way; its sender is notified."""
        return self.notify((neighbour,))

    def notify(self, neighbours: Iterable[BrokerId]) -> list[Action]:
        """Notifies neighbours of the detours over this broker (rule 3)."""
        actions: list[Action] = []
        for neighbour in sorted(filter(self._is_up, neighbours)):
            ends = {end for end in self.seekers.get(neighbour, ()) if self._links[end].up}
            if self._links[neighbour].up:
                ends |= {end for end, sought in self.seekers.items() if neighbour in sought and self._is_up(end)}
            found = {self._view.leaves[end]: self._incarnations[end] for end in sorted(ends)}
            actions.append(send(neighbour, Ways(found)))
        return actions

    def notify_all(self) -> list[Action]:
        """Notifies both ends of all detours that are sought here."""
        return self.notify({end for seeker, sought in self.seekers.items() for end in (seeker, *sought)})

    def partners(self, neighbour: BrokerId) -> frozenset[BrokerId]:
        """The brokers to which a neighbour seeks a detour over this broker, and those that seek one to the
        neighbour."""
        seekers = (seeker for seeker, ends in self.seekers.items() if neighbour in ends)
        return self.seekers.get(neighbour, frozenset()).union(seekers)

    def _end(self, neighbour: BrokerId, leaf: int) -> BrokerId:
        """The other end of a detour of a neighbour over this broker. Raises `MalformedMessageError` for ends that are
        not linked with each other in the whole tree."""
        end, view = self._brokers.get(leaf), self._view
        if end is None or end == neighbour:
            raise MalformedMessageError(f"{neighbour} takes a detour to leaf {leaf}")
        if not (neighbour in view.peers or end in view.peers or view.node_of[neighbour] == view.node_of[end]):
            raise MalformedMessageError(f"{neighbour} and {end} are not linked with each other")
        return end
