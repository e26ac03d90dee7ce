from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from broker_service.links.flow import STEPS, SentWindow
from record.time_units import SECOND

STEP = SECOND // STEPS


@example(steps=[(STEP, 1)] * 20, since=0)
@given(
    steps=st.lists(st.tuples(st.sampled_from([STEP, STEP, STEP + 1]), st.integers(1, 9)), min_size=1, max_size=40),
    since=st.integers(0, 3) | st.integers(0, 20 * STEP),
)
def test_the_window_counts_what_was_sent_since_its_start(steps: list[tuple[int, int]], since: int) -> None:
    """Whatever was noted before: of many samples, only those that span the window are kept."""
    window, time, sent = SentWindow(1.0), 0, 0
    noted: list[tuple[int, int]] = []
    for passed, more in steps:
        time, sent = time + passed, sent + more
        window.note(time, sent)
        noted.append((time, sent))
    start = time + since - SECOND
    before = [count for noted_at, count in noted if noted_at <= start] or [noted[0][1]]
    assert window.count(time + since, sent) == sent - before[-1]
    assert len(window._samples) <= STEPS + 1
