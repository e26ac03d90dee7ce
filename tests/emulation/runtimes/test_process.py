from __future__ import annotations

import os
from pathlib import Path

import pytest

from broker_service.config import BrokerConfig
from broker_service.routing.program.references import reference_to
from emulation.host.journal import Journal
from emulation.host.run_paths import RunPaths
from emulation.runtimes import process
from emulation.runtimes.interface import Launch
from emulation.runtimes.loopback import OwnUser
from emulation.runtimes.process import ProcessRuntime, Unprivileged
from record.exit_codes import ExitCode
from tests.emulation.runtimes import lingering
from tests.waiting import await_true


def test_the_exit_code_of_a_broker_is_awaited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy host ends the threads of a process one after another, and counts it as ended from the first one on."""
    monkeypatch.setattr(process, "BROKER_PROGRAM", lingering.__name__)
    paths = RunPaths("run", tmp_path, tmp_path)
    launch = Launch(config=BrokerConfig(id="A", incarnation=1, protocol="tid"), config_directory=tmp_path / "A")
    with ProcessRuntime(paths, Journal(paths.journal), OwnUser()) as runtime:
        runtime.start([launch], {"A": os.getpid()})
        await_true(lambda: not runtime.processes()["A"].alive, "the first thread has ended")
        ending = runtime.ending("A")
    assert ending.exit_code == ExitCode.BROKER_DEFECT
    assert ending.is_defect


def test_a_broker_may_enter_the_folders_of_its_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths, program = RunPaths("run", tmp_path, tmp_path), tmp_path / "router"
    program.touch()
    monkeypatch.setattr(process, "closed_to_brokers", lambda *given: tmp_path if program in given else None)
    for protocol, kept in (("tid", "-all"), (reference_to([str(program)]), "-all,+dac_read_search")):
        launch = Launch(config=BrokerConfig(id="A", incarnation=1, protocol=protocol), config_directory=tmp_path)
        assert f"--ambient-caps={kept}" in Unprivileged(paths).prefix(launch, os.getpid())
