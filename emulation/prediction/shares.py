"""The load of each host's share of a variant, and the load that each host carries.

Both rest on the costs and the rehearsal by which the load of a run on one host is predicted (`predict`), and on what a
host's self-test has shown of its processors and its relay.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import ceil, inf

import msgspec

from emulation.host.room import Host
from emulation.multi_host.placement import Placement, place_sites
from emulation.multi_host.self_test import SelfTest
from emulation.network.model import LinkDriver
from emulation.planning.calibration import Calibration
from emulation.planning.carrying import BROKER_MEMORY, RUN_MEMORY, memory_of
from emulation.planning.plan import VariantPlan
from emulation.prediction.rehearsal import Rehearsal
from emulation.prediction.turns import Turn
from record.host_speed import LoopTimes, factor_between
from record.processors import RELAY
from record.slower_run import AIM
from record.time_units import SECOND
from record.wording import count_of

_FRAMES_OF_MESSAGE = 2
"""Frames of a message between brokers: its own, and the acknowledgement of TCP."""


class Capacity(msgspec.Struct, frozen=True, kw_only=True):
    """The load of a run that one host carries."""

    processors: float
    """Processors' worth of work that it does at once."""
    memory: int
    """Bytes that are left."""
    frames: float | None
    """Frames a second that its relay carries; None where links need none."""
    speed: float
    """The factor of all costs beside the host of the calibration."""
    brokers: int
    """Brokers without traffic, by memory and processors."""
    messages: int
    """Messages a second between few brokers, by processors and relay."""


class ShareLoad(msgspec.Struct, frozen=True, kw_only=True):
    """One host's share of a variant at the scenario's dilation."""

    variant: str
    host: str
    brokers: int
    sites: int
    processors: float
    """Processors that it keeps busy."""
    steady: float
    """The part of these processors that work without messages takes, which no dilation makes less."""
    frames: float
    """Frames a second over its links, acknowledgements included."""
    memory: int


def capacity(room: Host, loops: LoopTimes, tested: SelfTest, links: LinkDriver, costs: Calibration) -> Capacity:
    """The load that a host carries, by its room, its speed and its self-test, at the costs of the calibration."""
    factor = 1.0 if costs.loops is None else factor_between(costs.loops, loops)
    processors = min(tested.processors, float(room.processors))
    frames = tested.frames if links is LinkDriver.USERSPACE else None
    left = max(0.0, AIM * processors * SECOND - costs.host.second * factor)
    of_message = costs.frame + costs.work.get("publish", 0) + costs.host.turn + costs.host.relayed_frame
    by_processors = left / (of_message * factor) if of_message else inf
    by_relay = inf if frames is None else AIM * frames / _FRAMES_OF_MESSAGE
    by_memory = max(0, (room.memory - RUN_MEMORY) // BROKER_MEMORY)
    idle = left / (costs.host.broker_second * factor) if costs.host.broker_second else inf
    return Capacity(
        processors=processors,
        memory=room.memory,
        frames=frames,
        speed=factor,
        brokers=int(min(by_memory, idle)),
        messages=int(min(by_processors, by_relay, 10.0**9)),
    )


def share_loads(
    variant: VariantPlan,
    rehearsal: Rehearsal,
    costs: Calibration,
    placement: Placement,
    capacities: Mapping[str, Capacity],
) -> list[ShareLoad]:
    """The load of each host's share. The rehearsal is at the calibration's own costs."""
    dilation = variant.scenario.dilation
    seconds = rehearsal.seconds * dilation
    work, relayed = _worked(rehearsal.turns, costs, placement)
    brokers, sites = Counter(placement.values()), Counter(place_sites(variant.sites, placement).values())
    links = sites.copy()
    for link in variant.overlay.links:
        links.update({placement[link.a], placement[link.b]})
    found = []
    for host, able in capacities.items():
        steady = costs.host.second + costs.host.broker_second * brokers[host] + costs.host.link_second * links[host]
        found.append(
            ShareLoad(
                variant=variant.name,
                host=host,
                brokers=brokers[host],
                sites=sites[host],
                processors=(work[host] / seconds + steady) * able.speed / SECOND,
                steady=steady * able.speed / SECOND,
                frames=relayed[host] * _FRAMES_OF_MESSAGE / seconds,
                memory=memory_of(brokers[host], sites[host]),
            )
        )
    return found


def beyond(load: ShareLoad, able: Capacity, dilation: float) -> Iterator[str]:
    """Sentences on what a host does not carry of its share, each with the remedy."""
    beside = f" and {count_of(load.sites, 'site')}" if load.sites else ""
    share = f"{load.variant}: {load.host} with {count_of(load.brokers, 'broker')}{beside}"
    if load.memory > able.memory:
        yield (
            f"{share} needs {load.memory / 1e9:.1f} GB of memory and has {able.memory / 1e9:.1f} GB left: give it a "
            "smaller brokerlab_weight, or use more hosts"
        )
    if load.processors > AIM * able.processors:
        yield (
            f"{share} needs {load.processors:.2f} processors, and carries {AIM:.0%} of {able.processors:.2f}: "
            f"{_slower(load, able, dilation)}"
        )
    if able.frames is not None and load.frames > AIM * able.frames:
        needed = ceil(10 * dilation * load.frames / (AIM * able.frames)) / 10
        yield (
            f"{share} has {load.frames:,.0f} frames/s for its relay, and carries {AIM:.0%} of {able.frames:,.0f}: "
            f"use --set time_dilation={needed:g}, links of the kernel, or more hosts"
        )


def _slower(load: ShareLoad, able: Capacity, dilation: float) -> str:
    """The remedy for a host whose processors have too much to do."""
    room = AIM * able.processors - load.steady
    if room <= 0:
        return "give it a smaller brokerlab_weight, or use more hosts"
    needed = ceil(10 * dilation * (load.processors - load.steady) / room) / 10
    return f"use --set time_dilation={needed:g}, give it a smaller brokerlab_weight, or use more hosts"


def _worked(turns: Sequence[Turn], costs: Calibration, placement: Placement) -> tuple[dict[str, float], Counter[str]]:
    """Nanoseconds of work on each host, and the messages that each host's relay carries.

    A turn of relay or drivers is on the hosts of the brokers before and after it: a message from one host to another
    goes through both relays.
    """
    after: defaultdict[int, set[str]] = defaultdict(set)
    for turn in turns:
        if turn.cause >= 0 and turn.node in placement:
            after[turn.cause].add(placement[turn.node])
    work: defaultdict[str, float] = defaultdict(float)
    relayed: Counter[str] = Counter()
    for place, turn in enumerate(turns):
        if turn.node in placement:
            work[placement[turn.node]] += turn.work + costs.host.turn
            continue
        hosts = set(after[place])
        if turn.cause >= 0 and (before := turns[turn.cause].node) in placement:
            hosts.add(placement[before])
        for host in hosts:
            work[host] += turn.work
            relayed[host] += turn.node == RELAY
    return work, relayed
