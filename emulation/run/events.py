"""The events of a variant in progress, between two looks at the run: its faults and the changes of its overlay.

Both happen in the order of their times. At one time links change first, so that a fault hits a link that appears then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from broker_service.tracing.trace import FileTrace, Recorder
from emulation.faults import Action, FaultRun
from emulation.faults.execution import described
from emulation.motion import OverlayMotion
from emulation.planning.plan import VariantPlan
from emulation.run.context import RunContext
from emulation.run.deployment import Deployment, Looks
from emulation.verification.asked import LinksOverTime
from emulation.verification.findings import Finding, Question
from emulation.verification.verifier import FaultVerifier
from record.log import Event
from record.time_units import SECOND
from scenario.faults import Counts
from scenario.faults.planning import ScheduledFault
from topology.evolutions.evolution import Appears, Change, Vanishes
from topology.sites import Site

_NEVER = 1 << 63
_SHOWN = 4
"""Faults listed in one line."""


class VariantEvents:
    """The faults and overlay changes of one variant. Times are nanoseconds of the deployment's clock."""

    def __init__(self, context: RunContext, plan: VariantPlan, deployment: Deployment) -> None:
        """`plan` is dilated."""
        self._context = context
        self._variant = plan.name
        self._deployment = deployment
        self._faulty = bool(deployment.schedule) or plan.scenario.timeline.held is not None
        changes = () if plan.evolution is None else plan.evolution.changes
        self._moves = bool(changes)
        trace, clock = deployment.open_event_log(), deployment.clock
        self._trace, self._recorder = trace, Recorder(trace, clock)
        if self.logs:
            self._recorder.note(Event.STARTED, count=1)
        self._fault_run = FaultRun(deployment.schedule, deployment.overlay, trace, clock, deployment.sites)
        self._motion = OverlayMotion(changes, deployment.overlay.links, trace, clock)
        self._verifier = _verifier(plan, deployment) if self._faulty else None
        self._dilation, self._join = plan.scenario.dilation, plan.scenario.timeline.join
        self._run_phase = 0
        """Time at which the run phase begins."""
        self._looks: Looks | None = None

    @property
    def logs(self) -> list[str]:
        """The node that logs these events; none where there are none."""
        return [self._trace.node] if self._faulty or self._moves else []

    @property
    def in_effect(self) -> bool:
        """True while at least one fault holds."""
        return self._fault_run.in_effect

    @property
    def effects(self) -> list[str]:
        """Faults in effect now, in words."""
        return described(self._fault_run.effects)

    @property
    def sites(self) -> list[Site]:
        """The sites of clients, each where it is now."""
        return self._fault_run.sites

    def inject(self, faults: Sequence[ScheduledFault]) -> list[str]:
        """Adds faults that are due now to the schedule, and brings them about. Returns what was done, in words.

        Raises `HostError`.
        """
        for fault in faults:
            self._fault_run.add(fault)
        if self._verifier is not None and self._looks is not None:
            self._verifier.replan(faults)
            self._looks.renew()
        return self._bring_about()

    def end_at(self, end: int) -> None:
        """The run phase ends at another time than was planned, nanoseconds since the workload began."""
        if self._verifier is not None and self._looks is not None:
            self._verifier.replan(end=end)
            self._looks.renew()

    def begin(self, start: int) -> None:
        """The workload begins at this time."""
        self._run_phase = start + round(self._join * SECOND)
        self._fault_run.begin(start)
        self._motion.begin(start)
        if self._verifier is not None:
            self._verifier.begin(start)
            self._looks = self._deployment.look_regularly(self._verifier)

    def next_stop(self, end: int) -> int:
        """The time, `end` at most, at which `advance` has to be called next."""
        if not (self._faulty or self._moves):
            return end
        now = self._deployment.clock()
        if self._fault_run.awaits_counts:
            end = min(end, now + self._deployment.pace.counting_step)
        for due in (self._fault_run.next_time, self._motion.next_time):
            end = end if due is None else min(end, due)
        return max(now, end)

    def advance(self) -> None:
        """Injects and heals what is due, and changes links. Raises `HostError`."""
        if self._fault_run.awaits_counts or self.next_stop(_NEVER) <= self._deployment.clock():
            self._bring_about()

    def _bring_about(self) -> list[str]:
        """Does what is due now; returns it in words."""
        counts = self._deployment.counts
        counted = Counts(counts.notified, counts.published)
        if self._verifier is not None and self._looks is not None and self._verifier.note(counted):
            self._looks.renew()
        done: list[Action] = []
        for change in self._motion.due():
            done += self._change(change, counted)
        if self._faulty:
            done += self._fault_run.advance(counted)
        self._announce(done)
        return described(done)

    def heal(self) -> None:
        """Ends all faults; the overlay goes on changing. Raises `HostError`."""
        if self.in_effect:
            self._context.doing("healing all faults")
        self._announce(self._fault_run.heal())

    def end(self) -> None:
        """Logs that nothing happens from now on."""
        if self.logs:
            lost = self._trace.lost if isinstance(self._trace, FileTrace) else 0
            self._recorder.note(Event.STOPPED, count=lost, records=self._trace.written + 1)

    def verified(self) -> tuple[list[Finding], list[Question]]:
        """Verifies the heals at the end of the run phase.

        Returns the findings on all faults, and the questions about them that the logs are to answer.
        """
        verifier, deployment = self._verifier, self._deployment
        if verifier is None or self._looks is None:
            return [], []
        self._looks.end()
        verifier.finish(lambda seconds: deployment.advance(deployment.clock() + round(seconds * SECOND)))
        return verifier.findings, verifier.questions

    def _change(self, change: Change, counts: Counts) -> Iterator[Action]:
        """Makes a change after all faults that are due before it. Gives what is done to the link besides."""
        if not self._faulty:
            self._motion.carry_out(change)
            return
        yield from self._fault_run.advance_to(self._motion.time_of(change) - 1, counts)
        match change:
            case Appears(_, link):
                self._motion.carry_out(change)
                yield from self._fault_run.appeared(link)
            case Vanishes(_, a, b):
                yield from self._fault_run.vanishes(a, b)
                self._motion.carry_out(change)

    def _announce(self, actions: list[Action]) -> None:
        if actions:
            done = described(actions)
            more = f" and {len(done) - _SHOWN} more" if len(done) > _SHOWN else ""
            self._context.log.info("faults", variant=self._variant, done=", ".join(done))
            at = (self._deployment.clock() - self._run_phase) / (self._dilation * SECOND)
            self._context.announce(f"{self._variant}, run{at:+.1f}s: {', '.join(done[:_SHOWN])}{more}")


def _verifier(plan: VariantPlan, deployment: Deployment) -> FaultVerifier:
    timeline = plan.scenario.timeline
    changes = () if plan.evolution is None else plan.evolution.changes
    return FaultVerifier(
        deployment.schedule,
        LinksOverTime(plan.overlay, changes, plan.sites, deployment.elsewhere),
        deployment.fault_observer,
        deployment.clock,
        end=round((timeline.join + timeline.run) * SECOND),
        cores=plan.resources.cpu,
        own_service=plan.scenario.brokers.work().mean,
        sampled=plan.scenario.sample is not None,
    )
