"""The run phase second by second: measurements of the host, the relay and the logs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from emulation.fidelity.host import HostUse
from emulation.fidelity.logs import LogFindings
from record.fidelity import Sample


@dataclass(frozen=True, slots=True)
class ObservedInterval:
    """Measurements between two samples. Seconds of real time from the begin of the run phase."""

    begin: float
    end: float
    host: HostUse | None = None
    relay_lateness: float | None = None
    relay_held_up: float | None = None
    """Share of the interval in which the relay had work and did not run."""


def samples(intervals: Iterable[ObservedInterval], logs: LogFindings, dilation: float) -> list[Sample]:
    """The samples of `fidelity.json`, in the scenario's time."""
    return [_sample(interval, logs, dilation) for interval in intervals]


def _sample(interval: ObservedInterval, logs: LogFindings, dilation: float) -> Sample:
    host = interval.host
    first = round(interval.begin)
    seconds = range(first, max(first + 1, round(interval.end)))
    return Sample(
        begin=interval.begin / dilation,
        end=interval.end / dilation,
        cpu_busy=None if host is None else 1 - host.idle,
        cpu_steal=None if host is None else host.steal,
        cpu_pressure=None if host is None else host.cpu_pressure,
        memory_pressure=None if host is None else host.memory_pressure,
        relay_lateness=None if interval.relay_lateness is None else interval.relay_lateness / dilation,
        relay_held_up=interval.relay_held_up,
        loop_lag=_worst(logs.worst_lag, seconds, dilation),
        workload_lateness=_worst(logs.worst_lateness, seconds, dilation),
    )


def _worst(by_second: dict[int, float], seconds: range, dilation: float) -> float | None:
    found = [by_second[second] for second in seconds if second in by_second]
    return max(found) / dilation if found else None
