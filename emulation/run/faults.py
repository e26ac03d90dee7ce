"""The faults of a variant in progress, between two looks at the run."""

from __future__ import annotations

from emulation.faults import Action, FaultRun
from emulation.faults.execution import described
from emulation.run.context import RunContext
from emulation.run.deployment import Deployment
from scenario.faults import Counts

_SHOWN = 4
"""Faults listed in one line."""


class VariantFaultRun:
    """See the module. Times are nanoseconds of the deployment's clock."""

    def __init__(self, context: RunContext, variant: str, deployment: Deployment) -> None:
        """`variant` is the variant's name, for messages."""
        self._context = context
        self._variant = variant
        self._deployment = deployment
        self._planned = bool(deployment.schedule)
        self._fault_run = FaultRun(
            deployment.schedule, deployment.overlay, deployment.open_fault_log(), deployment.clock
        )

    @property
    def in_effect(self) -> bool:
        """True while at least one fault holds."""
        return self._fault_run.in_effect

    def begin(self, start: int) -> None:
        """The workload begins at this time."""
        self._fault_run.begin(start)

    def next_stop(self, end: int) -> int:
        """The time, `end` at most, at which `advance` has to be called next."""
        if not self._planned:
            return end
        now, due = self._deployment.clock(), self._fault_run.next_time
        if self._fault_run.awaits_counts:
            end = min(end, now + self._deployment.counting_step)
        return end if due is None else max(now, min(end, due))

    def advance(self) -> None:
        """Injects and heals what is due. Raises `HostError`."""
        if self._planned:
            counts = self._deployment.counts
            self._announce(self._fault_run.advance(Counts(counts.notified, counts.published)))

    def heal(self) -> None:
        """Ends all faults. Raises `HostError`."""
        if self.in_effect:
            self._context.doing("healing all faults")
        self._announce(self._fault_run.heal())

    def _announce(self, actions: list[Action]) -> None:
        if actions:
            done = described(actions)
            more = f" and {len(done) - _SHOWN} more" if len(done) > _SHOWN else ""
            self._context.log.info("faults", variant=self._variant, done=", ".join(done))
            self._context.announce(f"{self._variant}: {', '.join(done[:_SHOWN])}{more}")
