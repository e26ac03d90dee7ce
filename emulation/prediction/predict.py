"""The prediction of a run: what its variants take of one host, and the time dilation under which it carries them.

Processors and contention follow from a rehearsal of each variant (`rehearsal`), whose turns are scheduled over the
host's processors (`contention`), together with the work that goes on without messages: gauges, heartbeats, event
loops, the emulator's own looks at host and links. The dilation is the least of a few at which the busy share leaves
room for bursts and contention is a small part of the mean delay.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from emulation.host.room import Host
from emulation.planning.calibration import Calibration, HostCosts
from emulation.planning.carrying import memory_of
from emulation.planning.plan import Plan, VariantPlan
from emulation.prediction.contention import Work, at_rest, mean_of, scheduled
from emulation.prediction.rehearsal import Rehearsal, rehearse
from emulation.prediction.turns import Turn
from record.callbacks import do_nothing
from record.slower_run import AIM
from record.time_units import SECOND
from topology.link_properties import BrokerId

MOST_CONTENTION = 0.05
"""Share of the mean delay up to which a dilation is enough: half of the tenth beyond which a figure is doubted."""
DILATIONS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 50.0, 100.0)
"""Factors that are tried, in order."""
START_SECONDS = 3.0
BROKER_SECONDS = 0.3
"""Seconds that start and end of a variant take: of all, and of each broker."""
ANALYSIS_SECONDS = 4.0
RECORD_SECONDS = 25e-6
"""Seconds that the analysis takes: of all, and of each record."""
WAKING = 0.6
"""Share of the cost of a turn of relay or drivers that is for waking up."""
_TICKS = 10
"""Turns in a second of a broker that has no messages, as its event loop's look at the clock."""
_GOLDEN = (math.sqrt(5) - 1) / 2
"""Multiples of it spread ticks of brokers evenly over their interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A variant's load on one host at one dilation."""

    dilation: float
    processors: float
    """Share of the host's processors that the run keeps busy."""
    contention: float
    """Seconds of the scenario's time that a notification waits for processors, on average."""
    delay: float
    """Seconds of the mean delay, contention included; NaN where no notification comes."""

    @property
    def share(self) -> float:
        """Share of the mean delay that is contention."""
        return self.contention / self.delay if self.delay > 0 else 0.0

    @property
    def carried(self) -> bool:
        """True where the busy share leaves room for bursts, and contention is a small part of the delay."""
        return self.processors <= AIM and self.share <= MOST_CONTENTION


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantPrediction:
    """Prediction of one variant."""

    name: str
    load: Load
    """At the scenario's own dilation."""
    least: Load
    """At the least dilation under which the host carries it, or at the largest one that was tried."""
    memory: int
    """Bytes of brokers, drivers and emulator."""
    records: int
    """Log records of the whole variant."""
    seconds: float
    """Seconds that the variant takes, from its start to its end."""
    analysis: float
    """Seconds of its analysis."""


def predict(
    plan: Plan, calibration: Calibration, host: Host, show: Callable[[str], None] = do_nothing
) -> list[VariantPrediction]:
    """Predicts the variants of a plan. Variants that differ in their dilation alone share a rehearsal.

    Each step is shown, because many subscriptions take long to spread. Raises `BadInputError` for an overlay whose
    links do not come up.
    """
    rehearsed: dict[str, Rehearsal] = {}
    found = []
    for number, variant in enumerate(plan.variants, 1):
        show(
            f"variant {number} of {len(plan.variants)}, {variant.name}: {len(variant.workload.clients):,} clients join"
        )
        key = variant.scenario.model_copy(update={"time_dilation": 1.0}).model_dump_json()
        if key not in rehearsed:
            rehearsed[key] = rehearse(variant, calibration)
        found.append(_predicted(variant, rehearsed[key], calibration, host))
    return found


def _predicted(variant: VariantPlan, rehearsal: Rehearsal, costs: Calibration, host: Host) -> VariantPrediction:
    dilation, timeline = variant.scenario.dilation, variant.scenario.timeline
    records = rehearsal.records_before + rehearsal.records * timeline.run / rehearsal.seconds
    load = load_of(variant, rehearsal, costs, host.processors, dilation)
    return VariantPrediction(
        name=variant.name,
        load=load,
        least=load if load.carried else _least(variant, rehearsal, costs, host.processors, load),
        memory=memory_of(len(variant.overlay.brokers), len(variant.sites)),
        records=round(records),
        seconds=variant.lasts + START_SECONDS + BROKER_SECONDS * len(variant.overlay.brokers),
        analysis=ANALYSIS_SECONDS + records * RECORD_SECONDS,
    )


def _least(variant: VariantPlan, rehearsal: Rehearsal, costs: Calibration, processors: int, load: Load) -> Load:
    """The load at the first higher dilation at which it is carried; at the last one, or as it is, where none is.

    Dilations at which turns alone keep processors too busy are not looked at closer, because scheduling takes long.
    """
    factors = [factor for factor in DILATIONS if factor > load.dilation]
    worked = sum(work.awake for work in _works(variant, rehearsal, costs)) / rehearsal.seconds / processors / SECOND
    for factor in factors:
        if worked / factor <= AIM or factor == factors[-1]:
            load = load_of(variant, rehearsal, costs, processors, factor)
            if load.carried:
                break
    return load


def load_of(
    variant: VariantPlan, rehearsal: Rehearsal, calibration: Calibration, processors: int, dilation: float
) -> Load:
    """The load of a rehearsed variant on a host of so many processors."""
    costs, seconds = calibration.host, rehearsal.seconds * dilation
    ticks = list(_ticks([broker.id for broker in variant.overlay.brokers], costs, seconds, dilation))
    steady = costs.second + costs.link_second * (len(variant.overlay.links) + len(variant.sites))
    works = [*_works(variant, rehearsal, calibration), *(Work(tick.work, tick.work) for tick in ticks)]
    found = scheduled([*rehearsal.turns, *ticks], works, processors, dilation)
    woken = at_rest(rehearsal.turns, rehearsal.ways, calibration) / dilation / SECOND
    return Load(
        dilation=dilation,
        processors=(found.worked / seconds + steady) / processors / SECOND,
        contention=mean_of(rehearsal.ways, found.waited, dilation) + woken,
        delay=rehearsal.delay + mean_of(rehearsal.ways, found.late, dilation),
    )


def _works(variant: VariantPlan, rehearsal: Rehearsal, calibration: Calibration) -> Iterator[Work]:
    """The work of each turn of a rehearsal."""
    brokers = {broker.id for broker in variant.overlay.brokers}
    for turn in rehearsal.turns:
        yield _of_broker(turn, calibration.host) if turn.node in brokers else _of_carrier(turn)


def _of_broker(turn: Turn, costs: HostCosts) -> Work:
    """The work of a broker's turn, which takes more than its charge."""
    work = turn.work + costs.turn
    return Work(work, work, costs.waking_beyond)


def _of_carrier(turn: Turn) -> Work:
    """The work of a turn of relay or drivers."""
    return Work(turn.work, round((1 - WAKING) * turn.work))


def _ticks(brokers: Sequence[BrokerId], costs: HostCosts, seconds: float, dilation: float) -> Iterator[Turn]:
    """Turns of brokers without messages, in the host's seconds, at moments of the scenario."""
    interval, work = SECOND // _TICKS, costs.broker_second // _TICKS
    if not work:
        return
    for number, broker in enumerate(brokers):
        first = round(number * _GOLDEN % 1 * interval)
        for tick in range(round(seconds * _TICKS)):
            yield Turn(broker, round((first + tick * interval) / dilation), work)
