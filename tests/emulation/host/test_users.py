"""Users of brokers: one for each, the same one for as long as the run lasts, and none that the host has."""

from __future__ import annotations

import pwd
from pathlib import Path

import pytest

from emulation.host import users
from emulation.host.users import BrokerUsers

MANY, FEW = "0 0 4294967295\n", "0 100000 65536\n"


@pytest.fixture(params=[MANY, FEW])
def mapped(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "uid_map").write_text(request.param)
    monkeypatch.setattr(users, "_MAPPED", tmp_path / "uid_map")
    return str(request.param)


def test_each_broker_of_a_run_has_a_user_of_its_own(mapped: str) -> None:
    run = BrokerUsers("run-1")
    numbers = {broker: run.of(broker) for broker in (f"B{number}" for number in range(2000))}
    assert len(set(numbers.values())) == len(numbers)
    assert numbers == {broker: run.of(broker) for broker in reversed(numbers)}
    most = 65536 if mapped == FEW else 2**32 - 1
    assert all(1000 < number < most for number in numbers.values())


def test_two_runs_have_different_users(mapped: str) -> None:
    first, second = BrokerUsers("run-1"), BrokerUsers("run-2")
    brokers = [f"B{number}" for number in range(100)]
    assert {first.of(broker) for broker in brokers}.isdisjoint({second.of(broker) for broker in brokers})


def test_a_user_of_the_host_is_passed_over(mapped: str, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = BrokerUsers("run-1").of("B1")

    def account(number: int) -> None:
        if number != taken:
            raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", account)
    assert BrokerUsers("run-1").of("B1") == taken + 1
