"""States of other servers, under announcements that come in any order, twice, or not at all."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from broker_service.language.content import encode_predicates
from broker_service.language.notation import parse_subscription
from broker_service.routing.medym import MedymOptions
from broker_service.routing.medym.announcements.relay import Applied, ServerStates
from broker_service.routing.medym.locations.round_trips import RoundTripLocations
from broker_service.routing.medym.mesh import Mesh
from broker_service.routing.medym.messages import Announcement, Change, State, Version
from broker_service.routing.medym.multicast.decisions import Decisions
from broker_service.routing.medym.sums import KnownSums
from tests.broker_service.routing.medym.subscriptions.test_interests import matcher

SERVERS = ("A", "B", "C")
OWN, OTHER = 0, 2
UNKNOWN = Version(0, 0)
SUBSCRIPTIONS = [encode_predicates(parse_subscription(f"[value,=,{value}]").predicates) for value in range(3)]


class History(NamedTuple):
    """The announcements of a server, and its sum in each version."""

    announcements: list[Announcement]
    sums: dict[Version, frozenset[bytes]]


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Changes and restarts of a server. Its state in each version may be announced, too."""
    version, held = Version(1, 0), frozenset[bytes]()
    announcements: list[Announcement] = []
    sums = {UNKNOWN: held}
    for restarts in draw(st.lists(st.booleans(), min_size=1, max_size=6)):
        if restarts:
            version, held = Version(version.incarnation + 1, 0), frozenset()
        else:
            added = draw(st.sets(st.sampled_from(SUBSCRIPTIONS))) - held
            withdrawn = draw(st.sets(st.sampled_from(sorted(held)))) if held else set()
            version, held = Version(version.incarnation, version.number + 1), (held | added) - withdrawn
            announcements.append(Change(OTHER, version, tuple(sorted(added)), tuple(sorted(withdrawn))))
        sums[version] = held
        announcements.append(State(OTHER, version, tuple(sorted(held))))
    return History(announcements, sums)


def sums_are_those_of_their_versions(kind: type[ServerStates], drawn: settings) -> None:
    """A server knows the sum of the latest version that it can know."""

    @drawn
    @given(histories(), st.data())
    def check(history: History, data: st.DataObject) -> None:
        mesh = Mesh(SERVERS, {name: number for number, name in enumerate(SERVERS)}, None)
        known, locations = KnownSums(matcher(), len(SERVERS), OWN), RoundTripLocations(mesh, OWN)
        states = kind(OWN, len(SERVERS), known, locations, Decisions(MedymOptions(), mesh, OWN, locations))
        latest = history.announcements[-1]
        for announcement in [*data.draw(st.lists(st.sampled_from(history.announcements), max_size=12)), latest]:
            before = states.versions.get(OTHER, UNKNOWN)
            applied = states.apply(announcement)
            version = states.versions.get(OTHER, UNKNOWN)
            assert (applied is Applied.NEW) == (version > before)
            if data.draw(st.booleans()):
                states.settle()
                assert set(known.held_by(OTHER)) == history.sums.get(version)
        states.settle()
        assert set(known.held_by(OTHER)) == history.sums.get(latest.version)
        assert states.versions.get(OTHER) == latest.version

    check()


def test_sums_are_those_of_their_versions() -> None:
    sums_are_those_of_their_versions(ServerStates, settings(max_examples=60))
