"""Recognition of copies: nothing twice, whatever is forgotten; nothing dropped that cannot be a copy."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from broker_service.routing.common.recognition import BYTES_EACH, FORGOTTEN, FORMER, RecognisedPublications

ROOM = 3
ARRIVALS = st.lists(st.integers(1, 9), max_size=30)
"""Times of publishing, which name the publications here, in the order in which copies arrive."""


def made(incarnation: int = 1, started_at: int = 0) -> RecognisedPublications[int, bool]:
    return RecognisedPublications(ROOM * BYTES_EACH, incarnation, started_at)


@given(ARRIVALS)
def test_no_publication_passes_twice_and_the_latest_are_remembered(arrivals: list[int]) -> None:
    seen, passed = made(), list[int]()
    for published in arrivals:
        if seen.note(published) or seen.reason_to_drop(published):
            assert published in passed or any(other >= published for other in passed[:-ROOM])
            continue
        assert published not in passed
        seen.add(published, published, True)
        passed.append(published)
        assert all(seen.note(recent) for recent in passed[-ROOM:])
        assert len(seen) == min(len(passed), ROOM)


def test_a_restarted_broker_drops_what_its_former_incarnation_may_have_had() -> None:
    seen = made(2, started_at=5)
    assert [seen.reason_to_drop(published) for published in (5, 6)] == [FORMER, None]
    assert made(1, started_at=5).reason_to_drop(5) is None


def test_what_was_forgotten_is_told_from_what_is_new() -> None:
    seen = made()
    for published in (10, 20, 30, 40):
        seen.add(published, published, True)
    assert [seen.reason_to_drop(published) for published in (9, 10, 11)] == [FORGOTTEN, FORGOTTEN, None]


def test_a_note_can_change() -> None:
    seen = made()
    seen.add(1, 1, False)
    seen.add(1, 1, True)
    assert (seen.note(1), len(seen)) == (True, 1)
