"""The reasons why sets of publications that a client was notified of are no detections.

The first reason that applies counts. Of several lifetimes of a composite subscription, that counts for which the set
comes nearest to being a detection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from analysis.judging.detections.combinations import Combinations
from analysis.judging.detections.events import NOT_PUBLISHED, PlacedDetection
from analysis.judging.detections.oracle import ComposedLifetime
from analysis.judging.language import without_variables
from analysis.judging.rights.composite_rights import PartMatch
from analysis.tables.deliveries import Cause, Right

_NEARNESS = (
    Cause.NO_PART,
    Cause.NOT_YET_SUBSCRIBED,
    Cause.WITHDRAWN,
    Cause.UNADVERTISED,
    Cause.REFUSED,
    Cause.OUTSIDE_WINDOW,
    Cause.NO_COMBINATION,
    Cause.VARIABLES_DIFFER,
)

PublicationMatches = Mapping[str, Mapping[int, PartMatch]]
"""Matches by publication and lifetime."""


def matches_of(strays: Iterable[PlacedDetection], matches: Iterable[PartMatch]) -> PublicationMatches:
    """The matches of the publications that these notifications list."""
    found: dict[str, dict[int, PartMatch]] = {
        publication: {} for stray in strays for publication in stray.detection.publications
    }
    for match in matches:
        if match.publication in found:
            found[match.publication][match.lifetime] = match
    return found


def cause_of(stray: PlacedDetection, matches: PublicationMatches, lifetimes: Mapping[int, ComposedLifetime]) -> Cause:
    """The reason why this notification is spurious, given the matches of its publications."""
    if stray.stamp == NOT_PUBLISHED:
        return Cause.UNKNOWN_PUBLICATION
    if not lifetimes:
        return Cause.NO_MATCH
    members = [matches[publication] for publication in stray.detection.publications]
    causes = [_cause(members, number, lifetime) for number, lifetime in lifetimes.items()]
    return max(causes, key=_NEARNESS.index)


def _cause(members: Sequence[Mapping[int, PartMatch]], number: int, lifetime: ComposedLifetime) -> Cause:
    matches = [found for member in members if (found := member.get(number)) is not None]
    if len(matches) < len(members):
        return Cause.NO_PART
    for match in matches:
        if match.right is Right.NONE:
            return match.cause or Cause.UNADVERTISED
    stamps = [match.stamp for match in matches]
    if max(stamps) - min(stamps) > lifetime.within + lifetime.error:
        return Cause.OUTSIDE_WINDOW
    return Cause.VARIABLES_DIFFER if _fulfils_but_for_variables(matches, lifetime) else Cause.NO_COMBINATION


def _fulfils_but_for_variables(matches: Sequence[PartMatch], lifetime: ComposedLifetime) -> bool:
    combinations = Combinations(without_variables(lifetime.pattern), lifetime.within + lifetime.error, lifetime.matches)
    in_order = sorted(matches, key=lambda match: (match.stamp, match.publication))
    found = {
        members
        for number, match in enumerate(in_order)
        for members in combinations.add(match.stamp, number, match.leaves, ())
    }
    return tuple(range(len(in_order))) in found
