"""Recognition of repeated publications, over crashes, against a list of all publications."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from broker_service.routing.gryphon.streams.recognition import Accepted, Recognition

CLIENTS = st.sampled_from(("P", "Q R", "S"))
STEPS = st.lists(st.one_of(CLIENTS, st.integers(0, 40), st.just("crash")), max_size=120)


@given(st.sampled_from((1, 2, 16, 20, 33)), STEPS)
def test_the_latest_publications_of_each_client_are_recognised_after_any_crash(
    most: int, steps: list[str | int]
) -> None:
    recognition = Recognition(most, 1 << 20)
    stored: dict[str, bytes] = {}
    published: defaultdict[str, list[str]] = defaultdict(list)
    log: dict[int, Accepted] = {}
    position = forgotten = 0
    for step in steps:
        if isinstance(step, int):  # the log forgets so many publications
            forgotten = min(position, forgotten + step)
            stored |= {block.key: block.value for block in recognition.settle(forgotten)}
            log = {place: publication for place, publication in log.items() if place >= forgotten}
        elif step == "crash":
            recognition = Recognition(most, 1 << 20)
            recognition.recover(stored, log.items())
        else:
            id = f"p{position}"
            number, blocks = recognition.accept(step, id, position)
            assert number == len(published[step])
            stored |= {block.key: block.value for block in blocks}
            published[step].append(id)
            log[position] = Accepted(step, number, id)
            position += 1
        assert recognition.bytes == sum(len(key) + len(value) for key, value in stored.items())
        for client, ids in published.items():
            assert [id for id in ids if recognition.is_repeat(client, id)] == ids[-most:]


def test_a_client_that_publishes_much_takes_a_value_for_many_publications() -> None:
    recognition = Recognition(256, 1 << 20)
    blocks = [block for n in range(3200) for block in recognition.accept("P", f"p{n}", n)[1]]
    assert len(blocks) == 3200 / 16
    assert len({block.key for block in blocks}) == 256 / 16 + 1
    assert recognition.settle(3200) == []


def test_clients_make_room_whose_latest_publications_are_oldest_and_not_in_the_log() -> None:
    recognition, stored = Recognition(256, 1_000), dict[str, bytes]()
    for number in range(200):
        recognition.accept(f"C{number}", "p", number)
        kept_from = max(0, number - 9)  # the log has ten publications
        stored |= {block.key: block.value for block in recognition.settle(kept_from)}
        for erased in recognition.make_room(kept_from):
            del stored[erased.key]
        assert recognition.bytes == sum(len(key) + len(value) for key, value in stored.items()) <= 1_000
        assert all(recognition.is_repeat(f"C{recent}", "p") for recent in range(kept_from, number + 1))
    assert not recognition.is_repeat("C0", "p")
    assert recognition.excess == 0
    again = Recognition(256, 500)
    again.recover(stored, ())
    assert again.excess == again.bytes - 500 > 0
    again.make_room(200)
    assert again.excess == 0
