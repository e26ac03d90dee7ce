"""What runs on a host: one cell at a time, and none whose campaign is gone."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from emulation.campaign import cells, load_campaign
from emulation.campaign.attempt import Attempt, Keep, Order
from emulation.campaign.on_host import STOP, host_to_itself
from emulation.errors import HostError
from emulation.processes import identify
from tests.emulation.campaign.made_up import cell, write_campaign

ROOT = Path(__file__).resolve().parents[3]
_WITHIN = 60

HOLD = """
import signal, sys
from pathlib import Path
from emulation.campaign.attempt import Order
from emulation.campaign.on_host import host_to_itself
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
order = Order.decode(sys.stdin.buffer.read())
with host_to_itself(order, Path(sys.argv[1])):
    print("mine", flush=True)
    signal.sigwait({signal.SIGTERM})
"""


def order(campaign: str = "c", command: str = "1") -> Order:
    return Order(campaign=campaign, command=command, cell=cell(), runtime="process", keep=Keep.NONE)


@contextmanager
def held(root: Path, by: Order) -> Iterator[subprocess.Popen[bytes]]:
    """Another process has the host until it gets SIGTERM."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(by.encode())
        process.stdin.close()
        assert process.stdout.readline() == b"mine\n"
        yield process
    finally:
        process.kill()
        process.wait()


def test_another_campaigns_cell_is_left_alone(tmp_path: Path) -> None:
    refused = pytest.raises(HostError, match=r"this host runs the cell kill-1 of the campaign other \(process \d+\)")
    with held(tmp_path, order("other")) as process:
        with refused, host_to_itself(order("mine"), tmp_path):
            pytest.fail("two at once")
        assert process.poll() is None


def test_a_cell_that_was_left_behind_is_ended(tmp_path: Path) -> None:
    """Of the same campaign, whose command was killed: the one that goes on with it does not wait for the orphan."""
    with held(tmp_path, order(command="1")) as process:
        with host_to_itself(order(command="2"), tmp_path):
            assert process.wait(_WITHIN) == 0
        assert not list(tmp_path.iterdir())


def test_a_host_that_an_inventory_has_twice_runs_one_cell_after_another(tmp_path: Path) -> None:
    mine = threading.Event()

    def take() -> None:
        with host_to_itself(order(), tmp_path):
            mine.set()

    with held(tmp_path, order()) as process:
        thread = threading.Thread(target=take)
        thread.start()
        assert not mine.wait(1.0)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert mine.wait(_WITHIN)
        thread.join()


def test_a_lock_dies_with_its_process(tmp_path: Path) -> None:
    with held(tmp_path, order("other")) as process:
        process.kill()
        process.wait()
        with host_to_itself(order("mine"), tmp_path):
            pass


def on_host(order: Order, directory: Path, *arguments: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-m", "emulation.campaign.on_host", str(directory), *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT,
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(order.encode())
    process.stdin.close()
    process.stdin = None
    return process


def test_a_simulated_cell_from_order_to_attempt(tmp_path: Path) -> None:
    file = write_campaign(tmp_path)
    chosen = cells(load_campaign(file), file)[3]
    told = Order(campaign="c", command="1", cell=chosen, runtime="simulated", keep=Keep.ALL)
    said, errors = on_host(told, tmp_path / "work").communicate(timeout=120)
    attempt = msgspec.json.decode(said, type=Attempt)
    assert attempt.result.fingerprint == chosen.fingerprint
    assert attempt.result.correct, errors
    assert attempt.run is not None
    assert (tmp_path / "work" / "runs" / attempt.run / "summary.json").exists()


@pytest.mark.parametrize("reason", ["asked", "owner gone"])
def test_it_ends_when_it_is_asked_or_its_campaign_is_gone(tmp_path: Path, reason: str) -> None:
    """Before it has done anything: an hour of virtual time would take it minutes."""
    file = write_campaign(tmp_path)
    scenario = tmp_path / "little.yaml"
    scenario.write_text(scenario.read_text().replace("run: 12s", "run: 100h"))
    chosen = cells(load_campaign(file), file)[0]
    told = Order(campaign="c", command="1", cell=chosen, runtime="simulated", keep=Keep.ALL)
    work = tmp_path / "work"
    work.mkdir()
    owner = subprocess.Popen(["sleep", "600"])
    identity = identify(owner.pid)
    assert identity is not None
    process = on_host(told, work, str(identity.pid), str(identity.started))
    try:
        deadline = time.monotonic() + _WITHIN
        while not list(work.glob("runs/*/logs")) and time.monotonic() < deadline:
            time.sleep(0.05)
        if reason == "asked":
            (work / STOP).touch()
        else:
            owner.kill()
            owner.wait()
        process.communicate(timeout=_WITHIN)
        assert process.returncode != 0
    finally:
        owner.kill()
        owner.wait()
        process.kill()
        process.wait()


def test_a_users_mistake_is_a_line_and_an_exit_code(tmp_path: Path) -> None:
    file = write_campaign(tmp_path)
    chosen = cells(load_campaign(file), file)[0]
    told = Order(campaign="c", command="1", cell=chosen, runtime="cloud", keep=Keep.NONE)
    process = on_host(told, tmp_path / "work")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    assert errors.decode().startswith("there is no runtime 'cloud'")
    assert b"Traceback" not in errors
