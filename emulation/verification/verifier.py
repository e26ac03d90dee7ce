"""The verifier: looks at the target of each planned change until it finds what the plan asks for, and once more late.

1. A stage is agreed upon with the first look that finds what was asked. Looks that find something else count from the
   time on that a change may take, and only if they were complete before the stage ended.
2. Where looking is cheap, a stage that was agreed upon is looked at once more shortly before its end, because a fault
   has to last. A look that found something else, though others agreed, is held against the time of the record.
3. A stage in which no look counted is *not verified*, with the reason.
4. What shows in logs alone (silence, streams that break, messages disturbed or served) becomes a question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from emulation.verification.asked import (
    BrokerState,
    DirectionState,
    Expectation,
    LinksOverTime,
    Stage,
    State,
    expect,
)
from emulation.verification.comparison import broker_differs, direction_differs
from emulation.verification.findings import (
    Disturbing,
    Finding,
    Promptness,
    Question,
    Serving,
    ServingAgain,
    Silence,
    StreamReset,
)
from emulation.verification.seen import FaultObserver
from emulation.verification.wording import StageChange, change_of
from record.faults import FaultKind, HealKind
from record.time_units import SECOND
from scenario.faults import Counts, FaultSchedule
from scenario.faults.times import CountReached
from topology.link_properties import BrokerId, LinkDirection
from topology.model import MeshLinks

_LATE = 0.9
"""Share of a stage after which it is looked at once more."""
_HEALING = 3.0
"""Seconds, besides what a change may take, for which the heals at the end of the run phase are awaited at most."""

Asked = BrokerState | DirectionState


@dataclass(slots=True, eq=False)
class _Inquiry:
    """Knowledge of one stage so far."""

    stage: Stage
    asked: Asked
    change: StageChange
    due: int
    """Time of the next look."""
    counts_from: int
    """Time from which on a look counts that finds something else than asked."""
    agreed_at: int | None = None
    wrong: str = ""
    missing: tuple[int, str] | None = None
    """Begin and finding of the last look that found something else."""
    unverified: str = ""
    over: bool = False


@dataclass(slots=True)
class _Known:
    """Inquiries into the stages that are known so far, by target and begin."""

    inquiries: dict[tuple[object, int], _Inquiry] = field(default_factory=dict)
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
        self._own_service = own_service
        self._sampled = sampled
        self._start: int | None = None
        self._begun: dict[int, int] = {}
        self._known = _Known()

    def begin(self, start: int) -> None:
        """The workload begins at this time, from which the schedule counts."""
        self._start = start
        self._expect()

    def note(self, counts: Counts) -> bool:
        """Takes note of the clients' counts. Returns whether a fault begins at a count that is reached now."""
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
        self._hasten()
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
        return [] if self._start is None else list(self._questions(self._start))

    # Stages

    def _expect(self) -> None:
        assert self._start is not None
        self._known.expectation = expect(self._schedule, self._links, self._begun, self._end)
        known = self._known.inquiries
        found: dict[tuple[object, int], _Inquiry] = {}
        for stage in self._known.expectation.stages:
            if not isinstance(stage.state, BrokerState | DirectionState) or not _visible(stage):
                continue
            before = known.get((stage.target, stage.begin))
            if before is not None and before.asked == stage.state:
                before.stage = stage
                found[stage.target, stage.begin] = before
            else:
                found[stage.target, stage.begin] = self._inquiry(stage, stage.state, self._start)
        self._known.inquiries = found

    def _inquiry(self, stage: Stage, asked: Asked, start: int) -> _Inquiry:
        change = change_of(stage)
        takes = self._takes(change.kind)
        begin = start + stage.begin
        counts_from = begin + round(takes * SECOND)
        length = None if stage.end is None else stage.end - stage.begin
        # A broker that is asked while it is about to be paused would keep the look waiting.
        first = begin + max(1, round(self._observer.patience * SECOND))
        inquiry = _Inquiry(stage, asked, change, first, counts_from)
        if length is not None and length <= (takes + self._observer.look_takes) * SECOND:
            inquiry.unverified = f"it lasts {length / SECOND:g} s, which is too short to be seen"
        return inquiry

    def _takes(self, kind: FaultKind | HealKind | None) -> float:
        """Seconds that a change of this kind may take."""
        match kind:
            case FaultKind.STOP:
                return self._observer.stop_takes
            case HealKind.RESTART:
                return self._observer.start_takes
        return self._observer.patience

    def _open(self) -> Iterator[_Inquiry]:
        return (inquiry for inquiry in list(self._known.inquiries.values()) if not inquiry.over)

    def _undecided(self) -> Iterator[_Inquiry]:
        """Inquiries that another look may decide otherwise."""
        now = self._clock()
        return (inquiry for inquiry in self._open() if inquiry.wrong or now <= inquiry.counts_from)

    def _ends(self, inquiry: _Inquiry) -> int | None:
        end = inquiry.stage.end
        return None if end is None or self._start is None else self._start + end

    def _close_ended(self, now: int) -> None:
        for inquiry in self._open():
            end = self._ends(inquiry)
            if end is not None and now >= end:
                inquiry.over = True
                if inquiry.agreed_at is None and not inquiry.wrong:
                    inquiry.unverified = inquiry.unverified or "no look was complete while it lasted"

    def _hasten(self) -> None:
        now = self._clock()
        for inquiry in self._open():
            inquiry.due = min(inquiry.due, now)

    # Looks

    def _look_at(self, due: Sequence[_Inquiry]) -> None:
        brokers = {inquiry.stage.target: inquiry for inquiry in due if isinstance(inquiry.asked, BrokerState)}
        directions = {inquiry.stage.target: inquiry for inquiry in due if isinstance(inquiry.asked, DirectionState)}
        if brokers:
            self._look_at_brokers({str(target): inquiry for target, inquiry in brokers.items()})
        if directions:
            self._probe(
                {target: inquiry for target, inquiry in directions.items() if isinstance(target, LinkDirection)}
            )

    def _look_at_brokers(self, due: Mapping[BrokerId, _Inquiry]) -> None:
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
            else:
                self._note(inquiry, begin, broker_differs(asked, found, self._cores))

    def _probe(self, due: Mapping[LinkDirection, _Inquiry]) -> None:
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

    def _note(self, inquiry: _Inquiry, begin: int, differs: str) -> None:
        """Takes note of a look that began at this time and is complete now."""
        now, end = self._clock(), self._ends(inquiry)
        if end is not None and now >= end:
            return
        if differs:
            inquiry.missing = begin, differs
            if inquiry.agreed_at is not None or begin >= inquiry.counts_from:
                inquiry.wrong = differs
            self._again(inquiry)
            return
        inquiry.wrong = ""
        late = None if inquiry.agreed_at is not None else self._late_look(inquiry, end)
        inquiry.agreed_at = inquiry.agreed_at or now
        if late is None:
            inquiry.over = True
        else:
            inquiry.due = late

    def _late_look(self, inquiry: _Inquiry, end: int | None) -> int | None:
        if end is None or (isinstance(inquiry.asked, DirectionState) and self._observer.look_takes):
            return None
        now = self._clock()
        late = round(now + (end - now) * _LATE - self._observer.look_takes * SECOND)
        return late if late > now else None

    def _again(self, inquiry: _Inquiry) -> None:
        inquiry.due = self._clock() + max(1, round(self._observer.looks_again * SECOND))

    # Questions

    def _questions(self, start: int) -> Iterator[Question]:
        for inquiry in self._known.inquiries.values():
            asked, end = inquiry.asked, self._ends(inquiry)
            silent = isinstance(asked, BrokerState) and (asked.paused or asked.down is not None)
            if silent and inquiry.agreed_at is not None and end is not None:
                yield Silence(
                    finding=Finding(change=inquiry.change.text, at=inquiry.stage.begin),
                    broker=str(inquiry.stage.target), begin=inquiry.agreed_at, end=end,
                )  # fmt: skip
            yield from self._promptness(inquiry, start)
        patience = round(self._observer.patience * SECOND)
        for reset in self._known.expectation.resets:
            yield StreamReset(
                finding=Finding(change=f"{FaultKind.RESET} of {reset.direction}", at=reset.time),
                direction=reset.direction, time=start + reset.time, within=patience + SECOND,
                on_demand=isinstance(self._links.overlay.links, MeshLinks),
            )  # fmt: skip
        for stage in self._known.expectation.stages:
            yield from self._asked_of_logs(stage, start, patience)

    def _promptness(self, inquiry: _Inquiry, start: int) -> Iterator[Promptness]:
        if inquiry.missing is None or inquiry.agreed_at is None or inquiry.wrong or inquiry.change.kind is None:
            return
        missing, seen = inquiry.missing
        takes = self._takes(inquiry.change.kind)
        if isinstance(inquiry.asked, DirectionState):
            # Other frames may disturb probes, so that one look and its repetition may be wrong.
            takes += 2 * (self._observer.look_takes + self._observer.looks_again if self._observer.look_takes else 0.0)
        yield Promptness(
            finding=Finding(change=inquiry.change.text, at=inquiry.stage.begin), target=str(inquiry.stage.target),
            kind=inquiry.change.kind, missing=missing, seen=seen, planned=start + inquiry.stage.begin,
            takes=round(takes * SECOND),
        )  # fmt: skip

    def _asked_of_logs(self, stage: Stage, start: int, patience: int) -> Iterator[Question]:
        begin, end = start + stage.begin + patience, start + (self._end if stage.end is None else stage.end)
        if begin >= end:
            return
        match stage.target, stage.before, stage.state:
            case LinkDirection() as direction, DirectionState() as before, DirectionState() as state if (
                state.disturbance or before.disturbance
            ):
                kind = FaultKind.DISTURB if state.disturbance else HealKind.UNDISTURB
                finding = Finding(change=f"{kind} of {direction}", at=stage.begin)
                yield Disturbing(
                    finding=finding, direction=direction, disturbance=state.disturbance, begin=begin, end=end,
                    sampled=self._sampled,
                )  # fmt: skip
            case str() as broker, BrokerState() as before, BrokerState() as state if not (state.down or state.paused):
                yield from self._asked_of_service(broker, before, state, stage.begin, (begin, end))

    def _asked_of_service(
        self, broker: BrokerId, before: BrokerState, state: BrokerState, at: int, span: tuple[int, int]
    ) -> Iterator[Question]:
        delays = self._links.delays_to(broker)
        if state.service_time is not None:
            yield Serving(
                finding=Finding(change=f"{FaultKind.SLOW} of {broker}", at=at), broker=broker,
                service_time=state.service_time, begin=span[0], end=span[1], delays=delays,
            )  # fmt: skip
        elif before.service_time is not None and before.down is None and before.service_time.mean > self._own_service:
            yield ServingAgain(
                finding=Finding(change=f"{HealKind.FULL_SPEED} of {broker}", at=at), broker=broker,
                slowed=before.service_time, begin=span[0], end=span[1], neighbours=frozenset(delays),
            )  # fmt: skip


def _visible(stage: Stage) -> bool:
    """True when a stage differs from the one before it in something that can be seen from outside."""
    return _outside(stage.before) != _outside(stage.state)


def _outside(state: State) -> object:
    match state:
        case BrokerState():
            return state.incarnation, state.down, state.paused, state.cores
        case DirectionState(properties):
            shaped = (properties.delay, properties.jitter, properties.loss, properties.rate)
            return shaped, state.cut, state.corruption
    return None
