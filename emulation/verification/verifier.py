"""The verifier: looks at the target of each planned change until it finds what the plan asks for, and once more late.

1. A stage is agreed upon with the first look that finds what was asked. Looks that find something else count from the
   time on that a change may take, and only if they were complete before the stage ended.
2. Where looking is cheap, a stage that was agreed upon is looked at once more shortly before its end, because a fault
   has to last. A look that found something else, though others agreed, is held against the time of the record.
3. A stage in which no look counted is *not verified*, with the reason.
4. Clients that run need no connections while the plan takes their broker or their access link away (`hindrances`).
5. What shows in logs alone (silence, streams that break, messages disturbed or served) becomes a question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from emulation.verification.asked import (
    BrokerState,
    ClientsState,
    DirectionState,
    Expectation,
    LinksOverTime,
    Stage,
    State,
    expect,
)
from emulation.verification.comparison import broker_differs, direction_differs, site_differs, whereabouts_differ
from emulation.verification.findings import Finding, Question
from emulation.verification.hindrances import Hindrances
from emulation.verification.inquiry import Asked, Inquiry, takes
from emulation.verification.questions import LogQuestions, asked_of_looks
from emulation.verification.seen import FaultObserver
from emulation.verification.wording import change_of
from record.time_units import SECOND
from scenario.faults import Counts, FaultSchedule
from scenario.faults.planning import ScheduledFault
from scenario.faults.times import CountReached
from topology.link_properties import BrokerId, LinkDirection
from topology.sites import ClientHost

_LATE = 0.9
"""Share of a stage after which it is looked at once more."""
_HEALING = 3.0
"""Seconds, besides what a change may take, for which the heals at the end of the run phase are awaited at most."""


@dataclass(slots=True)
class _Known:
    """Inquiries into the stages that are known so far, by target and begin."""

    inquiries: dict[tuple[object, int], Inquiry] = field(default_factory=dict)
    expectation: Expectation = field(default_factory=lambda: Expectation((), ()))


class FaultVerifier:
    """The check of one variant's planned faults. Times are nanoseconds of the run's clock.

    `begin` and `note` may be called while another thread looks: they replace what is known in one step.
    """

    def __init__(
        self,
        schedule: FaultSchedule,
        links: LinksOverTime,
        observer: FaultObserver,
        clock: Callable[[], int],
        *,
        end: int,
        cores: float | None = None,
        own_service: float = 0.0,
        sampled: bool = False,
    ) -> None:
        """`end` is that of the run phase, from the start of the join phase.

        `cores` is the quota that brokers are started with, `own_service` the mean of their service time in seconds;
        `sampled` is true where they log a sample of publications.
        """
        self._schedule = schedule
        self._links = links
        self._observer = observer
        self._clock = clock
        self._end = end
        self._cores = cores
        self._log_questions = LogQuestions(links, end=end, own_service=own_service, sampled=sampled)
        self._start: int | None = None
        self._begun: dict[int, int] = {}
        self._known = _Known()

    def begin(self, start: int) -> None:
        """The workload begins at this time, from which the schedule counts."""
        self._start = start
        self._expect()

    def replan(self, further: Sequence[ScheduledFault] = (), *, end: int | None = None) -> None:
        """Further faults are planned, after those in the schedule, or another `end` of the run phase."""
        self._schedule = FaultSchedule((*self._schedule.entries, *further))
        if end is not None:
            self._end = self._log_questions.end = end
        self._expect()

    def note(self, counts: Counts) -> bool:
        """Records the clients' counts. Returns whether a fault begins at a count that is reached now."""
        waiting = [
            index
            for index, entry in enumerate(self._schedule.entries)
            if isinstance(entry.start, CountReached)
            and index not in self._begun
            and counts.of(entry.start.counter) >= entry.start.number
        ]
        if not waiting or self._start is None:
            return False
        self._begun |= dict.fromkeys(waiting, self._clock() - self._start)
        self._expect()
        return True

    @property
    def next_look(self) -> int | None:
        """Time at which something is to be looked at; None when nothing is, as far as is known."""
        return min((inquiry.due for inquiry in self._open()), default=None)

    def look(self) -> None:
        """Looks at whatever is due now, which may take as long as the observer needs."""
        now = self._clock()
        self._close_ended(now)
        self._look_at([inquiry for inquiry in self._open() if inquiry.due <= now])
        self._close_ended(self._clock())

    def finish(self, wait: Callable[[float], None]) -> None:
        """Looks until the heals at the end of the run phase are verified; `wait` lets seconds pass.

        Heals that are not seen within the time that they may take are wrong.
        """
        observer = self._observer
        deadline = self._clock() + round((observer.start_takes + _HEALING) * SECOND)
        now = self._clock()
        for inquiry in self._open():
            inquiry.due = min(inquiry.due, now)
        self.look()
        while any(self._undecided()) and self._clock() < deadline:
            wait(observer.looks_again)
            self.look()
        for inquiry in self._open():
            inquiry.over = True

    @property
    def findings(self) -> list[Finding]:
        """Outcomes of all looks, in the order of the plan."""
        return [
            Finding(
                change=inquiry.change.text, at=inquiry.stage.begin, wrong=inquiry.wrong,
                unverified="" if inquiry.agreed_at is not None or inquiry.wrong else inquiry.unverified,
            )
            for inquiry in self._known.inquiries.values()
        ]  # fmt: skip

    @property
    def questions(self) -> list[Question]:
        """Questions that only the logs answer."""
        if self._start is None:
            return []
        observer, expectation = self._observer, self._known.expectation
        return [
            *asked_of_looks(self._known.inquiries.values(), observer, self._start),
            *self._log_questions.asked(expectation, self._start, observer.patience),
        ]

    # Stages

    def _expect(self) -> None:
        assert self._start is not None
        self._known.expectation = expect(self._schedule, self._links, self._begun, self._end)
        known = self._known.inquiries
        found: dict[tuple[object, int], Inquiry] = {}
        for stage in self._known.expectation.stages:
            if not isinstance(stage.state, BrokerState | DirectionState | ClientsState) or not _visible(stage):
                continue
            before = known.get((stage.target, stage.begin))
            if before is not None and before.asked == stage.state:
                before.stage = stage
                found[stage.target, stage.begin] = before
            else:
                found[stage.target, stage.begin] = self._inquiry(stage, stage.state, self._start)
        self._known.inquiries = found

    def _inquiry(self, stage: Stage, asked: Asked, start: int) -> Inquiry:
        change = change_of(stage)
        allowed = takes(self._observer, change.kind)
        begin = start + stage.begin
        counts_from = begin + round(allowed * SECOND)
        length = None if stage.end is None else stage.end - stage.begin
        # A broker that is asked while it is about to be paused would keep the look waiting.
        first = begin + max(1, round(self._observer.patience * SECOND))
        inquiry = Inquiry(stage, asked, change, first, counts_from)
        if length is not None and length <= (allowed + self._observer.look_takes) * SECOND:
            inquiry.unverified = f"it lasts {length / SECOND:g} s, which is too short to be seen"
        return inquiry

    def _open(self) -> Iterator[Inquiry]:
        return (inquiry for inquiry in list(self._known.inquiries.values()) if not inquiry.over)

    def _undecided(self) -> Iterator[Inquiry]:
        """Inquiries that another look may decide otherwise."""
        now = self._clock()
        return (inquiry for inquiry in self._open() if inquiry.wrong or now <= inquiry.counts_from)

    def _close_ended(self, now: int) -> None:
        for inquiry in self._open():
            end = _end_of(inquiry, self._start)
            if end is not None and now >= end:
                inquiry.over = True
                if inquiry.agreed_at is None and not inquiry.wrong:
                    inquiry.unverified = inquiry.unverified or "no look was complete while it lasted"

    # Looks

    def _look_at(self, due: Sequence[Inquiry]) -> None:
        brokers = {inquiry.stage.target: inquiry for inquiry in due if isinstance(inquiry.asked, BrokerState)}
        directions = {inquiry.stage.target: inquiry for inquiry in due if isinstance(inquiry.asked, DirectionState)}
        hosts = {inquiry.stage.target: inquiry for inquiry in due if isinstance(inquiry.stage.target, ClientHost)}
        if hosts:
            self._look_at_sites({host: inquiry for host, inquiry in hosts.items() if isinstance(host, ClientHost)})
        if brokers:
            self._look_at_brokers({str(target): inquiry for target, inquiry in brokers.items()})
        if directions:
            self._probe(
                {target: inquiry for target, inquiry in directions.items() if isinstance(target, LinkDirection)}
            )

    def _look_at_brokers(self, due: Mapping[BrokerId, Inquiry]) -> None:
        begin = self._clock()
        seen = self._observer.brokers(list(due))
        for broker, inquiry in due.items():
            asked, found = inquiry.asked, seen.get(broker)
            assert isinstance(asked, BrokerState)
            if found is None:
                inquiry.unverified = "the broker could not be looked at"
                self._again(inquiry)
            elif asked.down is not None and found.processes and found.stopping:
                inquiry.unverified = "the broker was still passing on what waited"
                self._again(inquiry)
            elif asked.down is None and found.processes == 1 and found.starting:
                inquiry.unverified = "the broker was still starting"
                self._again(inquiry)
            else:
                self._note(inquiry, begin, broker_differs(asked, found, self._cores))

    def _look_at_sites(self, due: Mapping[ClientHost, Inquiry]) -> None:
        begin = self._clock()
        seen, moved = self._observer.sites(list(due)), self._observer.connections(_places(due.values()))
        hindered = Hindrances(self._links.sites, self._known.expectation.stages, self._observer, self._start or 0).of
        for host, inquiry in due.items():
            asked, found = inquiry.asked, seen.get(host)
            assert isinstance(asked, ClientsState)
            if asked.whereabouts is not None and asked.away is None and _places([inquiry]) <= moved.keys():
                self._note(inquiry, begin, whereabouts_differ(asked.whereabouts, moved))
            elif found is None or (asked.away is None and not found.reachable):
                why = "could not be looked at" if found is None else "was cut off"
                inquiry.unverified = f"the site {why}"
                self._again(inquiry)
            elif asked.uncertain and asked.away is None:
                inquiry.unverified = "its clients may be on their way"
                self._again(inquiry)
            elif (
                (differs := site_differs(asked, host, found)) and asked.away is None and (why := hindered(host, begin))
            ):
                inquiry.unverified = f"the site had no connections, and {why}"
                self._again(inquiry)
            else:
                self._note(inquiry, begin, differs)

    def _probe(self, due: Mapping[LinkDirection, Inquiry]) -> None:
        asked = {direction: inquiry.asked for direction, inquiry in due.items()}
        states = {direction: state for direction, state in asked.items() if isinstance(state, DirectionState)}
        begin = self._clock()
        seen = self._observer.directions(
            {direction: state.properties for direction, state in states.items()},
            {direction: state.lost for direction, state in states.items()},
        )
        for direction, inquiry in due.items():
            if (found := seen.get(direction)) is None:
                inquiry.unverified = "the direction could not be probed"
                self._again(inquiry)
            else:
                self._note(inquiry, begin, direction_differs(states[direction], found))

    def _note(self, inquiry: Inquiry, begin: int, differs: str) -> None:
        """Records the result of a look that began at this time and is complete now."""
        now, end = self._clock(), _end_of(inquiry, self._start)
        if end is not None and now >= end:
            return
        if differs:
            inquiry.missing = begin, differs
            if inquiry.agreed_at is not None or begin >= inquiry.counts_from:
                inquiry.wrong = differs
            self._again(inquiry)
            return
        inquiry.wrong = ""
        late = None if inquiry.agreed_at is not None else _late_look(inquiry, end, now, self._observer)
        inquiry.agreed_at = inquiry.agreed_at or now
        if late is None:
            inquiry.over = True
        else:
            inquiry.due = late

    def _again(self, inquiry: Inquiry) -> None:
        inquiry.due = self._clock() + max(1, round(self._observer.looks_again * SECOND))


def _places(inquiries: Iterable[Inquiry]) -> set[str]:
    """The sites at which moves are to have changed something."""
    asked = (inquiry.asked for inquiry in inquiries)
    wanted = (state.whereabouts for state in asked if isinstance(state, ClientsState))
    return {
        place.site
        for whereabouts in wanted
        if whereabouts is not None
        for place in (whereabouts.found, whereabouts.left)
        if place is not None
    }


def _end_of(inquiry: Inquiry, start: int | None) -> int | None:
    """The end of the stage that is looked at; None for one that has none."""
    end = inquiry.stage.end
    return None if end is None or start is None else start + end


def _late_look(inquiry: Inquiry, end: int | None, now: int, observer: FaultObserver) -> int | None:
    """The time of another look at a stage that was agreed upon now; None for no further look."""
    if end is None or (isinstance(inquiry.asked, DirectionState) and observer.look_takes):
        return None
    late = round(now + (end - now) * _LATE - observer.look_takes * SECOND)
    return late if late > now else None


def _visible(stage: Stage) -> bool:
    """True when a stage differs from the one before it in something that can be seen from outside."""
    if isinstance(stage.before, ClientsState) and stage.state == replace(stage.before, whereabouts=None):
        return False  # where clients are has become uncertain
    return _outside(stage.before) != _outside(stage.state)


def _outside(state: State) -> object:
    match state:
        case BrokerState():
            return state.incarnation, state.down, state.paused, state.cores
        case DirectionState(properties):
            shaped = (properties.delay, properties.jitter, properties.loss, properties.rate)
            return shaped, state.cut, state.corruption, state.absent
        case ClientsState():
            return state
    return None
