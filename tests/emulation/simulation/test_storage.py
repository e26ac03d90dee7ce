"""Stable storage in virtual time: what a router stored is there for the next incarnation of its broker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from broker_service.config import Limits
from record.errors import BrokerDefectError
from tests.broker_service.scripted import registered
from tests.emulation.simulation.scripted import Scripted


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    with registered():
        yield


def stored(trial: Scripted, broker: str = "B1") -> object:
    return trial.overlay.brokers.tables()[broker]["stored"]


def test_a_restarted_broker_has_what_its_former_incarnations_stored() -> None:
    trial = Scripted()
    trial.do("store:a:1 store:b:2 store:a:3 erase:c")
    trial.do("store:c:4 erase:b")
    for _ in range(2):
        trial.overlay.brokers.kill("B1")
        trial.overlay.brokers.restart("B1")
        trial.overlay.settle()
        assert stored(trial) == {"a": "3", "c": "4"}
    assert stored(trial, "B2") == {}
    assert stored(Scripted()) == {}


def test_a_router_that_stores_too_much_has_a_defect() -> None:
    trial = Scripted(limits=Limits(stored_bytes=10))
    trial.do("store:a:123456789")
    with pytest.raises(BrokerDefectError, match=r"StorageFullError: storing 'b' takes 12 bytes .* which holds 10"):
        trial.do("store:b:2")
