"""Brokers that are not brokerlab's, as processes on loopback addresses: their start, end, and quiet by canaries."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from emulation.host.processes import processes_of_run
from emulation.live_overlay import BrokerSettings, ExpectedOverlay, UnsettledError
from emulation.runtimes.canaries import CanaryWatch, joined
from emulation.runtimes.foreign import environment_of_process, remedy_for, require_program
from emulation.runtimes.host_overlay import HostOverlay
from emulation.runtimes.interface import Ending, ForeignProgram, Resources
from emulation.runtimes.loopback import loopback_overlay
from record.errors import HostError
from tests.scenario.faults.overlays import overlay_of
from topology.link_properties import Link, LinkDirection

ROOT = Path(__file__).parents[3]
OVERLAY = overlay_of(("A", "B"), delay=0.001)
WITHIN = 60.0


def _mine(level: int = 1, defect: str = "") -> ForeignProgram:
    environment = {"PYTHONPATH": str(ROOT), "FOREIGN_DEFECT": defect}
    return ForeignProgram(
        level=level, command=(sys.executable, str(ROOT / "tests/foreign/broker.py")), environment=environment
    )


@contextmanager
def _running(folder: Path, program: ForeignProgram, within: float = WITHIN) -> Iterator[HostOverlay]:
    run_id, resources = f"foreign-{uuid.uuid4().hex[:6]}", Resources(foreign=program)
    settings = BrokerSettings(protocol="foreign")
    try:
        with loopback_overlay(OVERLAY, settings, run_id, folder, connect_within=within, resources=resources) as overlay:
            yield overlay
    finally:
        assert not list(processes_of_run(run_id)), "a process has outlived its broker"


def test_canaries_find_quiet_where_brokers_tell_nothing(tmp_path: Path) -> None:
    with _running(tmp_path, _mine()) as overlay:
        assert overlay.brokers.status() == {}, "nobody asks a broker of level 1"
        watch = overlay.quiet_watch()
        assert isinstance(watch, CanaryWatch)
        assert not watch.quiet_for
        watch.settle(WITHIN)
        watch.look(0)
        assert (watch.busy, watch.quiet_for > 0) == ([], True)
        overlay.brokers.pause("B")
        with pytest.raises(UnsettledError, match=r"canaries have not come from .*A to B"):
            overlay.settle(1.0)
        overlay.brokers.resume("B")
        overlay.brokers.kill("A")
        overlay.settle(WITHIN)
        overlay.brokers.restart("A")
        overlay.settle(WITHIN)
        assert list((tmp_path / "logs").iterdir()) == [], "a level without logs gets none"


def test_a_broker_that_forks_without_end_leaves_nothing(tmp_path: Path) -> None:
    program = ForeignProgram(level=1, command=("sh", "-c", "while :; do sleep 60 & sleep 0.05; done"))
    with pytest.raises(UnsettledError, match="do not welcome clients"), _running(tmp_path, program, within=1.0):
        pass


def test_pairs_between_which_nothing_can_travel_are_not_waited_for() -> None:
    expected = ExpectedOverlay([Link("A", "B"), Link("B", "C"), Link("C", "D")], ["A", "B", "C", "D"])
    expected.cut.add(LinkDirection("C", "B"))
    expected.down.add("D")
    assert set(joined(expected)) == {("A", "A"), ("A", "B"), ("B", "A"), ("B", "B"), ("C", "C")}


def test_it_finds_the_contract_in_its_environment_and_nothing_of_brokerlabs_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", "/venv")
    monkeypatch.setenv("SECRET", "x")
    found = environment_of_process("run", "A", ForeignProgram(level=1, command=("a",), environment={"GOGC": "50"}))
    assert {"BROKERLAB_CONTRACT": "1", "BROKERLAB_RUN": "run", "GOGC": "50", "PATH": os.environ["PATH"]}.items() <= (
        found.items()
    )
    assert not {"PYTHONPATH", "VIRTUAL_ENV", "SECRET"} & found.keys()


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="the program no-such-broker is not on this host"):
        require_program(("no-such-broker",), "brokers.command")
    (tmp_path / "broker").touch(0o644)
    with pytest.raises(HostError, match="cannot be executed"):
        require_program((str(tmp_path / "broker"),), "brokers.command")


def test_last_words_that_are_known_come_with_a_remedy() -> None:
    ending = Ending("A", 1, ("touch: cannot touch '/x': Read-only file system",))
    assert "brokers.scratch" in remedy_for(ending)
    assert not remedy_for(Ending("A", 1, ("no idea",)))
    assert str(Ending("A", 1, ("no",), remedy="do this")).endswith(": no; do this")
