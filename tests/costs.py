"""Processor time of tests: by folder, and that of the most expensive ones.

    make test ARGS="-p tests.costs"
    .venv/bin/python -m pytest -p tests.costs tests/studies

Set-up and tear-down count, and so do processes that a test starts and waits for. Containers do not, because Docker
starts them; their tests mostly wait, which `--durations=20` shows.
"""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import Generator
from itertools import chain

import pytest
from _pytest.terminal import TerminalReporter

_COST = "processor seconds"
_SHOWN = 30

_begun = 0.0


def _used() -> float:
    """Processor seconds of this process and of its children that have ended."""
    both = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(used.ru_utime + used.ru_stime for used in both)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logstart() -> None:
    global _begun  # noqa: PLW0603 - pytest calls functions of a module
    _begun = _used()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Notes in the report of each phase of a test what was used since the phase before; workers send reports."""
    global _begun  # noqa: PLW0603
    report = yield
    now = _used()
    report.user_properties.append((_COST, now - _begun))
    _begun = now
    return report


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    by_test: Counter[str] = Counter()
    for report in chain.from_iterable(terminalreporter.stats.values()):
        if isinstance(report, pytest.TestReport):
            by_test[report.nodeid] += dict(report.user_properties).get(_COST, 0.0)
    by_folder: Counter[str] = Counter()
    for test, seconds in by_test.items():
        by_folder["/".join(test.split("::")[0].split("/")[:2])] += seconds
    terminalreporter.section(f"processor seconds: {by_test.total():.0f}")
    for costs in (by_folder, by_test):
        for name, seconds in costs.most_common(_SHOWN):
            terminalreporter.write_line(f"{seconds:8.2f}  {name}")
        terminalreporter.write_line("")
