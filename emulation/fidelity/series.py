"""The run phase second by second: what the host, the relay and the logs tell of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from emulation.fidelity.host import HostUse
from emulation.fidelity.logs import LogFindings
from record.fidelity import Sample


@dataclass(frozen=True, slots=True)
class Stretch:
    """What was seen between two looks. Seconds, as they passed, from the begin of the run phase."""

    begin: float
    end: float
    host: HostUse | None = None
    relay_lateness: float | None = None
    relay_held_up: float | None = None
    """Share of the time."""


def samples(stretches: Iterable[Stretch], logs: LogFindings, dilation: float) -> list[Sample]:
    """The series, in the scenario's time."""
    return [_sample(stretch, logs, dilation) for stretch in stretches]


def _sample(stretch: Stretch, logs: LogFindings, dilation: float) -> Sample:
    host = stretch.host
    first = round(stretch.begin)
    seconds = range(first, max(first + 1, round(stretch.end)))
    return Sample(
        begin=stretch.begin / dilation,
        end=stretch.end / dilation,
        cpu_busy=None if host is None else 1 - host.idle,
        cpu_steal=None if host is None else host.steal,
        cpu_pressure=None if host is None else host.cpu_pressure,
        memory_pressure=None if host is None else host.memory_pressure,
        relay_lateness=None if stretch.relay_lateness is None else stretch.relay_lateness / dilation,
        relay_held_up=stretch.relay_held_up,
        loop_lag=_worst(logs.worst_lag, seconds, dilation),
        workload_lateness=_worst(logs.worst_lateness, seconds, dilation),
    )


def _worst(by_second: dict[int, float], seconds: range, dilation: float) -> float | None:
    found = [by_second[second] for second in seconds if second in by_second]
    return max(found) / dilation if found else None
