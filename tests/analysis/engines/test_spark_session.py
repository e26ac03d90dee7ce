from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from analysis.engines import spark_session
from tests.listening import LOOPBACK, listening_addresses


def test_nothing_listens_beyond_loopback(spark: SparkSession) -> None:
    assert SparkContext._gateway is not None
    listening = listening_addresses(SparkContext._gateway.proc.pid)
    assert listening
    assert {address for address in listening if not address.endswith(LOOPBACK)} == set()


class StartingJava:
    """Stands for `launch_gateway`: the user presses Ctrl-C while it starts a process."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None

    def __call__(self, _configuration: object, _inherited: object) -> StartingJava:
        self.process = self.proc = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
        os.kill(os.getpid(), signal.SIGINT)
        return self

    def shutdown(self) -> None: ...


def test_ctrl_c_while_java_starts_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = StartingJava()
    monkeypatch.setattr(spark_session, "launch_gateway", java)
    monkeypatch.setattr(spark_session, "check_java", lambda: None)
    with pytest.raises(KeyboardInterrupt), spark_session.open_session(scratch_parent=tmp_path):
        pytest.fail("no session is opened")
    assert java.process is not None
    assert java.process.poll() is not None
    assert not list(tmp_path.iterdir())


_ONE_SESSION = """
import signal, sys
from pathlib import Path
from analysis.engines.spark_session import open_session

def interrupted(signum, frame): ...
signal.signal(signal.SIGINT, interrupted)
scratch = Path(sys.argv[1])
with open_session("local[1]", scratch) as session:
    assert session.range(3).count() == 3
    assert len([*scratch.iterdir()]) == 1
assert signal.getsignal(signal.SIGINT) is interrupted
print([*scratch.iterdir()])
"""


@pytest.mark.spark
def test_a_session_is_quiet_and_leaves_nothing_behind(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ONE_SESSION, str(tmp_path)], capture_output=True, text=True, check=False, timeout=240
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "[]\n")


_ONE_THAT_IS_REFUSED = """
import sys
from pathlib import Path
from record.errors import HostError
from analysis.engines.spark_session import open_session

scratch = Path(sys.argv[1])
try:
    with open_session("nonsense://master", scratch): ...
except HostError as error:
    print(error)
with open_session("local[1]", scratch) as session:
    assert session.range(3).count() == 3
print([*scratch.iterdir()])
"""


@pytest.mark.proof
@pytest.mark.spark
def test_a_master_that_is_none_is_named_and_another_session_may_follow(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ONE_THAT_IS_REFUSED, str(tmp_path)],
        capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    error, left = done.stdout.splitlines()
    assert "nonsense://master" in error
    assert left == "[]"
