"""The audit of every link direction by the messages that travelled on it.

1. *Delay*: a tenth of the frames that found the link idle were quicker than they should be, or half of them slower.
   Between real brokers the slower half may have waited for a processor, so there only the quickest tenth must not be
   slow. None may be quicker than delay and jitter allow.
2. *Jitter*: the distance of the first decile from the last, and between real brokers from the median, is neither far
   smaller nor far larger than it should be.
3. *Loss*: as many frames as the loss makes TCP send again, and between simulated brokers no more.
4. *Rate*: frames that wait for the rate arrive as far apart as it says.

A direction with fewer messages than a check needs is not judged by it, and counted. Waits for a processor are the
host's (`hops.waits`): messages that they disturbed are left out, and where too few others remain, the longest that they
can have been is taken off before a link is called too slow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from analysis.auditing.evidence import Evidence
from analysis.auditing.finding import none_allowed, unmeasured
from analysis.auditing.hops.readings import LinkReading
from record.fidelity import Check
from record.time_units import MILLISECOND, SECOND
from record.wording import count_of
from topology.link_properties import JitterDistribution, LinkProperties

FEWEST = 10
"""Frames that found a link idle, below which its delay is not judged."""
FEWEST_FOR_JITTER = 30
FEWEST_QUEUED = 20
DELAY_SHARE = 0.02
"""Share of the delay by which it may be wrong: that of the probes before a run."""
MODELLED_ALLOWANCE = MILLISECOND / 50
"""Nanoseconds by which a simulated link may be wrong: the headers that an audit can only estimate."""
REAL_ALLOWANCE = 1.0 * MILLISECOND
"""Nanoseconds that the quickest tenth of messages may take from one process to another besides the link."""
RATE_SHARE = 0.05
STANDARD_ERRORS = 4.5
"""Standard errors that a quantile may be off. A run of 3,000 directions then has a false alarm in 30."""
_WHOLE_SPREAD, _OTHER_SPREAD = 8.0, 13.0
"""Relative error of a spread, times the root of the number of messages: of normal and uniform jitter as a whole, and of
the quicker half or of Pareto jitter. Chance exceeds it once in 50,000, by 200,000 samples of 30 to 300 messages."""
_CHANCE = 1e-5
"""Probability of a number of messages below which it is no chance."""
_COUNTED = 0.8
"""Least share of the frames that TCP sends again that it does so late."""
_PARETO_MEAN, _PARETO_DEVIATION = 1.5, math.sqrt(0.75)


class _Allowed:
    """The allowance of one variant."""

    def __init__(self, evidence: Evidence) -> None:
        self.modelled = evidence.modelled
        dilation = evidence.variant.time_dilation
        self.besides = MODELLED_ALLOWANCE if self.modelled else REAL_ALLOWANCE / dilation
        self.clocks = evidence.clock_error / dilation


@dataclass(frozen=True, slots=True)
class _Aspect:
    """One property of links."""

    name: str
    enough: Callable[[LinkReading], bool]
    """True for a direction whose messages are enough to tell."""
    judge: Callable[[LinkReading, _Allowed], str | None]
    """The text about a direction that is not what was asked for."""
    together: Callable[[Sequence[LinkReading], _Allowed], str | None] = lambda _readings, _allowed: None
    """The text about all directions as one, where none alone is wrong."""


def link_audit(evidence: Evidence) -> Iterable[Check]:
    """The checks on one variant."""
    readings = [reading for reading in evidence.hops.links if reading.variant == evidence.number]
    allowed = _Allowed(evidence)
    return [_check(aspect, readings, allowed) for aspect in _ASPECTS]


def _check(aspect: _Aspect, readings: list[LinkReading], allowed: _Allowed) -> Check:
    name = f"{aspect.name} of links, by the messages"
    judged = [reading for reading in readings if aspect.enough(reading)]
    if not judged:
        return unmeasured(name, "directions", f"none of {len(readings):,} directions had messages enough to tell")
    found = ((reading, aspect.judge(reading, allowed)) for reading in judged)
    wrong = [f"{reading.source} to {reading.target}: {text}" for reading, text in found if text]
    if not wrong and (text := aspect.together(judged, allowed)):
        wrong = [f"all directions as one: {text}"]
    of_all = f"{len(judged):,} of {count_of(len(readings), 'direction')} had messages enough to tell"
    return none_allowed(
        name,
        "directions",
        wrong,
        meaning=f"{of_all}, and these do not have the {aspect.name} that was asked for",
        otherwise=f"{of_all}, and all of these have the {aspect.name} that was asked for",
    )


def quantile(distribution: JitterDistribution, share: float) -> float:
    """The quantile of a distribution of jitter, in units of the jitter; see `JitterDistribution`."""
    if distribution is JitterDistribution.UNIFORM:
        return 2 * share - 1
    if distribution is JitterDistribution.NORMAL:
        return NormalDist().inv_cdf(share)
    return float(((1 - share) ** (-1 / 3) - _PARETO_MEAN) / _PARETO_DEVIATION)


def least(distribution: JitterDistribution) -> float:
    """The least that a distribution of jitter gives, in units of the jitter; of normal jitter, in a million draws."""
    return {JitterDistribution.UNIFORM: -1.0, JitterDistribution.NORMAL: -5.0}.get(distribution, -0.5774)


def _error(properties: LinkProperties, share: float, count: int) -> float:
    """Standard error of a sample's quantile, in nanoseconds."""
    slope = (quantile(properties.distribution, share + 0.01) - quantile(properties.distribution, share - 0.01)) / 0.02
    return math.sqrt(share * (1 - share) / count) * slope * properties.jitter * SECOND


def _enough_for_delay(reading: LinkReading) -> bool:
    return reading.delay.count >= FEWEST


def _delay(reading: LinkReading, allowed: _Allowed) -> str | None:
    asked, found = reading.asked, reading.delay
    delay, jitter = asked.delay * SECOND, asked.jitter * SECOND
    tolerance = DELAY_SHARE * delay + allowed.besides + allowed.clocks
    possible = max(0.0, delay + jitter * least(asked.distribution))
    if not asked.loss and found.least < possible - tolerance:
        return f"a message took {_ms(found.least)}, {_ms(possible)} is the least possible"
    cleared = reading.cleared
    shares = [(0.1, found.low, cleared.low), (0.5, found.median, cleared.median)]
    for share, value, alone in shares if allowed.modelled else shares[:1]:
        wanted = max(0.0, delay + jitter * quantile(asked.distribution, share))
        margin = tolerance + STANDARD_ERRORS * _error(asked, share, found.count)
        # A frame of acknowledgements alone, which is in no log, may go before.
        if value < wanted - margin or alone > wanted + margin + reading.acknowledgement:
            which = "half" if share == 0.5 else "a tenth"
            return f"{which} of {count_of(found.count, 'message')} within {_ms(value)} instead of {_ms(wanted)}"
    return None


def _enough_for_jitter(reading: LinkReading) -> bool:
    asked = reading.asked
    clear = asked.delay + asked.jitter * quantile(asked.distribution, 0.1) > 0
    undisturbed = not reading.disturbed or reading.idle - reading.late - reading.disturbed >= FEWEST_FOR_JITTER
    return asked.jitter > 0 and clear and undisturbed and reading.delay.count >= FEWEST_FOR_JITTER


def _jitter(reading: LinkReading, allowed: _Allowed) -> str | None:
    asked, found = reading.asked, reading.delay
    last, end = (0.9, found.high) if allowed.modelled else (0.5, found.median)
    wanted = (quantile(asked.distribution, last) - quantile(asked.distribution, 0.1)) * asked.jitter * SECOND
    even = allowed.modelled and asked.distribution is not JitterDistribution.PARETO
    factor = 1.1 + (_WHOLE_SPREAD if even else _OTHER_SPREAD) / math.sqrt(found.count)
    measured = end - found.low
    # A frame of acknowledgements alone, which is in no log, may go before.
    most = wanted * factor + allowed.besides + reading.acknowledgement
    if wanted / factor - allowed.besides <= measured <= most:
        return None
    return f"messages spread over {_ms(measured)} where {_ms(wanted)} were asked for"


def _enough_for_loss(reading: LinkReading) -> bool:
    return reading.idle >= FEWEST


def _loss(reading: LinkReading, allowed: _Allowed) -> str | None:
    return _loss_in_words(reading.late, reading.idle, reading.late_expected, allowed)


def _loss_together(readings: Sequence[LinkReading], allowed: _Allowed) -> str | None:
    """The loss of all directions as one, which shows what no direction has messages enough to show."""
    late, idle = sum(reading.late for reading in readings), sum(reading.idle for reading in readings)
    return _loss_in_words(late, idle, sum(reading.late_expected for reading in readings), allowed)


def _loss_in_words(late: int, messages: int, expected: float, allowed: _Allowed) -> str | None:
    # Behind a frame of acknowledgements alone, which is in no log, TCP sends again sooner than a lone frame.
    too_few = _at_most(late, _COUNTED * expected) < _CHANCE
    too_many = allowed.modelled and late > 0 and 1 - _at_most(late - 1, expected) < _CHANCE
    if too_few or too_many:
        return f"{late:,} of {messages:,} messages were sent again, {expected:,.1f} were to be"
    return None


def _at_most(count: int, mean: float) -> float:
    """The probability that a Poisson variable of this mean is at most `count`."""
    if not mean:
        return 1.0
    terms = (math.exp(number * math.log(mean) - mean - math.lgamma(number + 1)) for number in range(count + 1))
    return min(1.0, math.fsum(terms))


def _enough_for_rate(reading: LinkReading) -> bool:
    return reading.queued >= FEWEST_QUEUED


def _rate(reading: LinkReading, _allowed: _Allowed) -> str | None:
    beyond, allowed = reading.queued_stretch - 1, RATE_SHARE + 2 / reading.queued
    if -allowed <= beyond <= allowed + reading.unlogged:
        return None
    return (
        f"{reading.queued:,} messages in a row took {reading.queued_stretch:.2f} times as long as the rate gives them"
    )


def _ms(nanoseconds: float) -> str:
    return f"{nanoseconds / MILLISECOND:.2f} ms"


_ASPECTS = (
    _Aspect("delay", _enough_for_delay, _delay),
    _Aspect("jitter", _enough_for_jitter, _jitter),
    _Aspect("loss", _enough_for_loss, _loss, _loss_together),
    _Aspect("rate", _enough_for_rate, _rate),
)
