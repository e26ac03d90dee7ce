"""Gryphon keeps its promises through every fault, in runs that the delivery oracle judges.

Broken routers, and the finding of the oracle on each:

| router | finding |
|---|---|
| `TrustsItsRoots` | lost |
| `NotifiesOnArrival` | reordered |
| `AnnouncesNoEnds` | lost |
| `TrimsOnTheFirstAcknowledgement` | lost |
| `TakesTheUnknownForSilent` | lost |
| `NotifiesOfRetransmissionsTwice` | duplicated |
| `TakesSilencesOfALeafForAll` | lost |

What breaks in the propagation of subscriptions is caught in `tests/broker_service/routing/gryphon/test_propagation.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from broker_service.routing.gryphon import GryphonRouter
from tests.properties import gryphon_mutants as mutants
from tests.properties.gryphon_checks import faulty, findings

EVERY = ("kill", "kill edge", "reset", "cut", "disturb")


@pytest.mark.source("a router of another class takes the place of the registered one")
@pytest.mark.parametrize("options", ["", ", paths: message", ", paths: least-loaded", ", filtering: flooding"])
@pytest.mark.parametrize("kinds", [(), EVERY], ids=["calm", "faults"])
def test_every_publication_arrives_once_and_in_order(options: str, kinds: tuple[str, ...], tmp_path: Path) -> None:
    assert findings(faulty(3, kinds, options), tmp_path) == ["correct"]


@pytest.mark.source("broken routers are interpreted subclasses")
@pytest.mark.parametrize(
    ("router", "kinds", "finding"),
    [
        (mutants.TrustsItsRoots, EVERY, "lost"),
        (mutants.NotifiesOnArrival, ("disturb",), "reordered"),
        (mutants.AnnouncesNoEnds, ("kill", "reset"), "lost"),
        (mutants.TrimsOnTheFirstAcknowledgement, EVERY, "lost"),
        (mutants.TakesTheUnknownForSilent, ("disturb",), "lost"),
        (mutants.NotifiesOfRetransmissionsTwice, ("disturb",), "duplicated"),
        (mutants.TakesSilencesOfALeafForAll, EVERY, "lost"),
    ],
)
def test_broken_routers_are_caught(
    router: type[GryphonRouter], kinds: tuple[str, ...], finding: str, tmp_path: Path
) -> None:
    found = []
    for seed in range(6):
        (tmp_path / str(seed)).mkdir()
        found += findings(faulty(seed, kinds, ", paths: message"), tmp_path / str(seed), router)
        if finding in found:
            return
    pytest.fail(f"found only {found}")
