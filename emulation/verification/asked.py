"""States that the plan asks of brokers and of directions of links, stage by stage.

A stage of a target lasts from one change of its state to the next. Rules, as in `scenario.faults`:

1. A condition holds from the time at which its holding begins until it ends or is lifted. Everything ends with the run
   phase.
2. Of several conditions of one kind, the link or broker stays as they have it until the last of them ends; of two
   settings the later one counts, and changes of a link's properties are applied one after another.
3. A broker that is down is nothing else. Each time it comes back it is another incarnation.
4. A direction has a state only while the overlay has its link.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from broker_service.config import Disturbance
from emulation.verification.expected_moves import ExpectedMoves, Struck, Whereabouts
from record.faults import FaultKind
from record.service_time import ServiceTime
from record.time_units import SECOND
from scenario.faults import FaultSchedule
from scenario.faults.conditions import (
    Away,
    Condition,
    Corrupted,
    Cut,
    Degraded,
    Disturbed,
    Down,
    Moving,
    Paused,
    Reset,
    Slowed,
    Target,
    Throttled,
)
from scenario.faults.programs import Begin, Change, End, unfold
from scenario.faults.times import CountReached
from topology.evolutions.evolution import Appears, Vanishes
from topology.evolutions.evolution import Change as LinkChange
from topology.link_properties import BrokerId, Link, LinkDirection, LinkProperties
from topology.model import Overlay
from topology.sites import ClientHost, Site

_SHORTER_BY = 3
"""Jitters by which hardly any frame is earlier than the delay of its link."""


@dataclass(frozen=True, slots=True)
class BrokerState:
    """The state that is asked of a broker."""

    incarnation: int = 1
    down: FaultKind | None = None
    """`KILL` or `STOP`; None for a broker that should run."""
    paused: bool = False
    cores: float | None = None
    """Quota of processors that a fault gives the broker; None for the quota that it was started with."""
    service_time: ServiceTime | None = None
    """Service time that a fault gives the broker; None for its own."""


@dataclass(frozen=True, slots=True)
class DirectionState:
    """The state that is asked of a direction of a link that is there."""

    properties: LinkProperties
    cut: bool = False
    corruption: float = 0.0
    """Share of the frames that arrive damaged."""
    disturbance: Disturbance = field(default_factory=Disturbance)
    degraded: bool = False
    """True while a fault gives it other properties than its own."""
    absent: bool = False
    """True of an access link that its site does not have: it has left that broker, or has not come there yet."""

    @property
    def lost(self) -> float:
        """Share of small packets that do not arrive undamaged."""
        return 1.0 if self.cut or self.absent else 1 - (1 - self.properties.loss) * (1 - self.corruption)


@dataclass(frozen=True, slots=True)
class ClientsState:
    """The state that is asked of a host of clients."""

    away: FaultKind | None = None
    """`CRASH` or `VANISH`; None for clients that should run."""
    paused: bool = False
    whereabouts: Whereabouts | None = None
    """The places to which a move is to have brought its clients; None of a host that has not moved, or whose place is
    uncertain because of other moves."""
    clients: tuple[str, ...] = ()
    """The clients that are away or paused, which are those that were on the host when that began."""
    uncertain: bool = False
    """True where clients of it move at some time, so that its connections are asked for by `whereabouts` alone."""


State = BrokerState | DirectionState | ClientsState | None
"""State of a broker, a direction or a host of clients; None for a direction whose link between brokers is not there."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A time in which the state of a target stays the same, in nanoseconds from the start of the join phase."""

    target: Target
    before: State
    state: State
    begin: int
    end: int | None
    """End of the stage; None for the last stage, in which everything is healed."""


@dataclass(frozen=True, slots=True)
class ResetAsked:
    """A stream that the broker at which the direction begins is to close."""

    direction: LinkDirection
    time: int


@dataclass(frozen=True, slots=True)
class Expectation:
    """Everything that the plan asks for, as far as the times of its faults are known."""

    stages: tuple[Stage, ...]
    """Stages that begin with a change, in order of their begin."""
    resets: tuple[ResetAsked, ...]


@dataclass(frozen=True, slots=True)
class LinksOverTime:
    """The links of an overlay, and their changes, which count in seconds from the start of the join phase."""

    overlay: Overlay
    changes: Sequence[LinkChange] = ()
    sites: Sequence[Site] = ()
    """Hosts of clients, as they are at the start."""
    elsewhere: frozenset[BrokerId] = frozenset()
    """Brokers on other hosts. Frames that these send to sites are shaped there, and cannot be looked at here."""

    def properties(self, direction: LinkDirection) -> LinkProperties | None:
        """The properties of a direction at the start; None for a link between brokers that is not there. A site has the
        same access link wherever it is."""
        for site in self.sites:
            if site.name in (direction.source, direction.target):
                return site.up if site.name == direction.source else site.down
        if direction.target not in self.overlay.neighbours(direction.source):
            return None
        return self.overlay.link(direction.source, direction.target).properties_from(direction.source)

    def delays_to(self, broker: BrokerId) -> dict[BrokerId, float]:
        """The shortest delay in seconds that frames from each neighbour may have at any time, but for faults."""
        delays: dict[BrokerId, float] = {}
        links = [self.overlay.link(broker, neighbour) for neighbour in self.overlay.neighbours(broker)]
        links += [change.link for change in self.changes if isinstance(change, Appears)]
        for link in links:
            if broker in {link.a, link.b}:
                source = link.a if link.b == broker else link.b
                properties = link.properties_from(source)
                shortest = max(0.0, properties.delay - _SHORTER_BY * properties.jitter)
                delays[source] = min(shortest, delays.get(source, math.inf))
        return delays

    def changes_of(self, pairs: set[frozenset[BrokerId]]) -> Iterator[tuple[int, frozenset[BrokerId], Link | None]]:
        """The changes of these pairs of brokers: time, pair, and the link that is there from then on."""
        for change in self.changes:
            there = change.link if isinstance(change, Appears) else None
            pair = frozenset((change.a, change.b)) if isinstance(change, Vanishes) else _ends(change.link)
            if pair in pairs:
                yield round(change.at * SECOND), pair, there


def _ends(link: Link) -> frozenset[BrokerId]:
    return frozenset((link.a, link.b))


Event = Change | tuple[frozenset[BrokerId], Link | None]


def expect(schedule: FaultSchedule, links: LinksOverTime, begun: Mapping[int, int], end: int) -> Expectation:
    """The stages of every target that a fault of the schedule hits.

    `begun` has the times at which entries that wait for a count began, by their place in the schedule; such an entry
    that is missing has not begun. `end` is that of the run phase.
    """
    moves = [condition.move for _, condition in schedule.conditions if isinstance(condition, Moving)]
    targets = dict.fromkeys(condition.target for _, condition in schedule.conditions)
    steady = {client for site in links.sites for client in site.clients} - set(_may_end(schedule))
    expected = ExpectedMoves(links.sites, moves, steady, set(_may_hinder(schedule)), links.elsewhere)
    unfolding = _Unfolding(targets, links, expected)
    for time, index, change in _changes(schedule, links, begun, end):
        unfolding.apply(time, index, change)
    unfolding.lift(end)
    return Expectation(tuple(sorted(unfolding.stages(), key=lambda stage: stage.begin)), tuple(unfolding.resets))


def _changes(
    schedule: FaultSchedule, links: LinksOverTime, begun: Mapping[int, int], end: int
) -> list[tuple[int, int, Event]]:
    """All changes before the end, in order: at one time those of links first, then those of faults as listed."""
    found: list[tuple[int, int, Event]] = [
        (time, -1, (pair, link)) for time, pair, link in links.changes_of(set(schedule.links)) if time < end
    ]
    for index, entry in enumerate(schedule.entries):
        start = begun.get(index) if isinstance(entry.start, CountReached) else entry.start
        if start is not None:
            changes = unfold(entry.program, start, itertools.count())
            found += ((time, index, change) for time, change in _until(end, changes))
    return sorted(found, key=lambda change: change[:2])


def _until(end: int, changes: Iterable[tuple[int, Change]]) -> Iterator[tuple[int, Change]]:
    return itertools.takewhile(lambda change: change[0] < end, changes)


def _may_end(schedule: FaultSchedule) -> Iterator[str]:
    """Clients that a fault of the schedule ends, those included that it may find on a site to which they move."""
    conditions = [condition for _, condition in schedule.conditions]
    ending = [condition.target for condition in conditions if isinstance(condition, Away)]
    struck = {host.site for host in ending if host.name == host.site}
    arriving = [one.target for one in conditions if isinstance(one, Moving) and one.to in struck]
    for host in (*ending, *arriving):
        yield from host.clients


def _may_hinder(schedule: FaultSchedule) -> Iterator[Struck]:
    """Brokers and links with which a fault of the schedule may keep clients from connecting."""
    for _, condition in schedule.conditions:
        if isinstance(condition, Down | Paused) and isinstance(condition.target, str):
            yield condition.target
        elif isinstance(condition, Cut | Degraded):
            yield frozenset((condition.target.source, condition.target.target))


class _Unfolding:
    """The states of all targets while changes are applied one after another."""

    def __init__(self, targets: Iterable[Target], links: LinksOverTime, moves: ExpectedMoves) -> None:
        targets = dict.fromkeys([*targets, *moves.directions])
        self._moves = moves
        self.resets: list[ResetAsked] = []
        self._holding: dict[tuple[int, int], tuple[Condition, ...]] = {}
        self._own: dict[LinkDirection, LinkProperties | None] = {
            target: links.properties(target) for target in targets if isinstance(target, LinkDirection)
        }
        self._history: dict[Target, list[tuple[int, State]]] = {
            target: [(0, self._state(target, [], 1))] for target in targets
        }

    def apply(self, time: int, index: int, event: Event) -> None:
        match event:
            case Begin(number, planned):
                self._holding[index, number] = conditions = self._moves.as_they_are(planned)
                self.resets += [
                    ResetAsked(condition.target, time)
                    for condition in conditions
                    if isinstance(condition, Reset) and self._own[condition.target] is not None
                ]
                concerned = {condition.target for condition in conditions}
                concerned |= self._moves.begin(conditions)
            case End(number):
                ended = self._holding.pop((index, number), ())
                concerned = {condition.target for condition in ended} | self._moves.end(ended)
            case (frozenset() as pair, link):
                concerned = self._rewire(pair, link)
            case lift:
                lifted = [one for here in self._holding.values() for one in here if lift.concerns(one)]
                concerned = {condition.target for condition in lifted} | self._moves.end(lifted)
                self._keep(lambda condition: not lift.concerns(condition))
        self._note(time, concerned)

    def lift(self, time: int) -> None:
        """Ends everything that is asked, at this time."""
        self._moves.end([condition for holding in self._holding.values() for condition in holding])
        self._holding.clear()
        self._note(time, self._history)

    def stages(self) -> Iterator[Stage]:
        for target, history in self._history.items():
            for (_, before), (begin, state), following in zip(history, history[1:], [*history[2:], None], strict=False):
                yield Stage(target, before, state, begin, None if following is None else following[0])

    def _keep(self, kept: Callable[[Condition], bool]) -> None:
        self._holding = {key: tuple(filter(kept, conditions)) for key, conditions in self._holding.items()}

    def _rewire(self, pair: frozenset[BrokerId], link: Link | None) -> set[Target]:
        concerned: set[Target] = set()
        for direction in self._own:
            if frozenset((direction.source, direction.target)) == pair:
                self._own[direction] = None if link is None else link.properties_from(direction.source)
                concerned.add(direction)
        return concerned

    def _note(self, time: int, concerned: Iterable[Target]) -> None:
        by_target: dict[Target, list[Condition]] = defaultdict(list)
        for conditions in self._holding.values():
            for condition in conditions:
                by_target[condition.target].append(condition)
        for target in concerned:
            history = self._history[target]
            before = history[-1][1]
            state = self._state(target, by_target[target], _incarnation(before, by_target[target]))
            if state == before:
                continue
            if history[-1][0] == time and len(history) > 1:
                history.pop()
            if state != history[-1][1]:
                history.append((time, state))

    def _state(self, target: Target, holding: Sequence[Condition], incarnation: int) -> State:
        if isinstance(target, LinkDirection):
            own = self._own[target]
            return None if own is None else _direction_state(own, holding, absent=self._moves.is_absent(target))
        if isinstance(target, ClientHost):
            struck = next((one for one in holding if isinstance(one, Away)), None)
            idle = struck or next((one for one in holding if isinstance(one, Paused)), None)
            return ClientsState(
                None if struck is None else struck.how,
                struck is None and idle is not None,
                self._moves.whereabouts(target),
                idle.target.clients if idle is not None and isinstance(idle.target, ClientHost) else (),
                self._moves.is_uncertain(target),
            )
        return _broker_state(holding, incarnation)


def _incarnation(before: State, holding: Sequence[Condition]) -> int:
    if not isinstance(before, BrokerState):
        return 1
    comes_back = before.down is not None and not any(isinstance(condition, Down) for condition in holding)
    return before.incarnation + comes_back


def _broker_state(holding: Sequence[Condition], incarnation: int) -> BrokerState:
    paused, cores, service_time = False, None, None
    for condition in holding:
        match condition:
            case Down(_, how):
                return BrokerState(incarnation, how)
            case Paused():
                paused = True
            case Throttled(_, given):
                cores = given
            case Slowed(_, given_time):
                service_time = given_time
    return BrokerState(incarnation, None, paused, cores, service_time)


def _direction_state(own: LinkProperties, holding: Sequence[Condition], *, absent: bool) -> DirectionState:
    if absent:  # what else is asked of it holds once it is there
        return DirectionState(own, absent=True)
    cut, degraded, corruption, disturbance = False, False, 0.0, Disturbance()
    for condition in holding:
        match condition:
            case Cut():
                cut = True
            case Degraded(_, change):
                own, degraded = change.applied(own), True
            case Corrupted(_, share):
                corruption = share
            case Disturbed(_, given):
                disturbance = given
    return DirectionState(own, cut, corruption, disturbance, degraded)
