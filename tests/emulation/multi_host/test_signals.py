from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from emulation.host.processes import ProcessIdentity, identify
from emulation.multi_host.signals import FINISHED, Signals, agent_runs, await_signal, end_agent, main
from record.errors import HostError
from record.exit_codes import ExitCode

LONG = 30.0


@pytest.fixture
def agent() -> ProcessIdentity:
    me = identify(os.getpid())
    assert me is not None
    return me


def test_an_agent_goes_on_when_it_is_told(tmp_path: Path, agent: ProcessIdentity) -> None:
    signals = Signals(tmp_path)
    signals.begin(agent)
    waiting = threading.Thread(target=lambda: signals.wait_at("0-ended", LONG, time.sleep))
    waiting.start()
    await_signal(tmp_path, "0-ended", LONG)
    assert waiting.is_alive()
    signals.finish()
    assert main(tmp_path, FINISHED, LONG, "0-ended") == 0
    waiting.join(LONG)
    assert not waiting.is_alive()


def test_an_agent_does_not_wait_for_ever(tmp_path: Path) -> None:
    with pytest.raises(HostError, match=r"no signal from the controller to go on \(0-wired\)"):
        Signals(tmp_path).wait_at("0-wired", 0.0, time.sleep)


@pytest.mark.parametrize("code", [ExitCode.HOST, ExitCode.BROKER_DEFECT])
def test_the_controller_hears_why_an_agent_failed(
    tmp_path: Path, agent: ProcessIdentity, code: ExitCode, capsys: pytest.CaptureFixture[str]
) -> None:
    signals = Signals(tmp_path)
    signals.begin(agent)
    signals.fail("no room on the disk", code)
    assert main(tmp_path, "0-wired", LONG) == code
    assert capsys.readouterr().err == "no room on the disk\n"


def test_an_agent_that_was_killed_is_missed_at_once(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    identity = identify(process.pid)
    assert identity is not None
    Signals(tmp_path).begin(identity)
    assert agent_runs(tmp_path)
    process.kill()
    process.communicate()
    assert not agent_runs(tmp_path)
    with pytest.raises(HostError, match="the agent was killed"):
        await_signal(tmp_path, FINISHED, LONG)


def test_one_that_never_comes_is_waited_for_so_long(tmp_path: Path, agent: ProcessIdentity) -> None:
    Signals(tmp_path).begin(agent)
    with pytest.raises(HostError, match=r"did not reach the stage 0-wired within 0 s"):
        await_signal(tmp_path, "0-wired", 0.0)


@pytest.mark.parametrize("ends", ["pass", "signal.signal(signal.SIGTERM, signal.SIG_IGN)"], ids=["in order", "killed"])
def test_an_agent_is_ended(tmp_path: Path, ends: str) -> None:
    code = f"import signal; {ends}; print(flush=True); signal.pause(); signal.pause()"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    identity = identify(process.pid)
    assert identity is not None
    Signals(tmp_path).begin(identity)
    end_agent(tmp_path, LONG if ends == "pass" else 0.0)
    assert not identity.alive
    process.communicate()
    end_agent(tmp_path, LONG)  # one that has ended, and one that never began, are no trouble
    end_agent(tmp_path / "elsewhere", LONG)
