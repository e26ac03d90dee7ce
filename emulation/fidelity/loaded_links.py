"""The checks on links under load: one direction that is wrong shows, however many there are.

Probes of a direction in independent rounds miss for two reasons: the host was late, which hits directions at random, or
the direction is not what was asked, which hits it again and again. A direction is *wrong* when so many of its rounds
missed that lateness explains it in fewer than `ALARM` of all honest runs: the binomial tail of its misses, at the share
of misses that the other directions had in the same rounds (`LEAST_NOISE` at least), is below `ALARM` divided by the
number of directions (Bonferroni). With four directions three misses in a row are enough, with 3,080 four are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from emulation.network.probing.tolerance import binomial_tail
from record.fidelity import LinkCheck

ALARM = 0.001
"""Share of honest runs in which some direction is called wrong, at most."""
LEAST_NOISE = 0.02
"""Chance that a probe of a direction as asked misses on a quiet host, rounded up: of n = 7 delays, the median is beyond
three standard errors, or the spread beyond its band."""
_MOSTLY = 0.75
"""Directions with a larger share of misses in two rounds or more say nothing about the host's lateness."""

Ends = tuple[str, str]


def wrong_directions(probes: Sequence[LinkCheck]) -> dict[Ends, LinkCheck]:
    """The directions that are wrong, each with the latest probe that missed."""
    rounds: dict[Ends, list[LinkCheck]] = defaultdict(list)
    for probe in probes:
        rounds[probe.a, probe.b].append(probe)
    suspects = {ends for ends, found in rounds.items() if len(found) > 1 and _missed(found) >= _MOSTLY * len(found)}
    noise = _noise(probes, suspects)
    wrong = {}
    for ends, found in rounds.items():
        chance = sum(max(LEAST_NOISE, noise.get(probe.second, 0.0)) for probe in found) / len(found)
        if binomial_tail(len(found), _missed(found), chance) < ALARM / len(rounds):
            wrong[ends] = next(probe for probe in reversed(found) if not probe.ok)
    return wrong


def _noise(probes: Sequence[LinkCheck], suspects: set[Ends]) -> Mapping[float | None, float]:
    """The share of misses in each round, over directions that are not suspected."""
    others: dict[float | None, list[bool]] = defaultdict(list)
    for probe in probes:
        if (probe.a, probe.b) not in suspects:
            others[probe.second].append(not probe.ok)
    return {second: sum(missed) / len(missed) for second, missed in others.items()}


def _missed(found: Sequence[LinkCheck]) -> int:
    return sum(not probe.ok for probe in found)
