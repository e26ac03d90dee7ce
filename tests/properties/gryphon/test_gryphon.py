"""Gryphon keeps its promises through every fault, in runs that the delivery oracle judges.

Broken routers, and what notices each. *Runs* are those here, with the oracle's finding; *streams*, *restarts*,
*starts* and *propagation* are `test_streams`, `test_restarts`, `test_starts` and `test_propagation` in
`tests/broker_service/routing/gryphon`.

| defect | router or part | noticed by |
|---|---|---|
| trusts its roots whatever the vectors | `TrustsItsRoots` | runs (lost), streams |
| a subscription starts at once | `StartsAtOnce` | streams |
| a subscription starts behind its start | `StartsBehindTheStart` | runs (lost), streams |
| a change is applied to any state | `IgnoresTheConstraint` | propagation |
| the constraint is a lower bound, as in the paper | `TakesTheConstraintForALowerBound` | propagation |
| empty changes are not passed on | `PassesOnNoEmptyChanges` | propagation |
| a restarted broker gives publications its own vector | `BeginsWithItsOwnVector` | streams |
| a restarted broker's clock begins anew | `VirtualClock` of incarnation 1 | propagation |
| vectors are taken before roots | `TakesVectorsBeforeRoots` | propagation |
| clients are notified on arrival | `NotifiesOnArrival` | runs (reordered) |
| repeated publications are not recognised | `NotifiesOfRepeatsAgain` | runs (duplicated) |
| retransmissions are not recognised | `NotifiesOfRetransmissionsTwice` | runs (duplicated) |
| requests are answered from the cache only | `AnswersFromItsCacheOnly` | streams |
| ends of streams are not announced | `AnnouncesNoEnds` | runs (lost) |
| one set of roots for all directions | `HasOneRootSetForAllDirections` | propagation |
| a withdrawn root uncovers nothing | `UncoversNothing` | propagation |
| an overflow counts as silence | `TakesOverflowForSilence` | streams |
| digests begin anew | `BeginsDigestsAnew` | streams |
| a comparison of vectors is kept for ever | `KeepsSufficiency` | streams |
| a subscription starts with its first conjunction | `StartsWithTheFirstConjunction` | propagation |
| the log is trimmed on the first acknowledgement | `TrimsOnTheFirstAcknowledgement` | runs (lost) |
| unknown positions count as silent | `TakesTheUnknownForSilent` | runs (lost) |
| a retransmission has the latest vector | `RetransmitsWithTheLatestVector` | streams |
| silences of one leaf count for all | `TakesSilencesOfALeafForAll` | runs (lost) |
| starts are announced before others know of them | `AnnouncesStartsAtOnce` | runs (lost, detection lost), streams |
| a start time that settled once is announced at once | `AnnouncesOldStartsAtOnce` | starts |
| a start is announced before a neighbour that has come up knows of it | `ForgetsThoseThatComeUp` | starts |
| starts are not announced | `AnnouncesNoStarts` | runs (start not announced), streams |
| news are acknowledged before those behind have them | `AcknowledgesNewsAtOnce` | streams |
| a restarted broker forgets what it has acknowledged | `ForgetsWhatItAcknowledged` | streams |
| ends are announced behind publications whose vectors were lost | `AnnouncesEndsBehindLostVectors` | streams |
| a leaf follows a stream from what arrives first | `FollowsFromWhatArrives` | streams |
| silence is answered no further than asked for | `AnswersNoMoreThanWasAsked` | restarts |
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from broker_service.routing.gryphon import GryphonRouter
from tests.proof import drawn
from tests.properties.gryphon import gryphon_mutants as mutants
from tests.properties.gryphon.gryphon_checks import (
    faulty,
    findings,
    on_long_links,
    restarted,
    with_composites,
)

EVERY = ("kill", "kill edge", "reset", "cut", "disturb")
LINKS = ("reset", "cut", "flap", "partition", "one way", "disturb")


@pytest.mark.parametrize("options", ["", ", paths: message", ", paths: least-loaded", ", filtering: flooding"])
@pytest.mark.parametrize("kinds", [(), EVERY, LINKS], ids=["calm", "faults", "links"])
def test_every_publication_arrives_once_and_in_order(options: str, kinds: tuple[str, ...], tmp_path: Path) -> None:
    assert findings(faulty(3, kinds, options), tmp_path) == ["correct"]


@pytest.mark.parametrize("resume", ["true", "false"])
def test_what_does_not_fit_in_queues_and_buffers_comes_later(resume: str, tmp_path: Path) -> None:
    options = ", paths: message, reorder_bytes: 300, cache_bytes: 400"
    text = faulty(4, LINKS, options, limits=f"resume: {resume}, link_queue: 1")
    text = text.replace("delay: 8ms", "delay: 8ms, send_time: 10ms")
    assert findings(text, tmp_path) == ["correct"]


@pytest.mark.parametrize("kinds", [(), EVERY, LINKS], ids=["calm", "faults", "links"])
def test_every_set_is_detected_from_the_announced_start_of_a_composite_subscription_on(
    kinds: tuple[str, ...], tmp_path: Path
) -> None:
    assert findings(with_composites(faulty(5, kinds, ", paths: message"), 5), tmp_path) == ["correct"]


def test_publications_of_restarted_brokers_arrive_for_seconds_afterwards(tmp_path: Path) -> None:
    assert findings(restarted(1, ", order: none"), tmp_path) == ["correct"]


@pytest.mark.parametrize("options", ["", ", paths: message"])
def test_no_delay_of_links_is_assumed(options: str, tmp_path: Path) -> None:
    assert findings(on_long_links(restarted(1, options)), tmp_path) == ["correct"]


def test_composite_subscriptions_that_are_announced_at_once_lose_sets(tmp_path: Path) -> None:
    text = with_composites(faulty(5, (), ", paths: message"), 5)
    assert "detection lost" in findings(text, tmp_path, mutants.AnnouncesStartsAtOnce)


@pytest.mark.parametrize(
    ("router", "kinds", "finding"),
    drawn(
        [
            (mutants.TrustsItsRoots, EVERY, "lost"),
            (mutants.NotifiesOnArrival, ("disturb",), "reordered"),
            (mutants.AnnouncesNoEnds, ("kill", "reset"), "lost"),
            (mutants.TrimsOnTheFirstAcknowledgement, EVERY, "lost"),
            (mutants.TakesTheUnknownForSilent, ("disturb",), "lost"),
            (mutants.NotifiesOfRetransmissionsTwice, ("disturb",), "duplicated"),
            (mutants.NotifiesOfRepeatsAgain, ("disturb",), "duplicated"),
            (mutants.StartsBehindTheStart, (), "lost"),
            (mutants.TakesSilencesOfALeafForAll, EVERY, "lost"),
            (mutants.AnnouncesStartsAtOnce, (), "lost"),
            (mutants.AnnouncesNoStarts, ("kill",), "start not announced"),
        ]
    ),
)
def test_broken_routers_are_caught(
    router: type[GryphonRouter], kinds: tuple[str, ...], finding: str, tmp_path: Path
) -> None:
    _require_caught(partial(faulty, kinds=kinds), router, finding, tmp_path)


def _require_caught(history: Callable[..., str], router: type[GryphonRouter], finding: str, directory: Path) -> None:
    """Fails unless the oracle has a finding on a broken router in one of six histories."""
    found = []
    for seed in range(6):
        (directory / str(seed)).mkdir()
        found += findings(history(seed, options=", paths: message"), directory / str(seed), router)
        if finding in found:
            return
    pytest.fail(f"found only {found}")
