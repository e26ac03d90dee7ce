"""The progress display of a run on several hosts, by the tasks that Ansible has done on them."""

from __future__ import annotations

import time

from emulation.ansible import TaskResult
from emulation.multi_host.barrier import LEAD
from emulation.planning.plan import Plan, VariantPlan
from emulation.run.progress import RunDisplay, Snapshot
from record.manifest import PhaseName

_AROUND = 30.0
"""Seconds that starting and stopping a variant is estimated to take."""


class HostsProgress:
    """The display of one run on several hosts."""

    def __init__(self, plan: Plan, snapshot: Snapshot, shown: RunDisplay) -> None:
        self._plan = plan
        self._snapshot = snapshot
        self._shown = shown
        self._ahead: list[tuple[float, str, float]] = []
        """The beginning, name and end of each phase to come."""
        self._begun: set[int] = set()
        """Indexes of the variants whose workload has begun."""

    def print_line(self, line: str) -> None:
        self._shown.print_line(line)

    def doing(self, activity: str) -> None:
        self._snapshot.activity = activity
        self._shown.refresh()

    def note(self, result: TaskResult) -> None:
        """Shows the progress after a task, which Ansible reports for each host: `<variant> await <stage>` is one."""
        match result.task.split():
            case ["require", "the", "agent"]:
                self._require_begun(0)
            case [number, "await", "begun"] if int(number) not in self._begun:
                self._begun.add(int(number))
                self._plan_phases(self._plan.variants[int(number)])
            case [_, "await", "drained"]:
                self.ending()
            case [number, "await", "ended"]:
                self._require_begun(int(number) + 1)
        self.update()

    def ending(self) -> None:
        """Shows that the variant has ended, as planned or before."""
        self._ahead.clear()
        self._snapshot.phase, self._snapshot.phase_end = PhaseName.STOP, None

    def update(self) -> None:
        """Shows the present time."""
        now = time.monotonic()
        while self._ahead and self._ahead[0][0] <= now:
            begin, self._snapshot.phase, end = self._ahead.pop(0)
            self._snapshot.phase_begin, self._snapshot.phase_end, self._snapshot.activity = begin, end, ""
        self._shown.refresh()

    def _require_begun(self, number: int) -> None:
        """Shows that this variant starts, unless there is none or it is shown."""
        if self._snapshot.variant_number <= number < len(self._plan.variants):
            self._begin(number)

    def _begin(self, number: int) -> None:
        ahead = sum(variant.lasts + _AROUND for variant in self._plan.variants[number:])
        variant = self._plan.variants[number]
        self._snapshot.begin_variant(variant.name, number + 1, time.monotonic() + ahead)
        self._snapshot.brokers = self._snapshot.brokers_up = len(variant.overlay.brokers)
        self._snapshot.links = self._snapshot.links_up = len(variant.overlay.links)
        self._ahead.clear()

    def _plan_phases(self, variant: VariantPlan) -> None:
        begin, timeline = time.monotonic() + LEAD, variant.scenario.timeline
        phases = (
            (PhaseName.JOIN, timeline.join),
            (PhaseName.RUN, timeline.run),
            (PhaseName.DRAIN, timeline.drain),
        )
        for name, seconds in phases:
            end = begin + seconds * variant.scenario.dilation
            self._ahead.append((begin, name, end))
            begin = end
