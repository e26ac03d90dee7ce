"""Processor time of a run on real brokers besides the work that is charged to them, and waits, read off two runs.

In one hardly anything moves, which shows the cost of rest. The excess of the other one over it is divided by the turns
of a rehearsal of the same plan.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import msgspec

from emulation.planning.calibration import Calibration, HostCosts
from emulation.planning.plan import PUBLISHERS, SUBSCRIBERS, VariantPlan
from emulation.prediction.rehearsal import Rehearsal, rehearse
from emulation.run import RunOutcome
from emulation.runtimes.ladder import Rungs
from record import manifest
from record.errors import HostError
from record.files import PROCESSORS
from record.manifest import PhaseName
from record.processors import INTERVAL, RELAY, ProcessorBlock, ProcessorLine
from record.time_units import SECOND
from topology.model import Overlay

LINK_PART = 0.5
"""Part of the relay's time at rest that is for links, which is not measured apart: heartbeats and probes."""
_BROKERS = "brokers"
_OTHERS = (PUBLISHERS, SUBSCRIBERS, RELAY)


@dataclass(frozen=True, slots=True)
class LoadedRun:
    """A run that carried messages."""

    outcome: RunOutcome
    variant: VariantPlan
    rungs: Rungs


@dataclass(frozen=True, slots=True)
class UsedProcessors:
    """Processors that brokers together, drivers and relay used in a run, on average."""

    ran: Counter[str]
    waited: Counter[str]
    """Nodes that waited for a processor, on average."""


def host_costs(loaded: LoadedRun, rest: Path, charged: Calibration) -> HostCosts:
    """The costs. `rest` is the directory of a run of the same overlay at rest.

    Raises `HostError` where nobody sampled the processors of a run.
    """
    taken = _taken(loaded.outcome)
    rehearsal = rehearse(loaded.variant, msgspec.structs.replace(charged, host=HostCosts()))
    used, idle = used_processors(loaded.outcome.directory), used_processors(rest)
    return costs_of(rehearsal, used, idle, taken, loaded.variant.overlay)


def costs_of(
    rehearsal: Rehearsal, used: UsedProcessors, at_rest: UsedProcessors, taken: float, overlay: Overlay
) -> HostCosts:
    """The costs, from the processors that a rehearsed run used and those that one at rest used.

    `taken` is the number of processors that the first run took in all, without other programs.
    """
    turns, work = Counter[str](), 0
    for turn in rehearsal.turns:
        turns[turn.node if turn.node in _OTHERS else _BROKERS] += 1
        work += turn.work

    def each(node: str, loaded: Counter[str], idle: Counter[str], known: float = 0.0) -> int:
        """Nanoseconds of a turn, beyond seconds that are known of all turns together."""
        excess = (loaded[node] - idle[node]) * rehearsal.seconds - known
        return max(0, round(excess / max(1, turns[node]) * SECOND))

    ran, idle = used.ran, at_rest.ran
    of_others = max(0.0, taken - ran.total()) + sum(idle[node] for node in _OTHERS)
    of_links = LINK_PART * idle[RELAY]
    return HostCosts(
        turn=each(_BROKERS, ran, idle, work / SECOND),
        relayed_frame=each(RELAY, ran, idle),
        operation=each(PUBLISHERS, ran, idle),
        notification=each(SUBSCRIBERS, ran, idle),
        broker_second=round(idle[_BROKERS] / len(overlay.brokers) * SECOND),
        second=round((of_others - of_links) * SECOND),
        link_second=round(of_links / max(1, len(overlay.links)) * SECOND),
        waking=each(_BROKERS, used.waited, at_rest.waited),
    )


def used_processors(run: Path) -> UsedProcessors:
    """Processors that were used in the run phase of a run's only variant.

    Raises `HostError` where nobody sampled them.
    """
    phase = manifest.read(run).variants[0].phase(PhaseName.RUN)
    if phase is None or not (run / PROCESSORS).exists():
        raise HostError("the processor time of drivers and relay is not known, because nobody sampled the processors")
    decoder = msgspec.json.Decoder(ProcessorLine)
    used = UsedProcessors(Counter(), Counter())
    for line in (run / PROCESSORS).read_bytes().splitlines():
        block = decoder.decode(line)
        if isinstance(block, ProcessorBlock):
            for place in range(0, len(block.intervals), INTERVAL):
                number, since, _, waiting, running = block.intervals[place : place + INTERVAL]
                if phase.start <= block.start + since * 1_000 < phase.end:
                    node = block.nodes[number]
                    node = node if node in _OTHERS else _BROKERS
                    used.ran[node] += running
                    used.waited[node] += waiting
    microseconds = (phase.end - phase.start) / 1_000
    return UsedProcessors(*(_shares(times, microseconds) for times in (used.ran, used.waited)))


def _shares(times: Counter[str], whole: float) -> Counter[str]:
    return Counter({node: time / whole for node, time in times.items()})


def _taken(outcome: RunOutcome) -> float:
    """Processors of the host that a run took in its run phase, the emulator included."""
    use = outcome.fidelity.variants[0].processors
    return 0.0 if use is None else use.share * manifest.read(outcome.directory).host.cpus
