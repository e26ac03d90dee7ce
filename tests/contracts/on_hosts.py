"""Broker processes and containers that know the contract routers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from unittest import mock

from emulation.runtimes import container, ladder, process
from tests.contracts import protocols
from tests.emulation.run.broker_image import image_with

IMAGE = "brokerlab-test:contracts"


@contextlib.contextmanager
def brokers_know_the_protocols() -> Iterator[None]:
    """Has every broker run the tests' program in place of the product's."""
    image = image_with(IMAGE, "tests/contracts/protocols.py", "tests/contracts/routers")
    with (
        protocols.registered(),
        mock.patch.object(process, "BROKER_PROGRAM", protocols.__name__),
        mock.patch.object(container, "BROKER_PROGRAM", protocols.__name__),
        mock.patch.object(ladder, "ensure_image", image),
    ):
        yield
