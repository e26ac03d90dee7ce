"""The bound of the log of refused streams."""

from __future__ import annotations

import pytest

from broker_service.grpc_shell.refusals import INTERVAL, MOST_LINES, RefusalLog


def test_a_storm_of_refusals_is_counted_and_not_logged_line_by_line(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    refusals = RefusalLog(lambda: now)
    for number in range(MOST_LINES + 1000):
        refusals.add(f"session {number}", "too many")
    assert len(caplog.messages) == MOST_LINES
    assert caplog.messages[0] == "session 0 refused: too many"
    now = INTERVAL
    refusals.add("link", "unknown broker")
    assert caplog.messages[MOST_LINES:] == ["1000 further refusals were not logged", "link refused: unknown broker"]
    now = 2 * INTERVAL
    refusals.add("link", "again")
    assert caplog.messages[-1] == "link refused: again"
    assert len(caplog.messages) == MOST_LINES + 3
