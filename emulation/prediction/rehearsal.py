"""The rehearsal of a variant: its overlay and its clients in virtual time, for a few seconds of the run phase.

Nothing is written. Links appear and vanish as they do in a run, because more or fewer neighbours are more or fewer
messages. Faults are left out, so the load is that of calm weather, and the time dilation, too. The same scenario always
gives the same rehearsal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from emulation.drivers.driver_operations import SharedPredicates, ready
from emulation.live_overlay import UnsettledError
from emulation.motion import OverlayMotion
from emulation.planning.calibration import Calibration
from emulation.planning.plan import VariantPlan
from emulation.prediction.turns import Turn, TurnNotes, Way
from emulation.simulation.clients import ClientNodes
from emulation.simulation.memory import rare_collections
from emulation.simulation.overlay import SimulatedOverlay
from record.errors import BadInputError
from record.log import EMULATOR
from record.time_units import SECOND
from scenario.workload.workload import Workload
from topology.sites import site_of_each_client

MOST_SECONDS = 10.0
"""Seconds of the run phase that are rehearsed at most."""
LEAST_SECONDS = 1.0
MOST_TURNS = 60_000
"""Turns after which a rehearsal ends, once it has lasted for `LEAST_SECONDS`: some seconds of 30 busy brokers."""
_STEP = 0.25
"""Seconds between two looks at the number of turns."""
_START_WITHIN = 60.0
"""Virtual seconds that links get to come up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """Work and traffic of some seconds of the run phase."""

    seconds: float
    turns: tuple[Turn, ...]
    ways: tuple[Way, ...]
    records: float
    """Log records of all nodes in these seconds."""
    records_before: float
    """Log records of the start and the join phase."""

    @property
    def delay(self) -> float:
        """Seconds that notifications take on average, with a processor for each node; NaN without notifications."""
        return sum(way.delay for way in self.ways) / len(self.ways) / SECOND if self.ways else math.nan


def rehearse(variant: VariantPlan, calibration: Calibration) -> Rehearsal:
    """Rehearses a variant. Raises `BadInputError` for an overlay whose links do not come up."""
    scenario = variant.scenario
    at_sites = site_of_each_client(variant.sites)
    notes = TurnNotes(calibration, 1.0 if scenario.sample is None else scenario.sample.share, at_sites)
    settings = replace(variant.broker_settings, sample=None)
    overlay = SimulatedOverlay(variant.overlay, settings, notes.of, calibration=calibration)
    clients = ClientNodes(variant.workload, variant.sites, overlay, notes.of, variant.promises)
    with rare_collections():
        overlay.start()
        try:
            overlay.settle(_START_WITHIN)
        except UnsettledError as error:
            raise BadInputError(f"topology.link: {error}; less `loss` or `delay` lets links come up") from None
        clients.open()
        changes = () if variant.evolution is None else variant.evolution.changes
        motion = OverlayMotion(changes, overlay.links, notes.of(EMULATOR), overlay.events.clock)
        stage = _Stage(variant.workload, overlay, clients, motion)
        stage.play(scenario.timeline.join)
        notes.begin(overlay.events.now)
        seconds, longest = 0.0, min(MOST_SECONDS, scenario.timeline.run)
        while seconds < longest and (seconds < LEAST_SECONDS or len(notes.turns) < MOST_TURNS):
            seconds = min(longest, seconds + _STEP)
            stage.play(scenario.timeline.join + seconds)
    return Rehearsal(
        seconds=seconds,
        turns=tuple(notes.turns),
        ways=tuple(notes.ways),
        records=notes.records,
        records_before=notes.records_before,
    )


class _Stage:
    """Has clients and the overlay do what is due, in virtual time."""

    def __init__(
        self, workload: Workload, overlay: SimulatedOverlay, clients: ClientNodes, motion: OverlayMotion
    ) -> None:
        self._overlay, self._clients, self._motion = overlay, clients, motion
        self._begin = overlay.events.now
        motion.begin(self._begin)
        self._predicates = SharedPredicates()
        self._operations = workload.operations()
        self._next = next(self._operations, None)

    def play(self, seconds: float) -> None:
        """Lets time pass until so many seconds after the workload began."""
        end = self._begin + round(seconds * SECOND)
        while self._next is not None and (due := self._begin + self._next.at) <= end:
            self._pass_time(due)
            encoded = ready(self._next, self._overlay.contents.ready, self._predicates.encode)
            self._clients.issue(encoded, due)
            self._next = next(self._operations, None)
        self._pass_time(end)

    def _pass_time(self, end: int) -> None:
        """Lets time pass, in which links appear and vanish."""
        while (due := self._motion.next_time) is not None and due <= end:
            self._overlay.run_until(due)
            for change in self._motion.due():
                self._motion.carry_out(change)
        self._overlay.run_until(end)
