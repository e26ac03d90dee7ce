"""Detours between neighbouring brokers whose link is down, over a broker that can reach both.

The paper has a link between any two brokers of neighbouring nodes, and lets links fail. What a broker cannot send to a
node over its own links it sends over one other broker, so that routing goes on as if the link worked.

1. A broker seeks detours to each other broker of its node whose link is down, and to all brokers of a neighbouring node
   when its links to every one of them are down.
2. It seeks them at the brokers that are linked with both ends: for a broker of its node, at all neighbours; for one of
   a neighbouring node, at the brokers of its own node. It does so at once when a link goes down. When a link comes up
   it waits first, because others will come up as well, and so do those that found an end again.
3. A broker at which a detour is sought notifies both ends while its link to the one that is sought works and it can
   reach the seeker, and when that changes.
4. A detour counts as a link between its ends: it comes up and goes down like one. A link that works has precedence. The
   first part of a detour may be a detour itself, but not that one's first part.
5. A message on a detour is wrapped in a control message, which the broker between passes on. What comes from a former
   incarnation of its sender is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple

from broker_service.messages import BrokerId
from broker_service.routing.gryphon.detours.messages import Detour, Seek, Ways, send, wrapped
from broker_service.routing.gryphon.detours.offered import MOST_PARTS, OfferedDetours
from broker_service.routing.gryphon.overlay import LocalView
from broker_service.routing.gryphon.timer_keys import SeekDetours
from broker_service.routing.interface import Action, Actions, LinkStatus, MalformedMessageError, Send, SetTimer

_SEEK_AGAIN: Final = 2.0
"""Seconds after which a broker repeats what it seeks, because messages may be lost."""


class _Way(NamedTuple):
    """An open detour."""

    over: BrokerId
    incarnation: int
    """Incarnation of the broker at the other end."""


class Detours:
    """The detours that one broker seeks and uses. `links` are those of the broker, a live view."""

    def __init__(
        self,
        view: LocalView,
        links: Mapping[BrokerId, LinkStatus],
        incarnation: int,
        *,
        wait: float,
        opened: Callable[[BrokerId, int], Actions],
        closed: Callable[[BrokerId], Actions],
    ) -> None:
        """`wait` is in seconds (rule 2). A detour comes up with `opened`, which gets the incarnation of its other end,
        and goes down with `closed`."""
        self.links = links
        self._view = view
        self._incarnation = incarnation
        self._wait = wait
        self._opened = opened
        self._closed = closed
        self._brokers = {leaf: broker for broker, leaf in view.leaves.items()}
        self._incarnations: dict[BrokerId, int] = {}
        """Incarnations of neighbours, as far as they are known."""
        self._sought: dict[BrokerId, tuple[int, ...]] = {}
        """Leaves of the brokers that are sought at each neighbour."""
        self._found: dict[BrokerId, Mapping[int, int]] = {}
        """The latest `Ways` of each neighbour: leaves that it offers detours to, with their brokers' incarnations."""
        self.open: dict[BrokerId, _Way] = {}
        """Open detours by the broker at their other end."""
        self.offered = OfferedDetours(view, self._brokers, links, self._incarnations, self.is_up)
        """Detours of others over this broker."""

    def is_up(self, neighbour: BrokerId) -> bool:
        """True when a neighbour can be reached, over its link or a detour."""
        return self.links[neighbour].up or neighbour in self.open

    def round_trip(self, neighbour: BrokerId) -> float | None:
        """Seconds to a neighbour and back, over a detour twice those of its first part; None before they are known."""
        if self.links[neighbour].up or neighbour not in self.open:
            return self.links[neighbour].round_trip
        first = self.round_trip(self.open[neighbour].over)
        return None if first is None else 2 * first

    def carried(self, actions: Actions) -> Actions:
        """Actions whose messages to the other ends of detours are wrapped."""
        for _ in range(MOST_PARTS):
            actions = [self._carried(action) for action in actions]
        return actions

    # Links

    def link_up(self, neighbour: BrokerId, incarnation: int) -> list[Action]:
        """A link works (again); a detour to this neighbour is needed no more."""
        self._forget(neighbour)
        self._incarnations[neighbour] = incarnation
        actions = [] if self.open.pop(neighbour, None) is None else list(self._closed(neighbour))
        actions += self._review()
        if self.offered.seekers or any(self._sought.values()) or any(map(self._wants, self._view.leaves)):
            actions.append(SetTimer(SeekDetours(), self._wait, awaited=True))
        return actions

    def link_down(self, neighbour: BrokerId) -> list[Action]:
        """Closes detours over a neighbour, and seeks new ones."""
        concerned = self._forget(neighbour)
        again = SetTimer(SeekDetours(), self._wait, awaited=True)
        return [*self.offered.notify(concerned), *self._review(), *self._seek(), again]

    def timer(self) -> list[Action]:
        """Seeks what this broker wants, and notifies others of what they seek here."""
        asked = [neighbour for neighbour, leaves in self._sought.items() if leaves]
        actions = [*self._seek(asked), *self.offered.notify_all()]
        return [*actions, SetTimer(SeekDetours(), _SEEK_AGAIN)] if any(self._sought.values()) else actions

    def _seek(self, again: Collection[BrokerId] = ()) -> list[Action]:
        """Seeks what this broker wants at the neighbours that may know a way (rule 2): those that it has not asked for
        the same, and those of `again`."""
        view = self._view
        wanted = [broker for broker in view.leaves if self._wants(broker)]
        actions: list[Action] = []
        for neighbour in filter(self.is_up, view.leaves):
            ends = [end for end in wanted if end != neighbour and (neighbour in view.peers or end in view.peers)]
            leaves = tuple(view.leaves[end] for end in ends)
            if leaves != self._sought.get(neighbour, ()) or neighbour in again:
                self._sought[neighbour] = leaves
                actions.append(send(neighbour, Seek(leaves)))
        return actions

    # Messages

    def receive_ways(self, neighbour: BrokerId, ways: Ways) -> list[Action]:
        """A neighbour has notified this broker of the detours over it."""
        for leaf, incarnation in ways.found.items():
            if leaf not in self._brokers or self._brokers[leaf] == neighbour or incarnation < 1:
                raise MalformedMessageError(f"{neighbour} offers a detour to leaf {leaf}")
        if not self.is_up(neighbour):
            return []
        self._found[neighbour] = ways.found
        return self._review()

    def sender_of(self, neighbour: BrokerId, detour: Detour) -> BrokerId | None:
        """The broker that sent a message to this broker on a detour; None when that incarnation of it has ended."""
        sender = self._brokers.get(detour.sender)
        if sender is None or sender == neighbour:
            raise MalformedMessageError(f"{neighbour} passes on a message of leaf {detour.sender}")
        return sender if detour.incarnation >= self._incarnations.get(sender, 0) else None

    def _wants(self, broker: BrokerId) -> bool:
        """True for a broker to which a detour is sought (rule 1)."""
        node = self._view.node_of.get(broker)
        members = (broker,) if node is None else self._view.members[node]
        return not any(self.links[member].up for member in members)

    def _review(self) -> list[Action]:
        """Closes detours that are not offered any more, and opens those that are."""
        actions: list[Action] = []
        while (end := next((end for end, way in self.open.items() if not self._offers(way, end)), "")) != "":
            del self.open[end]
            concerned = self._forget(end)
            actions += [*self._closed(end), *self.offered.notify(concerned)]
        opened = False
        for over, found in list(self._found.items()):
            for end in [self._brokers[leaf] for leaf in found]:
                if self.is_up(end) or self._parts(over) >= MOST_PARTS:
                    continue
                way = _Way(over, found[self._view.leaves[end]])
                self.open[end], opened = way, True
                self._incarnations[end] = max(self._incarnations.get(end, 0), way.incarnation)
                actions += self._opened(end, way.incarnation)
        return [*actions, *self._seek()] if opened else actions

    def _offers(self, way: _Way, end: BrokerId) -> bool:
        """True while the broker that a detour leads over offers it."""
        return self._found.get(way.over, {}).get(self._view.leaves[end]) == way.incarnation

    def _parts(self, neighbour: BrokerId) -> int:
        """The number of detours on which a message to a neighbour is."""
        if self.links[neighbour].up:
            return 0
        return 1 + self._parts(self.open[neighbour].over)

    def _forget(self, neighbour: BrokerId) -> frozenset[BrokerId]:
        """Forgets what a neighbour sought and offered, and what was sought at it, because its link or the detour to it
        has broken. Returns the other ends of detours between it and them over this broker."""
        concerned = self.offered.partners(neighbour)
        for kept in (self._sought, self._found, self.offered.seekers):
            kept.pop(neighbour, None)
        return concerned

    def _carried(self, action: Action) -> Action:
        if not isinstance(action, Send) or self.links[action.neighbour].up or action.neighbour not in self.open:
            return action
        end = action.neighbour
        message = wrapped(action.message, self._view.leaf, self._incarnation, self._view.leaves[end])
        return Send(self.open[end].over, message, label=action.label or "detour", ahead=action.ahead)
