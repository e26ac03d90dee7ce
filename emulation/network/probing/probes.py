"""Probes links: chooses the packets for each, and compares the measurements with the requested properties.

A direction that looks wrong is probed again, twice at most, and the last result counts, because of a few hundred
correct directions some miss a 99% interval each time.
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

from emulation.network.model import NetworkError
from emulation.network.probing import tolerance
from emulation.network.probing.messages import (
    LARGE_PAYLOAD,
    OVERHEAD,
    SMALL_PAYLOAD,
    DirectionSamples,
    FarResponder,
    ProbedDirection,
    ProbeTask,
)
from emulation.network.relay.shaping import standard_quantiles
from topology.link_properties import BrokerId, JitterDistribution, LinkProperties

ATTEMPTS = 3
ROUNDS = 20
"""Packets for the delay in each direction, unless there are very many."""
PACKETS = 20_000
"""Packets for the delay in all directions together; each direction gets `LIGHT_ROUNDS` at least."""
PACKETS_PER_SECOND = 5_000
"""Packets per second in all directions together."""
TRAINS = 3
TRAIN_TIME = 0.025
"""Least duration of a train in seconds; it is longer if jitter would blur it."""
LIGHT_ROUNDS, LIGHT_INTERVAL = 7, 0.2
"""Packets in each direction while a run loads the links, and the seconds between two."""
FAULT_INTERVAL, FAULT_SECONDS = 0.04, 0.8
"""Seconds between two packets by which a fault is verified, and for all of them where jitter is small."""

_LEAST_INTERVAL, _INTERVAL_JITTERS = 0.02, 10
_LEAST_SPREAD = 4
_LEAST_TRAIN, _LEAST_VOLLEYS = 12, 200
_MOST_LOSS_PACKETS, _ALL_LOSS_PACKETS = 2_000, 60_000
"""Limits of packets in one direction, and in all, so that many lossy links take seconds and not minutes."""
_EXPECTED_LOSSES = 20
_VOLLEY = 20
_FAULT_INTERVAL_JITTERS = 4
_FAULT_TRAIN, _FAULT_TRAIN_TIME = 8, 0.01
_FAULT_VOLLEY, _MOST_FAULT_PACKETS = 5, 400
_JITTER_TIMES = 40
_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectionSpec:
    """The requested properties of one direction of a link, with the processes and addresses of its ends."""

    source: BrokerId
    target: BrokerId
    processes: tuple[int, int]
    addresses: tuple[str, str]
    properties: LinkProperties
    burst: int
    """Bytes that pass before the rate slows frames down."""
    responder: FarResponder | None = None
    """The responder that receives probes if the target is on another host."""

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
    """One direction of a link, from broker `a` to broker `b`: requested and measured values; None if not measured."""

    a: BrokerId
    b: BrokerId
    delay_asked: float
    """Seconds, one-way, as is jitter."""
    delay_measured: float | None
    """The delay by the median, corrected for the packet's own length and the distribution's skew."""
    jitter_asked: float
    jitter_measured: float | None
    """Jitter by the middle half of the delays, so that a few packets that the host delayed do not matter."""
    rate_asked: float | None
    """Bits per second of Ethernet frames."""
    rate_measured: float | None
    loss_asked: float
    loss_measured: float | None
    ok: bool
    """True if all measurements are within tolerance (`tolerance.py`)."""
    detail: str = ""
    """The values out of tolerance."""


def probe_idle(specs: Sequence[DirectionSpec]) -> list[LinkProbe]:
    """Probe delay, rate and loss of links that carry nothing else. Takes seconds."""
    probes = _measure(specs)
    for _ in range(ATTEMPTS - 1):
        doubtful = [index for index, probe in enumerate(probes) if not probe.ok]
        if not doubtful:
            break
        for index, probe in zip(doubtful, _measure([specs[index] for index in doubtful]), strict=True):
            probes[index] = probe
    return probes


def probe_under_load(specs: Sequence[DirectionSpec]) -> list[LinkProbe]:
    """Probe the delay alone, with a few small packets, of links in use.

    If a rate is set, other frames may be ahead of a packet. Then only the quickest packet must be in time.
    """
    directions = [_direction(spec, lossy_directions=0) for spec in specs]
    directions = [msgspec.structs.replace(direction, train=0, volleys=0) for direction in directions]
    task = ProbeTask(directions=directions, rounds=LIGHT_ROUNDS, interval=LIGHT_INTERVAL, trains=0)
    return [_judge_loaded(spec, found) for spec, found in zip(specs, _run(task), strict=True)]


def probe_fault(specs: Sequence[DirectionSpec], lost: Sequence[float]) -> list[DirectionSamples]:
    """Samples of directions in use while a fault may hold on them, of which that share of packets should be lost.

    A few more packets than `probe_under_load` sends, and a short train where there is a rate.
    """
    directions = [_faulty_direction(spec, share) for spec, share in zip(specs, lost, strict=True)]
    jitter = max((spec.properties.jitter for spec in specs), default=0.0)
    interval = max(FAULT_INTERVAL, _FAULT_INTERVAL_JITTERS * jitter)
    rounds = max(LIGHT_ROUNDS, min(ROUNDS, round(FAULT_SECONDS / interval)))
    return _run(ProbeTask(directions=directions, rounds=rounds, interval=interval, trains=1))


def rounds_for(directions: int) -> int:
    """Packets for the delay in each direction, if this number of directions is probed at once."""
    return max(LIGHT_ROUNDS, min(ROUNDS, PACKETS // max(1, directions)))


def _measure(specs: Sequence[DirectionSpec]) -> list[LinkProbe]:
    lossy = sum(spec.properties.loss > 0 for spec in specs)
    directions = [_direction(spec, lossy) for spec in specs]
    # Packets of one direction are so far apart that the jitter of one does not delay the next.
    jitter = max((spec.properties.jitter for spec in specs), default=0.0)
    interval = max(_LEAST_INTERVAL, _INTERVAL_JITTERS * jitter, len(specs) / PACKETS_PER_SECOND)
    task = ProbeTask(directions=directions, rounds=rounds_for(len(specs)), interval=interval, trains=TRAINS)
    return [_judge_idle(spec, found) for spec, found in zip(specs, _run(task), strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Budget:
    """The packets by which rate and loss of one direction are measured."""

    train: int
    """Least number of frames behind those that fill the burst; 0 for no train."""
    seconds: float
    """Least duration of the train."""
    packets: float
    """Packets by which the loss is measured; 0 for none."""
    volley: int
    """Packets that are sent at once."""
    jitters: int
    """Jitters after the delay, by which all packets have arrived."""


def _direction(spec: DirectionSpec, lossy_directions: int) -> ProbedDirection:
    """The probes for one direction; `lossy_directions` is the number of probed directions that lose packets."""
    loss, packets = spec.properties.loss, 0.0
    if loss and lossy_directions:
        packets = min(_MOST_LOSS_PACKETS, _ALL_LOSS_PACKETS // lossy_directions, _EXPECTED_LOSSES / loss)
        packets = max(_LEAST_VOLLEYS, packets)
    seconds = max(TRAIN_TIME, _JITTER_TIMES * spec.properties.jitter)
    budget = _Budget(train=_LEAST_TRAIN, seconds=seconds, packets=packets, volley=_VOLLEY, jitters=_JITTER_TIMES)
    return _probed(spec, budget)


def _faulty_direction(spec: DirectionSpec, lost: float) -> ProbedDirection:
    """The probes for one direction that should lose this share of packets. Jitter would blur so short a train."""
    packets = min(_MOST_FAULT_PACKETS, _EXPECTED_LOSSES / lost) if 0 < lost < 1 else 0.0
    train = 0 if lost >= 1 or spec.properties.jitter else _FAULT_TRAIN
    budget = _Budget(
        train=train, seconds=_FAULT_TRAIN_TIME, packets=packets, volley=_FAULT_VOLLEY, jitters=_INTERVAL_JITTERS
    )
    return _probed(spec, budget)


def _probed(spec: DirectionSpec, budget: _Budget) -> ProbedDirection:
    properties = spec.properties
    train = warm_up = 0
    if properties.rate is not None and budget.train:
        frame = LARGE_PAYLOAD + OVERHEAD
        warm_up = math.ceil(spec.burst / frame) + 2 if spec.burst else 0
        train = warm_up + max(budget.train, math.ceil(budget.seconds * properties.rate / 8 / frame))
        train = min(train, warm_up + properties.queue_limit)
    volley = min(budget.volley, properties.queue_limit) if budget.packets else 0
    return ProbedDirection(
        processes=spec.processes,
        addresses=spec.addresses,
        delay=properties.delay + budget.jitters * properties.jitter,
        rate=properties.rate,
        train=train,
        warm_up=warm_up,
        volley=volley,
        volleys=math.ceil(budget.packets / volley) if volley else 0,
        responder=spec.responder,
    )


def _run(task: ProbeTask) -> list[DirectionSamples]:
    command = [sys.executable, "-m", "emulation.network.probing.prober"]
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


def _judge_idle(spec: DirectionSpec, found: DirectionSamples) -> LinkProbe:
    probe = _probe(spec, found)
    wrong = [_delay_fault(spec, found, statistics.median), _jitter_fault(spec, found, _too_wide(spec, found))]
    wrong.append(_rate_fault(probe.rate_asked, probe.rate_measured))
    low, high = tolerance.loss_interval(found.sent, probe.loss_asked)
    lost = found.sent - found.received
    if not low <= lost <= high:
        wrong.append(f"{lost} of {found.sent} packets lost instead of {low} to {high}")
    return _with_faults(probe, wrong)


def _judge_loaded(spec: DirectionSpec, found: DirectionSamples) -> LinkProbe:
    """Waiting behind other frames makes packets late and spreads their delays, and jitter lets frames wait for those
    before them, so there only the quickest packet must not be late."""
    probe = dataclasses.replace(_probe(spec, found), loss_measured=None)
    waits = spec.properties.rate is not None
    choose = min if waits or spec.properties.jitter else statistics.median
    wrong = [_delay_fault(spec, found, choose), _jitter_fault(spec, found, not waits and _too_wide(spec, found))]
    return _with_faults(probe, wrong)


def _probe(spec: DirectionSpec, found: DirectionSamples) -> LinkProbe:
    asked = spec.properties
    correction = asked.delay - spec.expected_delay
    return LinkProbe(
        a=spec.source,
        b=spec.target,
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
    """The jitter that gives the middle half of the delays its width."""
    if len(delays) < _LEAST_SPREAD:
        return None
    first, _, third = statistics.quantiles(delays, n=4)
    standard_first, _, standard_third = statistics.quantiles(standard_quantiles(distribution), n=4)
    return (third - first) / (standard_third - standard_first)


def _delay_fault(spec: DirectionSpec, found: DirectionSamples, choose: Callable[[Sequence[float]], float]) -> str:
    """The fault of the delays; empty if they are within tolerance.

    The median must not be too small, and the value that `choose` selects must not be too great. The error of two hosts'
    clocks is added to the tolerance, because it is not a fault of the link.
    """
    delays = found.delays
    if not delays:
        return "" if spec.properties.loss == 1 else "no packet arrived"
    allowed = tolerance.delay_tolerance(spec.properties.delay, spec.properties.jitter, len(delays))
    allowed += found.clock_error
    expected = spec.expected_delay
    if statistics.median(delays) >= expected - allowed and choose(delays) <= expected + allowed:
        return ""
    return f"{choose(delays) * 1e3:.2f} ms instead of {expected * 1e3:.2f} (+-{allowed * 1e3:.2f})"


def _too_wide(spec: DirectionSpec, found: DirectionSamples) -> bool:
    offset = spec.expected_delay - tolerance.median_delay(spec.properties)
    floor = tolerance.DELAY_FLOOR + found.clock_error
    return bool(spec.properties.jitter) and tolerance.too_wide(spec.properties, found.delays, offset, floor=floor)


def _jitter_fault(spec: DirectionSpec, found: DirectionSamples, wide: bool) -> str:
    """The fault of the delays' spread; empty if it is within tolerance, and for too few delays."""
    if len(found.delays) < LIGHT_ROUNDS - 1 or not (wide or tolerance.too_narrow(spec.properties, found.delays)):
        return ""
    measured = _jitter(spec.properties.distribution, found.delays) or 0.0
    return f"a jitter of {measured * 1e3:.2f} ms instead of {spec.properties.jitter * 1e3:.2f}"


def _rate_fault(asked: float | None, measured: float | None) -> str:
    if asked is None or measured is None or tolerance.rate_is_kept(asked, measured):
        return ""
    return f"{measured / 1e6:.3f} Mbit/s instead of {asked / 1e6:.3f}"


def _with_faults(probe: LinkProbe, faults: Sequence[str]) -> LinkProbe:
    found = ", ".join(fault for fault in faults if fault)
    return dataclasses.replace(probe, ok=not found, detail=found)
