"""Broker processes and containers that know the contract routers, and runs of scenarios on them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from rich.console import Console

from emulation.host import docker_host
from emulation.planning.plan import make_plan
from emulation.run import emulate
from emulation.runtimes import container, ladder, process
from record.callbacks import do_nothing
from scenario.loading import load
from tests.contracts import protocols
from tests.emulation.run.broker_image import image_with

IMAGE = "contracts"


@contextlib.contextmanager
def brokers_know_the_protocols() -> Iterator[None]:
    """Has every broker run the tests' program in place of the product's."""
    image = image_with(IMAGE, "tests/contracts/protocols.py", "tests/contracts/routers")
    with (
        protocols.registered(),
        mock.patch.object(process, "BROKER_PROGRAM", protocols.__name__),
        mock.patch.object(container, "BROKER_PROGRAM", protocols.__name__),
        mock.patch.object(docker_host, "ensure_image", image),
    ):
        yield


def emulated(scenario: Path, runtime: str) -> Path:
    """The directory of a run on processes or in containers, beside the scenario's file."""
    with brokers_know_the_protocols():
        rungs = ladder.choose(runtime, ladder.AUTO, print)
        assert isinstance(rungs, ladder.Rungs)
        plan, console = make_plan(load(scenario)), Console(quiet=True)
        return emulate(plan, rungs, scenario.parent, console, when_over=do_nothing).directory
