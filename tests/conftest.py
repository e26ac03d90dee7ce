"""Tests whose marker asks for more than a user has are skipped where the host lacks it. In CI they fail instead.

How tests are spread over workers, and which of them run alone, is said in `tests/placement.py`. What runs leave
that are killed because their tests are interrupted is removed as the product does it: of dead runs, and nobody else's.
"""

from __future__ import annotations

import functools
import os
import shutil
from contextlib import closing

import hypothesis
import pytest

from emulation.host.docker_host import docker_client
from emulation.upkeep.clean import clean
from record.errors import HostError
from tests import placement

# How long an example takes says more of the machine than of the code. In CI the same examples come each time, so that a
# failure is the change's own; elsewhere new ones do.
hypothesis.settings.register_profile("brokerlab", deadline=None, derandomize=bool(os.environ.get("CI")))
hypothesis.settings.load_profile("brokerlab")


def pytest_configure(config: pytest.Config) -> None:
    placement.install(config)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    return placement.workers()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    interrupted = exitstatus == pytest.ExitCode.INTERRUPTED
    if interrupted and not placement.in_worker(session.config) and _container_obstacle() is None:
        with closing(docker_client()) as client:
            clean(client)


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
