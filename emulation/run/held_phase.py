"""The run phase of a variant that is held: it ends by an event, and what users ask for is done meanwhile.

It ends when the holder asks for the end, at the time limit, which is the length of the phase in the plan, or when the
logs reach their quota. Faults and operations by hand become entries of the scenario in the manifest, of the schedule of
faults and of the planned work, so that every judge knows of them as of those that were planned.
"""

from __future__ import annotations

import itertools
import time

from emulation.held.by_hand import ByHand
from emulation.held.hold import Asked
from emulation.held.requests import (
    Answer,
    Done,
    FaultRequest,
    HealRequest,
    PublishRequest,
    Refused,
    Request,
    SitePlace,
    Status,
    SubscribeRequest,
    TimeRequest,
    UnsubscribeRequest,
)
from emulation.planning.plan import VariantPlan, planned_work_of
from emulation.run.context import RunContext
from emulation.run.deployment import Deployment
from emulation.run.events import VariantEvents
from emulation.run.hands import Hands
from record import manifest
from record.errors import UserError
from record.manifest import PhaseName, VariantRecord
from record.time_units import MILLISECOND, SECOND
from scenario.faults.planning import ScheduledFault
from scenario.sections.units import DURATION, SIZE
from scenario.workload.operations import PlannedOperation

_SHOW_EVERY = 1.0
"""Seconds between two times at which the state of the run is made known."""
_ENDING = 0.5
"""Seconds from the decision to end the run to the end of its workload, in which drivers learn of it."""


class HeldPhase:
    """The run phase of one variant under its holder's hands."""

    def __init__(
        self,
        context: RunContext,
        plan: VariantPlan,
        deployment: Deployment,
        hands: Hands,
        *,
        record: VariantRecord,
        events: VariantEvents,
    ) -> None:
        self._context = context
        self._plan = plan
        self._deployment = deployment
        self._record = record
        self._events = events
        self._hands = hands
        passing = hands.passing
        self._by_hand = ByHand(
            plan.scenario,
            context.manifest.runtime.name,
            lead=passing.lead,
            grain=passing.grain,
            demand=plan.demand,
        )
        self._begin = 0
        self._show_at = 0.0
        """Time of the host at which the state of the run is made known next."""
        self._changed: int | None = None
        """Time of the last fault or heal by hand."""

    def pass_until_over(self, begin: int, limit: int) -> int:
        """Lets time pass until the run is to end; returns that time, at most `limit`. The workload began at `begin`."""
        self._begin = begin
        hold, clock, passing = self._hands.hold, self._deployment.clock, self._hands.passing
        passing.begin(begin)
        hold.begin()
        self._context.announce(f"up: {self._plan.name} is held; `brokerlab down` ends and judges it")
        reason = ""
        while not reason:
            if (stop := passing.stop(clock(), limit)) > clock():
                self._pass_time(stop)
            if passing.passed(clock()):
                for asked in hold.take():
                    self._take(asked)
                reason = self._reason_to_end()
                if passing.arrived or time.monotonic() >= self._show_at:
                    self._show()
                passing.answer(clock())
            if self._limit_is_reached(limit):
                reason = f"its time limit of {DURATION.format(hold.limit)} is reached"
        passing.end(clock())
        hold.finish()
        self._context.announce(f"the held run ends: {reason}")
        self._recover(limit)
        end = min(limit, self._whole(clock() + round(_ENDING * SECOND)))
        self._end_workload(end)
        while clock() < end:
            self._pass_time(end)
        return end

    def _whole(self, moment: int) -> int:
        """The whole millisecond since the begin of the workload that comes next."""
        return moment + -(moment - self._begin) % MILLISECOND

    def _limit_is_reached(self, limit: int) -> bool:
        now = self._deployment.clock()
        return now >= limit - max(0, self._recovers_at() - now)

    def _reason_to_end(self) -> str:
        hold = self._hands.hold
        if hold.end_asked.is_set():
            return "its holder asked for it"
        if over := self._hands.passing.over():
            return over
        if self._hands.log_bytes() >= hold.log_quota:
            return f"its logs have reached their quota of {SIZE.format(hold.log_quota)}"
        return ""

    def _recovers_at(self) -> int:
        """The time at which the overlay has had the time to recover from all faults, were they healed now."""
        recovery = round(self._record.recovery * SECOND)
        if self._events.effects:
            return self._deployment.clock() + recovery
        return 0 if self._changed is None else self._changed + recovery

    def _recover(self, limit: int) -> None:
        """Heals whatever is wrong and lets the overlay recover while clients go on, so that it can be judged."""
        clock = self._deployment.clock
        if self._events.effects:
            self._inject(self._by_hand.heal([], clock() - self._begin))
        end = min(limit, self._recovers_at())
        if end > clock():
            self._context.announce(f"the overlay gets {(end - clock()) / SECOND:.0f} s to recover from its last fault")
        while clock() < end:
            self._pass_time(end)

    def _pass_time(self, end: int) -> None:
        self._deployment.advance(self._events.next_stop(end))
        self._events.advance()
        self._deployment.look()

    def _end_workload(self, end: int) -> None:
        """Ends the workload at a time, and makes the plans on record those of what has become of it."""
        at = end - self._begin
        self._hands.end_workload(at)
        self._events.end_at(at)
        operations = (operation for operation in self._plan.workload.operations() if operation.at < at)
        by_hand = (operation for operation in self._by_hand.operations if operation.at < at)
        planned = planned_work_of(itertools.chain(operations, by_hand))
        self._record.planned, self._record.planned_operations = planned
        join = self._plan.scenario.timeline.join
        self._save(run=round(at / SECOND - join, 3))

    def _save(self, run: float) -> None:
        """Makes the scenario in the manifest the one that repeats what was done."""
        scenario = self._by_hand.scenario
        timeline = scenario.timeline.model_copy(update={"run": run})
        self._context.manifest.scenario = scenario.model_copy(update={"timeline": timeline}).resolved()
        manifest.write(self._context.manifest, self._context.paths.directory)

    # Requests

    def _take(self, asked: Asked) -> None:
        if isinstance(asked.request, TimeRequest):
            self._hands.passing.control(asked, asked.request, self._deployment.clock())
        else:
            self._answer(asked)

    def _answer(self, asked: Asked) -> None:
        answer: Answer = Refused("the run failed meanwhile")
        try:
            answer = self._do(asked.request)
            self._context.log.info("by hand", done=answer.text)
            self._save(run=self._plan.scenario.timeline.run)
            self._show()
        except UserError as error:
            answer = Refused(str(error))
        finally:  # whoever asked waits, whatever happens
            asked.answer.set_result(answer)

    def _do(self, request: Request) -> Done:
        now = self._deployment.clock() - self._begin
        match request:
            case FaultRequest(fields):
                return self._inject([self._by_hand.fault(fields, now)])
            case HealRequest(targets):
                return self._inject(self._by_hand.heal(targets, now))
            case PublishRequest():
                return self._issue(self._by_hand.publish(request, now))
            case SubscribeRequest():
                return self._issue([self._by_hand.subscribe(request, now)])
            case UnsubscribeRequest():
                return self._issue([self._by_hand.unsubscribe(request, now)])
        raise ValueError(f"{request} is not for the run")

    def _inject(self, faults: list[ScheduledFault]) -> Done:
        done = self._events.inject(faults)
        self._changed = self._deployment.clock()
        return Done(", ".join(done) or "nothing changed: it was so already")

    def _issue(self, operations: list[PlannedOperation]) -> Done:
        for operation in operations:
            self._hands.issue(operation)
        last = operations[-1]
        return Done(f"{last.operation} {last.id} by {last.client} at {last.broker}", last.client, last.id)

    def _show(self) -> None:
        """Makes the state of the run known to whoever asks."""
        self._show_at = time.monotonic() + _SHOW_EVERY
        hold, counts, timeline = self._hands.hold, self._deployment.counts, self._plan.scenario.timeline
        passed = (self._deployment.clock() - self._begin) / SECOND
        hold.status = Status(
            phase=PhaseName.RUN,
            activity="held",
            passed=passed,
            left=max(0.0, timeline.join + timeline.run - passed),
            log_bytes=self._hands.log_bytes(),
            log_quota=hold.log_quota,
            runtime=self._context.manifest.runtime.name,
            pace=self._hands.passing.pace,
            published=counts.published,
            delivered=counts.notified,
            rejected=counts.rejected,
            by_hand=len(self._by_hand.operations) + self._by_hand.faults,
            faults=self._events.effects,
            brokers=self._hands.places(),
            sites=[SitePlace(name=at.name, broker=at.broker, clients=list(at.clients)) for at in self._events.sites],
        )
