"""The log of a publishers' broker, over crashes: positions, vectors, and what leaves are owed."""

from __future__ import annotations

from collections.abc import Iterable

from broker_service.messages import Kind, Message
from broker_service.routing.gryphon.streams.publisher_log import PublisherLog
from broker_service.routing.gryphon.streams.vector_digests import VectorDigests
from broker_service.routing.interface import Action, Erase, Store

LEAF, OTHER = 7, 8


class Storage(dict[str, bytes]):
    """Stable storage that performs what a log wants."""

    def perform(self, actions: Iterable[Action]) -> None:
        for action in actions:
            match action:
                case Store(key, value):
                    self[key] = value
                case Erase(key):
                    del self[key]


def log(incarnation: int, stored: Storage, recognised: int = 2) -> PublisherLog:
    return PublisherLog(incarnation, stored, VectorDigests(), recognised, 60.0, most_bytes=1 << 20)


def publish(found: PublisherLog, stored: Storage, number: int, vector: dict[int, int]) -> int:
    position = found.publications.next
    stored.perform(found.append("P", Message(Kind.PUBLISH, f"p{number}", b"body", published=number), vector))
    return position


def test_a_publication_stays_until_every_leaf_of_its_vector_has_it() -> None:
    stored = Storage()
    found = log(1, stored)
    first = publish(found, stored, 1, {LEAF: 1})
    second = publish(found, stored, 2, {LEAF: 1, OTHER: 1})
    found.acknowledge(LEAF, second + 1, 0.0)
    stored.perform(found.trim(0.0))
    assert [place for place, _ in found.publications.within(0, 99, 9)] == [second]
    assert found.bytes == sum(
        len(key) + len(value) for key, value in stored.items() if key.startswith(("publication", "vector"))
    )
    assert found.lacking() == [OTHER]
    found.acknowledge(OTHER, second + 1, 0.0)
    stored.perform(found.trim(0.0))
    assert found.publications.within(first, 99, 9) == []
    assert found.bytes == sum(len(key) + len(value) for key, value in stored.items() if key.startswith("vector"))
    assert not [key for key in stored if key.startswith("publication")]


def test_a_new_incarnation_keeps_what_is_owed_with_its_vectors() -> None:
    stored = Storage()
    former = log(1, stored)
    positions = [publish(former, stored, number, {LEAF: number}) for number in (1, 2, 3)]
    former.acknowledge(LEAF, positions[1], 0.0)
    stored.perform(former.trim(0.0))
    vectors = VectorDigests()
    found = PublisherLog(2, stored, vectors, 2, 60.0, most_bytes=1 << 20)
    assert found.bytes == sum(
        len(key) + len(value) for key, value in stored.items() if key.startswith(("publication", "vector"))
    )
    assert [place for place, _ in found.publications.within(0, found.publications.next, 1)] == [positions[1]]
    kept = found.publications.within(0, found.publications.next, 9)
    assert [(place, entry.id, entry.published) for place, entry in kept] == [
        (positions[1], "p2", 2),
        (positions[2], "p3", 3),
    ]
    assert [vectors.get(entry.digest) for _, entry in kept] == [{LEAF: 2}, {LEAF: 3}]
    assert found.publications.next > positions[2] + 1
    assert found.lacking() == [LEAF]
    assert found.publications.first == positions[1]
    assert found.publications.skipped == [(positions[2] + 1, found.publications.next)]


def test_the_highest_vector_outlives_what_was_published_with_it() -> None:
    stored = Storage()
    former = log(1, stored)
    publish(former, stored, 1, {LEAF: 5})
    former.acknowledge(LEAF, former.publications.next, 0.0)
    stored.perform(former.trim(0.0))
    vectors = VectorDigests()
    PublisherLog(2, stored, vectors, 2, 60.0, most_bytes=1 << 20)
    latest = vectors.latest()
    assert latest is not None
    assert latest[1] == {LEAF: 5}


def test_the_latest_publications_of_a_client_are_recognised_after_a_crash() -> None:
    stored = Storage()
    former = log(1, stored)
    for number in (1, 2, 3):
        publish(former, stored, number, {})
    found = log(2, stored)
    assert [found.is_repeat("P", f"p{number}") for number in (1, 2, 3, 4)] == [False, True, True, False]
    stored.perform(found.trim(0.0))
    assert not [key for key in stored if key.startswith("publication")]
    found = log(3, stored)
    assert [found.is_repeat("P", f"p{number}") for number in (1, 2, 3, 4)] == [False, True, True, False]
    publish(found, stored, 4, {})
    again = log(4, stored)
    assert [again.is_repeat("P", f"p{number}") for number in (2, 3, 4)] == [False, True, True]


def test_a_leaf_out_of_reach_is_waited_for_until_it_is_forgotten() -> None:
    stored = Storage()
    found = log(1, stored)
    publish(found, stored, 1, {LEAF: 1})
    found.acknowledge(LEAF, 0, 10.0)
    assert not found.debts.is_reachable(LEAF)
    stored.perform(found.trim(69.0))
    assert len(found.publications.within(0, 99, 9)) == 1
    stored.perform(found.trim(70.0))
    assert found.publications.within(0, 99, 9) == []


def test_a_leaf_that_can_be_reached_again_is_owed_everything_since() -> None:
    stored = Storage()
    found = log(1, stored)
    position = publish(found, stored, 1, {LEAF: 1})
    found.acknowledge(LEAF, 0, 10.0)
    found.acknowledge(LEAF, position, 20.0)
    assert found.debts.is_reachable(LEAF)
    stored.perform(found.trim(100.0))
    assert len(found.publications.within(0, 99, 9)) == 1


def test_what_a_leaf_out_of_reach_is_owed_beyond_its_share_is_given_up_and_remembered() -> None:
    stored = Storage()
    found = PublisherLog(1, stored, VectorDigests(), 2, 60.0, most_bytes=2_000)
    vector = {LEAF: 1, OTHER: 1}
    publish(found, stored, 1, vector)
    found.acknowledge(LEAF, 1, 0.0)
    found.acknowledge(LEAF, 0, 1.0)
    for number in range(2, 40):
        found.acknowledge(OTHER, publish(found, stored, number, vector) + 1, 1.0)
        stored.perform(found.trim(1.0))
        assert found.bytes <= 1_000
    assert found.lost == {LEAF: 1}
    again = PublisherLog(2, stored, VectorDigests(), 2, 60.0, most_bytes=2_000)
    assert (again.lost, again.publications.first) == ({LEAF: 1}, found.publications.first)
    again.acknowledge(LEAF, again.publications.next, 2.0)
    again.acknowledge(OTHER, again.publications.next, 2.0)
    stored.perform(again.trim(2.0))
    assert again.lost == {}
    assert not [key for key in stored if key.startswith("lost")]


def test_a_leaf_in_reach_is_owed_all_however_long_the_log_is() -> None:
    stored = Storage()
    found = PublisherLog(1, stored, VectorDigests(), 2, 60.0, most_bytes=500)
    first = publish(found, stored, 1, {LEAF: 1})
    for number in range(2, 20):
        publish(found, stored, number, {LEAF: 1})
        stored.perform(found.trim(1.0))
    assert found.publications.first == first
    assert found.lost == {}


def test_a_leaf_without_subscriptions_is_owed_nothing_until_it_has_made_some() -> None:
    stored = Storage()
    found = log(1, stored)
    publish(found, stored, 1, {LEAF: 3})
    found.dismiss(LEAF, 2)
    assert found.lacking() == [LEAF], "it has made a subscription since"
    found.dismiss(LEAF, 3)
    assert found.lacking() == []
    stored.perform(found.trim(0.0))
    publish(found, stored, 2, {LEAF: 3})
    assert found.lacking() == []
    position = publish(found, stored, 3, {LEAF: 4})
    assert found.lacking() == [LEAF]
    stored.perform(found.trim(0.0))
    assert found.publications.first == position
