"""Numbers of rejected publications: against a plain set, with numbers that jump and return."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from broker_service.core.progress import REPEATABLE, RecentNumbers

STEPS = st.one_of(st.integers(-5, 70), st.integers(-REPEATABLE - 2, 2 * REPEATABLE), st.just(1 << 60))


@given(st.lists(STEPS, max_size=30), st.lists(st.integers(-3, 3), max_size=5))
def test_recent_numbers_are_a_set_of_the_latest(steps: list[int], probes: list[int]) -> None:
    recent, added, greatest = RecentNumbers(), set(), 0
    for step in steps:
        number = max(1, greatest + step)
        recent.add(number)
        greatest = max(greatest, number)
        added.add(number)
        added = {member for member in added if member > greatest - REPEATABLE}
    for number in {member + probe for member in {*added, greatest - REPEATABLE} for probe in (0, *probes)}:
        assert (number in recent) == (number in added)
