"""The audit of service times and send times by the log, which recomputes what a broker and a link end should have done.

Both are queues with one server. Of the pieces that waited for one before them, the distance of two ends is the time of
service (Lindley's recursion), whoever made them wait. Between simulated brokers this holds to the nanosecond but for
work that no log has; between real ones timers run late, and only the median of a constant time is held to what was
asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from analysis.auditing.evidence import Evidence
from analysis.auditing.finding import none_allowed, unmeasured
from analysis.auditing.hops.readings import LinkReading, ServiceReading, Spread
from record.fidelity import Check
from record.service_time import Distribution, ServiceTime
from record.time_units import MILLISECOND, SECOND
from record.wording import count_of

FEWEST = 10
"""Number of pieces of work or messages from which on their times are judged."""
_MODELLED_SHARE, _MODELLED_ALLOWANCE = 0.01, 0.005 * MILLISECOND
_REAL_SHARE, _REAL_ALLOWANCE = 0.05, 1.5 * MILLISECOND
"""The share and the nanoseconds by which a time may be wrong."""
_STANDARD_ERRORS = 4.5
_OVERLAPS = 0.01
"""Share of messages that may leave a queue before the one ahead is written, because a call came late."""


def service_audit(evidence: Evidence) -> Iterable[Check]:
    """The checks on one variant."""
    yield _services(evidence)
    yield _sendings(evidence)


def _services(evidence: Evidence) -> Check:
    name, asked = "service times, by the messages", evidence.service_time
    if asked is None:
        return unmeasured(name, "brokers", "the manifest does not state what was asked for")
    own = [reading for reading in evidence.hops.services if reading.variant == evidence.number]
    judged = [reading for reading in own if max(reading.busy.count, reading.idle.count) >= FEWEST]
    if not judged or not (asked or evidence.modelled):
        return unmeasured(name, "brokers", "no service time was asked for, or no broker had messages enough to tell")
    wrong = [f"{reading.broker}: {text}" for reading in judged if (text := _service(reading, asked, evidence))]
    return none_allowed(
        name,
        "brokers",
        wrong,
        meaning=f"of {count_of(len(judged), 'broker')} judged, these do not work as fast as was asked for",
        otherwise=f"all {len(judged):,} brokers that had messages enough to tell work as fast as was asked for",
    )


def _service(reading: ServiceReading, asked: ServiceTime, evidence: Evidence) -> str | None:
    mean = asked.mean * SECOND
    if reading.busy.count >= FEWEST and (text := _time(reading.busy, asked, evidence)):
        return text
    if not evidence.modelled or reading.idle.count < FEWEST:
        return None
    latency = evidence.costs.latency or (0,)
    usual = sum(latency) / len(latency)
    deviation = math.sqrt(sum((time - usual) ** 2 for time in latency) / len(latency))
    margin = _MODELLED_SHARE * mean + 0.1 * usual + _MODELLED_ALLOWANCE
    margin += _STANDARD_ERRORS * deviation / math.sqrt(reading.idle.count)
    least, most = _by_chance(asked, reading.idle.count)
    if least - margin <= reading.idle.mean - usual <= most + margin:
        return None
    return f"{_ms(reading.idle.mean)} from arrival to turn where nothing waited, instead of {_ms(mean + usual)}"


def _sendings(evidence: Evidence) -> Check:
    name = "send times of links, by the messages"
    own = [reading for reading in evidence.hops.links if reading.variant == evidence.number]
    judged = [reading for reading in own if reading.asked.send_time and reading.paired >= FEWEST]
    if not judged:
        return unmeasured(name, "directions", "no direction that takes time to send had messages enough to tell")
    wrong = [
        f"{reading.source} to {reading.target}: {text}" for reading in judged if (text := _sending(reading, evidence))
    ]
    return none_allowed(
        name,
        "directions",
        wrong,
        meaning=f"of {len(judged):,} directions judged, these do not take the time to send that was asked for",
        otherwise=f"all {len(judged):,} directions that had messages enough to tell take the time that was asked for",
    )


def _sending(reading: LinkReading, evidence: Evidence) -> str | None:
    if reading.sending.count < reading.paired / 2:
        return f"{reading.paired - reading.sending.count:,} of {reading.paired:,} messages took no time to send"
    if reading.overlapping > _OVERLAPS * reading.paired:
        return f"{reading.overlapping:,} of {reading.paired:,} messages were sent beside another"
    return _time(reading.sending, reading.asked.send_time, evidence)


def _time(found: Spread, asked: ServiceTime, evidence: Evidence) -> str | None:
    """The text about a time that is not what was asked for."""
    mean = asked.mean * SECOND
    constant = asked.distribution is Distribution.CONSTANT
    value = found.median if constant else found.mean
    share, allowance = _MODELLED_SHARE, _MODELLED_ALLOWANCE
    if not evidence.modelled:
        share, allowance = _REAL_SHARE, _REAL_ALLOWANCE / evidence.variant.time_dilation
        if not constant:
            allowance *= 2
    margin = share * mean + allowance
    least, most = _by_chance(asked, found.count)
    if least - margin <= value <= most + margin:
        return None
    return f"{_ms(value)} a message instead of {_ms(mean)}, over {count_of(found.count, 'message')}"


def _by_chance(asked: ServiceTime, count: int) -> tuple[float, float]:
    """The least and the greatest mean of so many draws of a time that chance explains, in nanoseconds.

    A sum of exponential times has a long tail upwards. Its cube root is next to normal (Wilson and Hilferty, 1931).
    """
    mean = asked.mean * SECOND
    if asked.distribution is Distribution.EXPONENTIAL:
        middle, error = 1 - 1 / (9 * count), _STANDARD_ERRORS / (3 * math.sqrt(count))
        return mean * max(0.0, middle - error) ** 3, mean * (middle + error) ** 3
    deviation = asked.deviation * SECOND / (math.sqrt(3) if asked.distribution is Distribution.UNIFORM else 1)
    error = _STANDARD_ERRORS * deviation / math.sqrt(count)
    return mean - error, mean + error


def _ms(nanoseconds: float) -> str:
    return f"{nanoseconds / MILLISECOND:.3f} ms"
