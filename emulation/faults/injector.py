"""The fault injector: a schedule as an object without I/O, driven by time and counts, that returns actions.

Runs in real time and in virtual time drive the same object, each on its own `LiveOverlay`. It knows what holds on every
broker and link, and returns an action only where that changes: a broker that is down is not killed again, a link that
two faults cut comes back when the last of them ends.

In an overlay that changes, a fault holds on two brokers whether or not they are linked:

1. A fault that begins while its link is not there does nothing; its action is `missed`.
2. A link that appears while a fault holds on its brokers is hit at once, as by a partition that lasts.
3. A link that vanishes is healed right before, so that it leaves nothing behind for another link of the same brokers.

So are access links, which vanish and appear where their sites move to another broker.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from emulation.faults.moves import Moves
from record.faults import FaultKind, HealKind
from scenario.faults.conditions import (
    OF_BROKERS,
    OF_CLIENTS,
    OF_LINKS,
    Condition,
    Down,
    Moving,
    Setting,
    Target,
    begins_by,
    setting,
)
from scenario.faults.planning import FaultSchedule, ScheduledFault
from scenario.faults.programs import Begin, Change, End, Lift, Program, unfold
from scenario.faults.times import CountReached, Counts
from topology.link_properties import BrokerId, Link, LinkDirection, LinkProperties
from topology.model import Overlay
from topology.sites import Move, Site

NOTHING_YET = Counts()
_NO_LINK = LinkProperties()


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to be done to a broker or to a direction of a link."""

    kind: FaultKind | HealKind
    target: Target
    setting: Setting = None
    """Setting that holds from now on; for a degraded direction all properties, its own ones once it has recovered."""
    missed: bool = False
    """True where there is nothing to be done, because the link is not there."""

    @property
    def heals(self) -> bool:
        """True for an action that ends a fault, False for one that begins or alters it."""
        return isinstance(self.kind, HealKind)

    def __str__(self) -> str:
        return f"{self.kind} {self.target}"


class FaultInjector:
    """A schedule of faults in progress on one overlay. Times are nanoseconds from the begin of the join phase."""

    def __init__(self, schedule: FaultSchedule, overlay: Overlay, sites: Iterable[Site] = ()) -> None:
        sites = list(sites)
        self._overlay = overlay
        self._site_names = frozenset(site.name for site in sites)
        self._changed: dict[frozenset[BrokerId], Link | None] = {
            frozenset((site.name, site.broker)): site.link for site in sites
        }
        """Links that have appeared or vanished since the start, by their brokers; None for one that is not there.
        Access links are among them."""
        self.moves = Moves(sites)
        """The places of sites, and the hosts that are on their way."""
        self._numbers = itertools.count()
        self._due: list[tuple[int, int, Change, Iterator[tuple[int, Change]]]] = []
        self._waiting: list[tuple[CountReached, int, Program]] = []
        self._holding: dict[int, tuple[Condition, ...]] = {}
        self._effective: dict[tuple[type[Condition], Target], Setting] = {}
        self._entries = len(schedule.entries)
        for index, entry in enumerate(schedule.entries):
            if isinstance(entry.start, CountReached):
                self._waiting.append((entry.start, index, entry.program))
            else:
                self._push(index, unfold(entry.program, entry.start, self._numbers))

    @property
    def next_time(self) -> int | None:
        """Time at which an action is due next; None when none is, unless a count is reached."""
        return self._due[0][0] if self._due else None

    @property
    def awaits_counts(self) -> bool:
        """True while an action waits for a count."""
        return bool(self._waiting)

    @property
    def in_effect(self) -> bool:
        """True while at least one condition holds."""
        return bool(self._effective) or self.moves.under_way

    def advance(self, now: int, counts: Counts = NOTHING_YET) -> list[Action]:
        """Actions that are due now, in order. None is left out, however late it is."""
        for reached in [waiting for waiting in self._waiting if counts.of(waiting[0].counter) >= waiting[0].number]:
            self._waiting.remove(reached)
            _, index, program = reached
            self._push(index, unfold(program, now, self._numbers))
        actions: list[Action] = []
        while self._due and self._due[0][0] <= now:
            _, index, change, rest = heapq.heappop(self._due)
            actions += self._apply(change)
            self._push(index, rest)
        return actions

    @property
    def effects(self) -> list[Action]:
        """Conditions that hold, as the actions that brought them about."""
        holding = (one for one in self._conditions() if not isinstance(one, Moving) or self.moves.begun(one.move))
        return list(dict.fromkeys(Action(begins_by(one), one.target) for one in holding))

    def add(self, entry: ScheduledFault) -> None:
        """Adds a fault that begins at a time to the schedule, after all that it has."""
        assert isinstance(entry.start, int)
        self._push(self._entries, unfold(entry.program, entry.start, self._numbers))
        self._entries += 1

    def appeared(self, link: Link) -> list[Action]:
        """Records that a link has appeared. Returns the faults in effect on its brokers, which strike the link, too."""
        self._changed[frozenset((link.a, link.b))] = link
        direction = LinkDirection(link.a, link.b)
        return list(self._settle((direction, direction.reverse)))

    def vanishes(self, a: BrokerId, b: BrokerId) -> list[Action]:
        """Records that a link is about to vanish. Returns the heals of the faults on it."""
        direction = LinkDirection(a, b)
        actions = list(self._bring_about({direction: [], direction.reverse: []}))
        self._changed[frozenset((a, b))] = None
        return actions

    def heal(self) -> list[Action]:
        """Ends every fault, those to come included."""
        self._due.clear()
        self._waiting.clear()
        return self._apply(Lift())

    def _push(self, index: int, changes: Iterator[tuple[int, Change]]) -> None:
        """Notes the next change of a program. Equal times keep the order of the schedule, which holds each once."""
        if (first := next(changes, None)) is not None:
            heapq.heappush(self._due, (first[0], index, first[1], changes))

    def _apply(self, change: Change) -> list[Action]:
        missed: list[Action] = []
        match change:
            case Begin(number, conditions):
                self._holding[number] = concerned = conditions = tuple(self.moves.at_present(conditions))
                moved = [action for move in _moves_of(conditions) for action in self._set_out(move)]
                missed = [
                    Action(begins_by(condition), condition.target, missed=True)
                    for condition in conditions
                    if not self._present(condition.target)
                ]
            case End(number):
                concerned = self._holding.pop(number, ())
                moved = [action for move in _moves_of(concerned) for action in self._arrive(move)]
            case Lift():
                concerned = tuple(condition for condition in self._conditions() if change.concerns(condition))
                moved = [action for move in _moves_of(concerned) for action in self._arrive(move)]
                self._holding = {
                    number: tuple(condition for condition in conditions if not change.concerns(condition))
                    for number, conditions in self._holding.items()
                }
        return [*missed, *moved, *self._settle(dict.fromkeys(condition.target for condition in concerned))]

    def _set_out(self, move: Move) -> Iterator[Action]:
        """Begins a move: with the old access link's end where the handover is hard, with the new one where it is
        soft."""
        if not self.moves.begin(move):
            yield Action(FaultKind.MOVE, move.host, move, missed=True)
            return
        left, gained = self.moves.access_left(move), self.moves.access_gained(move)
        if left is not None and not move.handover.is_soft:
            yield from self.vanishes(left.a, left.b)
        yield Action(FaultKind.MOVE, move.host, move)
        if gained is not None and move.handover.is_soft:
            yield from self.appeared(gained)

    def _arrive(self, move: Move) -> Iterator[Action]:
        """Ends a move, if it is under way."""
        if not self.moves.begun(move):
            return
        left, gained = self.moves.access_left(move), self.moves.access_gained(move)
        self.moves.end(move)
        if left is not None and move.handover.is_soft:
            yield from self.vanishes(left.a, left.b)
        yield Action(HealKind.ARRIVE, move.host, move)
        if gained is not None and not move.handover.is_soft:
            yield from self.appeared(gained)

    def _conditions(self) -> Iterator[Condition]:
        """All conditions that hold, in the order in which they began."""
        return itertools.chain.from_iterable(self._holding.values())

    def _settle(self, targets: Iterable[Target]) -> Iterator[Action]:
        """Brings what is in effect on these targets in line with the conditions that hold on them, kind by kind."""
        holding: dict[Target, list[Condition]] = {target: [] for target in targets if self._present(target)}
        for condition in self._conditions():
            if condition.target in holding:
                holding[condition.target].append(condition)
        yield from self._bring_about(holding)

    def _bring_about(self, holding: Mapping[Target, list[Condition]]) -> Iterator[Action]:
        """Makes these conditions, and no others, the ones in effect on each target."""
        for kind in (*OF_BROKERS, *OF_LINKS, *OF_CLIENTS):
            for target, here in holding.items():
                down = kind is not Down and any(isinstance(condition, Down) for condition in here)
                holding_here = [] if down else [condition for condition in here if isinstance(condition, kind)]
                if (action := self._altered(kind, target, holding_here)) is not None:
                    yield action

    def _altered(self, kind: type[Condition], target: Target, holding: Sequence[Condition]) -> Action | None:
        key = (kind, target)
        own = self._own(target)
        if not holding:
            if key not in self._effective:
                return None
            del self._effective[key]
            return Action(kind.heals_by, target, own if isinstance(target, LinkDirection) else None)
        wanted = setting(holding, own)
        if key in self._effective and self._effective[key] == wanted:
            return None
        self._effective[key] = wanted
        return Action(begins_by(holding[-1]), target, wanted)

    def _own(self, target: Target) -> LinkProperties:
        """The properties that the overlay gives a direction of a link that is there."""
        if not isinstance(target, LinkDirection):
            return _NO_LINK
        link = self._changed.get(frozenset((target.source, target.target)))
        link = link or self._overlay.link(target.source, target.target)
        return link.properties_from(target.source)

    def _present(self, target: Target) -> bool:
        """True for a broker, and for a direction of a link that is there."""
        if not isinstance(target, LinkDirection):
            return True
        pair = frozenset((target.source, target.target))
        if pair in self._changed or pair & self._site_names:
            return self._changed.get(pair) is not None
        return target.target in self._overlay.neighbours(target.source)


def _moves_of(conditions: Iterable[Condition]) -> Iterator[Move]:
    return (condition.move for condition in conditions if isinstance(condition, Moving))
