"""Tests that hang where their time-out does not reach them end with their process.

pytest-timeout raises its error from a signal's handler, in Python. A test that waits in a library's own loop (uvloop's,
gRPC's) or for a thread does not come to that. Some time later a thread that needs no interpreter writes where
everything stands and ends the process: the other workers go on, and the report names the test in which one crashed.
"""

from __future__ import annotations

import faulthandler
from collections.abc import Generator

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key

GRACE = 60.0
"""Seconds that a test has to put things away after its time-out."""


class HangingTests:
    """Plugin of a process that runs tests."""

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None]:
        yield from _watched(item)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None]:
        yield from _watched(item)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None]:
        yield from _watched(item)


def _watched(item: pytest.Item) -> Generator[None]:
    """Ends the process when a part of a test does not end; pytest stops watching where one has failed."""
    marker = item.get_closest_marker("timeout")
    limit = float(marker.args[0] if marker else item.config.getvalue("timeout") or item.config.getini("timeout") or 0)
    if limit:
        written_to = item.config.stash[fault_handler_stderr_fd_key]
        faulthandler.dump_traceback_later(limit + GRACE, exit=True, file=written_to)
    yield
    faulthandler.cancel_dump_traceback_later()
