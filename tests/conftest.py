"""Set-up for all tests: skips what the host cannot run, places tests on workers, cleans up after an interruption.

A test whose marker needs something that the host lacks is skipped; in CI it fails instead. `tests/placement.py`
explains the placement on workers. When tests are interrupted, the product's own clean-up removes the leftovers of their
killed runs; it touches dead runs only.
"""

from __future__ import annotations

import functools
import gc
import os
import shutil
import signal
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import hypothesis
import pluggy
import pytest
import pytest_asyncio

from emulation.fidelity import host
from emulation.host.docker_host import docker_client
from emulation.upkeep.clean import clean
from record.errors import HostError
from tests import placement
from tests.emulation.multi_host.laboratory import CLOCKS, Laboratory
from tests.emulation.multi_host.laboratory import obstacle as laboratory_obstacle
from tests.hanging import HangingTests
from tests.proof import EXAMPLES, PARTS, left_out_of, part, takes_a_part, tried

if TYPE_CHECKING:
    from playwright.async_api import Browser

# Examples have no deadline, because their duration depends on the machine more than on the code. CI repeats the same
# examples, so that a failure is caused by the change; elsewhere every run has new ones.
hypothesis.settings.register_profile(
    "brokerlab", deadline=None, derandomize=bool(os.environ.get("CI")), max_examples=tried(EXAMPLES)
)
hypothesis.settings.load_profile("brokerlab")


_ALLOCATIONS = 50_000
"""Objects that Python allocates between two searches for garbage, 70 times as many as by default. Thousands of
collected tests are objects that stay, so that searches take a sixth of the time of collection and of properties."""


_SPOILS = 0.01
"""Share of the processors' time, stolen, from which on a measurement of milliseconds is one of the neighbours."""


def pytest_configure(config: pytest.Config) -> None:
    gc.set_threshold(_ALLOCATIONS)
    placement.install(config)
    config.pluginmanager.register(HangingTests())


def pytest_report_header(config: pytest.Config) -> str | None:
    if not takes_a_part(config):
        return None
    chosen = f"part {part()} of 0 to {PARTS - 1}, by the revision"
    return f"proofs: {chosen}; BROKERLAB_PART chooses another, make proof runs all"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out all proofs but one part, the same in every worker, before tests are placed in another order."""
    if takes_a_part(config):
        left_out = left_out_of(items, part())
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)


def pytest_collection_finish() -> None:
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    return placement.workers()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, pluggy.Result[None], None]:
    """Skips a measurement (`alone`) that fails while the hypervisor takes the processors away, because it tells nothing
    of the product. It fails wherever no time is stolen."""
    before = host.sample() if item.get_closest_marker("alone") else None
    outcome = yield
    if before is None or outcome.excinfo is None or not issubclass(outcome.excinfo[0], AssertionError):
        return
    used = host.use([before, host.sample()])
    if used is not None and used.steal > _SPOILS:
        said = str(outcome.excinfo[1])[:200]
        reason = f"the hypervisor took {used.steal:.0%} of the processors away meanwhile: {said}"
        outcome.force_exception(pytest.skip.Exception(reason))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    interrupted = exitstatus == pytest.ExitCode.INTERRUPTED
    if interrupted and not placement.in_worker(session.config) and _container_obstacle() is None:
        with closing(docker_client()) as client:
            clean(client)


@pytest.fixture(autouse=True, scope="session")
def _place_of_temporary_files(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Chooses the directory of `tmp_path` before any test runs, because programs under test choose `TMPDIR` anew."""
    tmp_path_factory.getbasetemp()


@pytest.fixture(autouse=True)
def _handlers_of_signals() -> Iterator[None]:
    """Gives back the handlers of signals that a test took: a program's `main` in this process does not, because its
    process would end."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    """Three hosts, whose clocks are not the same, for all tests over several hosts: setting them up takes seconds."""
    if (reason := laboratory_obstacle()) is not None:
        if os.environ.get("CI"):
            pytest.fail(f"cannot be skipped in CI: {reason}", pytrace=False)
        pytest.skip(reason)
    with Laboratory(tmp_path_factory.mktemp("laboratory"), CLOCKS) as made:
        yield made


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """One browser for all tests of pages, which run on the session's event loop as it does."""
    from tests.browser import CHROMIUM, chromium  # Playwright takes half a second to load

    if CHROMIUM is None:
        reason = "needs Chromium (Debian's package chromium)"
        if os.environ.get("CI"):
            pytest.fail(f"cannot be skipped in CI: {reason}", pytrace=False)
        pytest.skip(reason)
    async with chromium() as started:
        yield started


@functools.cache
def _container_obstacle() -> str | None:
    if os.geteuid() != 0:
        return "needs root"
    if shutil.which("mnexec") is None:
        return "needs mnexec, of the package mininet"
    try:
        docker_client().close()
    except HostError as error:
        return str(error)
    return None


@functools.cache
def _guest_obstacle() -> str | None:
    if os.geteuid() != 0:
        return "needs root"
    return None if shutil.which("linux.uml") else "needs the package user-mode-linux"


_OBSTACLES = {"container": _container_obstacle, "guest": _guest_obstacle}


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker, obstacle in _OBSTACLES.items():
        if item.get_closest_marker(marker) is not None and (reason := obstacle()) is not None:
            if os.environ.get("CI"):
                pytest.fail(f"cannot be skipped in CI: {reason}", pytrace=False)
            pytest.skip(reason)
