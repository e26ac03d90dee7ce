from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.links.flow import Flow, LinkFlow

EVENTS = st.lists(st.tuples(st.integers(0, 500), st.sampled_from(["enter", "leave", "read"])), max_size=60)


@given(interval=st.integers(1, 100), begin=st.integers(0, 50), events=EVENTS)
def test_a_row_tells_of_the_last_complete_interval(interval: int, begin: int, events: list[tuple[int, str]]) -> None:
    """Against counting over again whatever happened in that interval."""
    flow = LinkFlow(interval, begin)
    entered: list[int] = []
    left: list[int] = []
    for after, what in sorted(events, key=lambda event: event[0]):
        now = begin + after
        if what == "enter":
            flow.enter(now)
            entered.append(now)
        elif what == "leave":
            flow.leave(now, 2)
            left += [now, now]
        end = begin + (now - begin) // interval * interval
        expected = Flow(*(sum(end - interval <= time < end for time in times) for times in (entered, left)))
        assert flow.last(now) == expected


def test_an_interval_takes_time() -> None:
    with pytest.raises(ValueError, match="interval"):
        LinkFlow(0, 0)
