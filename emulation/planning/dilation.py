"""Time dilation: a scenario that is too heavy for the host, run several times slower and reported in its own time.

The host's processors cannot be made faster, but everything else can be made slower: with a factor of 5, a link of 2 ms
takes 10 ms, a publisher of 10/s publishes twice a second, and a minute of the scenario lasts five. All proportions stay
as the scenario has them, except that what a broker's own work takes on this host is now a fifth of what it was beside
all the rest. Readers of the logs divide their times by the factor (`analysis.run_files.logs`), and has the
scenario's time.

Stretched are the times that the scenario states:

1. Links: delay and jitter are multiplied, rates divided, and so are the rates at which clients read. So a link holds
   as many frames as before, and queue limits, counted in frames, keep their meaning; so do shares (loss, corruption,
   disturbance).
2. Clients: the time of every operation is multiplied by the factor, whether it was generated or written out.
3. Brokers: the service time, heartbeats, reconnection, the window of the link status table, the window and the
   lateness of detections, and those options of the routing protocol that are times (`ProtocolOptions.times`).
4. The timeline, the changes of an overlay that moves, and faults: when, for how long, and the delays, rates, service
   and send times they set. A fault at a count needs no change.

Not stretched are the times that the scenario does not state:

5. What brokers, drivers and kernel take for their work: the purpose of it all. CPU quotas are shares of a processor
   and stay, so a throttled broker gets more done in the scenario's time; give a service time to slow one on purpose.
6. Bounds that are counts or bytes: windows, batches, queues.
7. Constants of the implementation: TCP's time-outs (200 ms at least before something is sent again), the pause before
   a link acknowledges, the interval in which small frames are gathered. In the scenario's time they are shorter. Over
   links that lose frames, delays with dilation and without are therefore not the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from msgspec import UNSET

from broker_service.routing import read_options
from emulation.planning.plan import Plan, VariantPlan
from emulation.planning.preparation import prepared_for
from record.manifest import ChosenDilation
from record.service_time import ServiceTime
from scenario.faults.times import Moment
from scenario.model import Routing, Scenario
from scenario.sections.brokers import Brokers
from scenario.sections.faults import FaultItem, HeldBack
from scenario.sections.service_time import ServiceTimeDistribution
from scenario.sections.timeline import Timeline
from topology.evolutions.evolution import Appears, Evolution
from topology.link_properties import BrokerId, Link, LinkProperties
from topology.links import Range
from topology.model import Delays, LinkSource, MeshLinks, Overlay
from topology.sites import Site

LIMIT_TIMES = (
    "heartbeat",
    "reconnect_first",
    "reconnect_last",
    "utilisation_window",
    "idle_close",
    "detection_window",
    "detection_lateness",
)
"""Limits of brokers that are times."""


def dilate(plan: VariantPlan) -> VariantPlan:
    """The variant as the host has to run it; the plan itself when its scenario asks for no dilation.

    The topology and workload sections of its scenario are as they were: the overlay and the workload, which were made
    of them, are stretched.
    """
    factor = plan.scenario.dilation
    if factor == 1:
        return plan
    scenario, overlay = _scenario(plan.scenario, factor), _overlay(plan.overlay, factor)
    return replace(
        plan,
        scenario=scenario,
        overlay=overlay,
        evolution=None if plan.evolution is None else _evolution(plan.evolution, factor),
        workload=replace(plan.workload, stretch=plan.workload.stretch * factor),
        prepared=prepared_for(scenario, overlay, plan.workload),
        sites=tuple(_site(site, factor) for site in plan.sites),
        roaming=tuple(_fault(move, factor) for move in plan.roaming),
    )


def with_dilation(plan: Plan, chosen: ChosenDilation) -> Plan:
    """The plan with the dilation that rehearsals chose, the same for all variants."""
    variants = (
        replace(variant, scenario=variant.scenario.model_copy(update={"time_dilation": chosen.factor}))
        for variant in plan.variants
    )
    return replace(plan, variants=tuple(variants), dilation=chosen)


def _scenario(scenario: Scenario, factor: float) -> Scenario:
    return scenario.model_copy(
        update={
            "time_dilation": 1.0,
            "timeline": _timeline(scenario.timeline, factor),
            "brokers": _brokers(scenario.brokers, factor),
            "routing": _routing(scenario.routing, factor),
            "faults": tuple(_fault(fault, factor) for fault in scenario.faults),
        }
    )


def _timeline(timeline: Timeline, factor: float) -> Timeline:
    update = {name: getattr(timeline, name) * factor for name in ("join", "run", "drain")}
    for name in ("advertise", "withdraw", "held"):
        if (value := getattr(timeline, name)) is not None:
            update[name] = value * factor
    return timeline.model_copy(update=update)


def _brokers(brokers: Brokers, factor: float) -> Brokers:
    limits = brokers.limits.model_copy(update={name: getattr(brokers.limits, name) * factor for name in LIMIT_TIMES})
    update = {"limits": limits, "service_time": _service_time(brokers.service_time, factor)}
    return brokers.model_copy(update=update)


def _service_time(given: Range | ServiceTimeDistribution, factor: float) -> Range | ServiceTimeDistribution:
    if isinstance(given, Range):
        return Range(given.low * factor, given.high * factor)
    return given.model_copy(update={"mean": given.mean * factor, "deviation": given.deviation * factor})


def _routing(routing: Routing, factor: float) -> Routing:
    """The routing with every time among its options, given or by default, that many times longer."""
    options = read_options(routing.protocol, routing.options)
    stretched = {name: getattr(options, name) * factor for name in options.times}
    return Routing(protocol=routing.protocol, **{**routing.options, **stretched})


def _fault(fault: FaultItem, factor: float) -> FaultItem:
    update: dict[str, Any] = {
        name: value * factor
        for name in ("lasts", "down", "up", "delay", "jitter", "away", "overlap")
        if (value := getattr(fault, name)) is not None
    }
    if fault.at is not None:
        update["at"] = Moment(fault.at.seconds * factor, fault.at.phase)
    if fault.service_time is not None:
        update["service_time"] = _service_time(fault.service_time, factor)
    if isinstance(fault.send_time, float):
        update["send_time"] = fault.send_time * factor
    elif fault.send_time is not None:
        update["send_time"] = _service_time(fault.send_time, factor)
    if fault.hold is not None:
        update["hold"] = HeldBack(fault.hold.share, fault.hold.seconds * factor)
    if fault.bandwidth is not None:
        update["bandwidth"] = fault.bandwidth / factor
    return fault.model_copy(update=update)


def _overlay(overlay: Overlay, factor: float) -> Overlay:
    links = overlay.links
    if isinstance(links, MeshLinks):
        return replace(overlay, links=MeshLinks(links.brokers, _StretchedLinks(links.source, factor)))
    return replace(overlay, links=tuple(_link(link, factor) for link in links))


def _evolution(evolution: Evolution, factor: float) -> Evolution:
    changes = [
        Appears(change.at * factor, _link(change.link, factor))
        if isinstance(change, Appears)
        else replace(change, at=change.at * factor)
        for change in evolution.changes
    ]
    return Evolution(_overlay(evolution.start, factor), tuple(changes))


@dataclass(frozen=True, slots=True)
class _StretchedLinks(LinkSource):
    """Links of a full mesh, each stretched when it is made."""

    source: LinkSource
    factor: float

    def between(self, a: BrokerId, b: BrokerId) -> Link:
        return _link(self.source.between(a, b), self.factor)

    def delays(self, brokers: Sequence[BrokerId]) -> Delays:
        return self.source.delays(brokers) * self.factor

    def rates(self, brokers: Sequence[BrokerId]) -> tuple[float, float] | None:
        rates = self.source.rates(brokers)
        return None if rates is None else (rates[0] / self.factor, rates[1] / self.factor)


def _link(link: Link, factor: float) -> Link:
    return replace(link, forward=_direction(link.forward, factor), backward=_direction(link.backward, factor))


def _stretched(time: ServiceTime, factor: float) -> ServiceTime:
    return msgspec.structs.replace(time, mean=time.mean * factor, deviation=time.deviation * factor)


def _site(site: Site, factor: float) -> Site:
    reads = UNSET if site.reads is UNSET else site.reads / factor
    return replace(site, up=_direction(site.up, factor), down=_direction(site.down, factor), reads=reads)


def _direction(properties: LinkProperties, factor: float) -> LinkProperties:
    return replace(
        properties,
        delay=properties.delay * factor,
        jitter=properties.jitter * factor,
        rate=None if properties.rate is None else properties.rate / factor,
        send_time=_stretched(properties.send_time, factor),
    )
