"""The faults of one variant in progress: asks which actions are due, executes and logs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from broker_service.tracing.trace import Trace
from emulation.faults.execution import NO_SITES, perform
from emulation.faults.injector import Action, FaultInjector
from emulation.live_overlay.contract import LiveOverlay, LiveSites
from scenario.faults.planning import FaultSchedule, ScheduledFault
from scenario.faults.times import Counts
from topology.link_properties import BrokerId, Link
from topology.sites import Site


class FaultRun:
    """The faults of one variant, injected as they become due. Times are nanoseconds of the run's clock."""

    def __init__(
        self,
        schedule: FaultSchedule,
        overlay: LiveOverlay,
        trace: Trace,
        clock: Callable[[], int],
        sites: LiveSites = NO_SITES,
    ) -> None:
        self._injector = FaultInjector(schedule, overlay.overlay, sites.sites)
        self._sites = sites
        self._overlay = overlay
        self._trace = trace
        self._clock = clock
        self._start = 0

    def begin(self, start: int) -> None:
        """The workload begins at this time, from which the schedule counts."""
        self._start = start

    @property
    def next_time(self) -> int | None:
        """Time at which an action is due next; None when none is due at a time."""
        due = self._injector.next_time
        return None if due is None else self._start + due

    @property
    def awaits_counts(self) -> bool:
        """True while an action waits for a count."""
        return self._injector.awaits_counts

    @property
    def in_effect(self) -> bool:
        """True while at least one condition holds."""
        return self._injector.in_effect

    @property
    def effects(self) -> list[Action]:
        """Conditions that hold now, as the actions that brought them about."""
        return self._injector.effects

    @property
    def sites(self) -> list[Site]:
        """The sites of clients, each where it is now."""
        return self._injector.moves.sites

    def add(self, entry: ScheduledFault) -> None:
        """Adds a fault that begins at a time to the schedule."""
        self._injector.add(entry)

    def advance(self, counts: Counts) -> list[Action]:
        """Carries out all that is due by now. Raises `HostError` when the host refuses."""
        return self.advance_to(self._clock(), counts)

    def advance_to(self, time: int, counts: Counts) -> list[Action]:
        """Carries out all that is due by a time. Raises `HostError` when the host refuses."""
        return self._perform(self._injector.advance(time - self._start, counts))

    def appeared(self, link: Link) -> list[Action]:
        """Does to a link that has appeared what faults in effect do to its brokers."""
        return self._perform(self._injector.appeared(link))

    def vanishes(self, a: BrokerId, b: BrokerId) -> list[Action]:
        """Heals a link that is about to vanish."""
        return self._perform(self._injector.vanishes(a, b))

    def heal(self) -> list[Action]:
        """Ends every fault; nothing happens any more."""
        return self._perform(self._injector.heal())

    def _perform(self, actions: Iterable[Action]) -> list[Action]:
        return list(perform(actions, self._overlay, self._trace, self._clock, self._sites))
