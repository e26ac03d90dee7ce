"""Probing links: what to send over each, and what the answers say of it.

A direction that looks wrong is probed again, twice at most, and the last word counts: of a few hundred directions that
are all right, some miss a 99% interval each time.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from emulation.network import tolerance
from emulation.network.model import NetworkError
from emulation.network.probe_messages import (
    LARGE_PAYLOAD,
    OVERHEAD,
    SMALL_PAYLOAD,
    DirectionSamples,
    FarResponder,
    ProbedDirection,
    ProbeTask,
)
from emulation.network.shaping import standard_quantiles
from topology.model import BrokerId, JitterDistribution, LinkProperties

ATTEMPTS = 3
ROUNDS = 20
"""Packets for the delay in each direction."""
PACKETS_PER_SECOND = 2_500
"""Of all directions together."""
TRAINS = 3
TRAIN_TIME = 0.025
"""Seconds a train takes, at least; more where jitter would blur it."""
LIGHT_ROUNDS, LIGHT_INTERVAL = 7, 0.2
"""Packets in each direction while a run's own load is on the links, and the seconds between two."""

_LEAST_INTERVAL, _INTERVAL_JITTERS = 0.02, 10
_LEAST_SPREAD = 4
_LEAST_TRAIN, _LEAST_VOLLEYS = 12, 200
_MOST_LOSS_PACKETS, _ALL_LOSS_PACKETS = 2_000, 60_000
"""In one direction; and together, so that many lossy links take seconds, not minutes."""
_EXPECTED_LOSSES = 20
_VOLLEY = 20
_JITTER_TIMES = 40
_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One direction of a link, with what is asked of it and where its ends are."""

    source: BrokerId
    target: BrokerId
    processes: tuple[int, int]
    addresses: tuple[str, str]
    properties: LinkProperties
    burst: int
    """Bytes that pass before the rate slows anything."""
    responder: FarResponder | None = None
    """Who takes probes where the target is on another host."""

    @property
    def ends(self) -> tuple[BrokerId, BrokerId]:
        return self.source, self.target

    @property
    def expected_delay(self) -> float:
        """Median one-way delay of a small packet with nothing before it, in seconds."""
        properties = self.properties
        quantiles = standard_quantiles(properties.distribution)
        jitter = statistics.median(quantiles) * properties.jitter
        size = SMALL_PAYLOAD + OVERHEAD
        slowed = 0.0 if properties.rate is None or self.burst >= size else size * 8 / properties.rate
        return max(0.0, properties.delay + jitter) + slowed


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkProbe:
    """One direction of a link, from broker `a` to broker `b`: asked and measured. What was not measured is None."""

    a: BrokerId
    b: BrokerId
    delay_asked: float
    """Seconds, one-way, as is jitter."""
    delay_measured: float | None
    """The delay that the median tells: freed of the packet's own length and of the distribution's skew."""
    jitter_asked: float
    jitter_measured: float | None
    """As the middle half of the delays tells it, so that a few that the host held up do not count."""
    rate_asked: float | None
    """Bits per second of Ethernet frames."""
    rate_measured: float | None
    loss_asked: float
    loss_measured: float | None
    ok: bool
    """Whether what was measured is within tolerance (`tolerance.py`)."""
    detail: str = ""
    """What is not."""


def probe_idle(routes: Sequence[Route]) -> list[LinkProbe]:
    """Probe delay, rate and loss of links that carry nothing else. Takes seconds."""
    probes = _measure(routes)
    for _ in range(ATTEMPTS - 1):
        doubtful = [index for index, probe in enumerate(probes) if not probe.ok]
        if not doubtful:
            break
        for index, probe in zip(doubtful, _measure([routes[index] for index in doubtful]), strict=True):
            probes[index] = probe
    return probes


def probe_under_load(routes: Sequence[Route]) -> list[LinkProbe]:
    """Probe the delay alone, with a few small packets, of links in use.

    Where a rate is set, others' frames may be before the packet: there only the quickest packet must be in time.
    """
    directions = [_direction(route, lossy_routes=0) for route in routes]
    directions = [msgspec.structs.replace(direction, train=0, volleys=0) for direction in directions]
    task = ProbeTask(directions=directions, rounds=LIGHT_ROUNDS, interval=LIGHT_INTERVAL, trains=0)
    return [_judge_loaded(route, found) for route, found in zip(routes, _run(task), strict=True)]


def _measure(routes: Sequence[Route]) -> list[LinkProbe]:
    lossy = sum(route.properties.loss > 0 for route in routes)
    directions = [_direction(route, lossy) for route in routes]
    # Packets of one direction are far enough apart for the later not to be held up by the earlier one's jitter.
    jitter = max((route.properties.jitter for route in routes), default=0.0)
    interval = max(_LEAST_INTERVAL, _INTERVAL_JITTERS * jitter, len(routes) / PACKETS_PER_SECOND)
    task = ProbeTask(directions=directions, rounds=ROUNDS, interval=interval, trains=TRAINS)
    return [_judge_idle(route, found) for route, found in zip(routes, _run(task), strict=True)]


def _direction(route: Route, lossy_routes: int) -> ProbedDirection:
    """How to probe one direction, when so many of all those probed lose packets."""
    properties = route.properties
    train = warm_up = volley = volleys = 0
    if properties.rate is not None:
        frame = LARGE_PAYLOAD + OVERHEAD
        warm_up = math.ceil(route.burst / frame) + 2 if route.burst else 0
        seconds = max(TRAIN_TIME, _JITTER_TIMES * properties.jitter)
        train = warm_up + max(_LEAST_TRAIN, math.ceil(seconds * properties.rate / 8 / frame))
        train = min(train, warm_up + properties.queue_limit)
    if properties.loss and lossy_routes:
        volley = min(_VOLLEY, properties.queue_limit)
        packets = min(_MOST_LOSS_PACKETS, _ALL_LOSS_PACKETS // lossy_routes, _EXPECTED_LOSSES / properties.loss)
        volleys = math.ceil(max(_LEAST_VOLLEYS, packets) / volley)
    return ProbedDirection(
        processes=route.processes,
        addresses=route.addresses,
        delay=properties.delay + _JITTER_TIMES * properties.jitter,
        rate=properties.rate,
        train=train,
        warm_up=warm_up,
        volley=volley,
        volleys=volleys,
        responder=route.responder,
    )


def _run(task: ProbeTask) -> list[DirectionSamples]:
    command = [sys.executable, "-m", "emulation.network.prober"]
    done = subprocess.run(
        command,
        input=msgspec.json.encode(task),
        capture_output=True,
        check=False,
        cwd=_ROOT,
        start_new_session=True,  # Ctrl-C is the emulator's to handle
    )
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise NetworkError(f"links cannot be probed: {lines[-1] if lines else 'the prober was killed'}")
    return msgspec.json.decode(done.stdout, type=list[DirectionSamples])


def _judge_idle(route: Route, found: DirectionSamples) -> LinkProbe:
    probe = _probe(route, found)
    wrong = [_delay_fault(route, found, statistics.median)]
    wrong.append(_rate_fault(probe.rate_asked, probe.rate_measured))
    low, high = tolerance.loss_interval(found.sent, probe.loss_asked)
    lost = found.sent - found.received
    if not low <= lost <= high:
        wrong.append(f"{lost} of {found.sent} packets lost instead of {low} to {high}")
    return _with_faults(probe, wrong)


def _judge_loaded(route: Route, found: DirectionSamples) -> LinkProbe:
    probe = dataclasses.replace(_probe(route, found), jitter_measured=None, loss_measured=None)
    wrong = [_delay_fault(route, found, statistics.median if route.properties.rate is None else min)]
    return _with_faults(probe, wrong)


def _probe(route: Route, found: DirectionSamples) -> LinkProbe:
    asked = route.properties
    correction = asked.delay - route.expected_delay
    return LinkProbe(
        a=route.source,
        b=route.target,
        delay_asked=asked.delay,
        delay_measured=statistics.median(found.delays) + correction if found.delays else None,
        jitter_asked=asked.jitter,
        jitter_measured=_jitter(asked.distribution, found.delays),
        rate_asked=asked.rate,
        rate_measured=statistics.median(found.rates) if found.rates else None,
        loss_asked=asked.loss,
        loss_measured=1 - found.received / found.sent,
        ok=True,
    )


def _jitter(distribution: JitterDistribution, delays: Sequence[float]) -> float | None:
    """The jitter that spreads the middle half of the delays as far as it is spread."""
    if len(delays) < _LEAST_SPREAD:
        return None
    first, _, third = statistics.quantiles(delays, n=4)
    standard_first, _, standard_third = statistics.quantiles(standard_quantiles(distribution), n=4)
    return (third - first) / (standard_third - standard_first)


def _delay_fault(route: Route, found: DirectionSamples, choose: Callable[[Sequence[float]], float]) -> str:
    """What is wrong with the delays; nothing when they are as asked.

    The median must not be too small, and what `choose` chooses must not be too great. What two hosts' clocks may be
    apart is no fault of the link's.
    """
    delays = found.delays
    if not delays:
        return "" if route.properties.loss == 1 else "no packet arrived"
    allowed = tolerance.delay_tolerance(route.properties.delay, route.properties.jitter, len(delays))
    allowed += found.clock_error
    expected = route.expected_delay
    if statistics.median(delays) >= expected - allowed and choose(delays) <= expected + allowed:
        return ""
    return f"{choose(delays) * 1e3:.2f} ms instead of {expected * 1e3:.2f} (+-{allowed * 1e3:.2f})"


def _rate_fault(asked: float | None, measured: float | None) -> str:
    if asked is None or measured is None or tolerance.rate_is_kept(asked, measured):
        return ""
    return f"{measured / 1e6:.3f} Mbit/s instead of {asked / 1e6:.3f}"


def _with_faults(probe: LinkProbe, faults: Sequence[str]) -> LinkProbe:
    found = ", ".join(fault for fault in faults if fault)
    return dataclasses.replace(probe, ok=not found, detail=found)
