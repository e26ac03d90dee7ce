"""Requirements of a Spark cluster on the driver. A working cluster is tested with docker-compose's (tests/setup)."""

from __future__ import annotations

import socket
import subprocess
import sys
import zipfile
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from pyspark.errors import PySparkRuntimeError

from analysis.engines import RunningSpark
from analysis.engines import spark_cluster as cluster
from analysis.engines.spark_cluster import executor_errors_explained, pack_code, settings
from record.errors import HostError

MASTER = "spark://far:7077"


class SparkError(Exception):
    """Stands for what Spark raises, whose text is an executor's stack trace."""


SparkError.__module__ = "pyspark.errors.exceptions.captured"


def test_code_that_is_the_same_is_the_same_file(tmp_path: Path) -> None:
    first, second = pack_code(tmp_path / "first.zip"), pack_code(tmp_path / "second.zip")
    assert first.read_bytes() == second.read_bytes()
    names = zipfile.ZipFile(first).namelist()
    assert {name.partition("/")[0] for name in names} == set(cluster.PACKAGES)
    assert not [name for name in names if "__pycache__" in name]


@pytest.mark.proof
def test_packed_code_runs_with_its_data(tmp_path: Path) -> None:
    """In a Python that finds brokerlab nowhere else first: the grammar, the calibration and the sites come along."""
    program = f"""
import sys
sys.path.insert(0, {str(pack_code(tmp_path / "code.zip"))!r})
import json, emulation
from pathlib import Path
from studies.campaign import CampaignCell
from studies.cells.attempt import CellRequest, Keep
from studies.cells.execution import run_cell
from rich.console import Console
assert "code.zip" in emulation.__file__, emulation.__file__
scenario = dict(
    name="tiny", topology=dict(kind="planetlab", brokers=4), routing=dict(protocol="tid", publications="fixed"), seed=1,
    workload=dict(publications=dict(publishers=1, rate="4/s"), subscriptions=dict(subscribers=2, selectivity="50%")),
    timeline=dict(join="2s", run="2s", drain="2s"),
)
cell = CampaignCell(key="c", schedule="none", seed=1, scenario=json.dumps(scenario))
print(run_cell(CellRequest.simulated(cell, Keep.NONE), Path("here"), Console(stderr=True)).result.delivery)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "['correct']\n", done.stderr


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        ("ModuleNotFoundError: No module named 'msgspec'\n", "has no Python package msgspec"),
        ("/usr/bin/python3: No module named pyspark\n", "has no Python package pyspark"),
        ('java.io.IOException: Cannot run program "python3": error=2', "has no python3"),
        (
            "studies.cells.executors.spark_jobs.WrongExecutorError: has numpy 1 where the driver has 2\n",
            "has numpy 1 where",
        ),
        ("PermissionError: [Errno 13] Permission denied: '/runs/r/logs/B1.jsonl'", "cannot open /runs/r/logs/B1.jsonl"),
        (
            "ExecutorLostFailure (executor 3 exited caused by a running task) Reason: Command exited with 137\n",
            "lost 4 times at the same task: Command exited with 137",
        ),
        ("org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)", "was memory short?"),
        ("java.net.SocketException: Connection reset", "was memory short?"),
    ],
)
def test_what_an_executor_lacks_is_told_in_one_line(refusal: str, words: str) -> None:
    with pytest.raises(HostError) as caught, executor_errors_explained(MASTER):
        raise SparkError(f"Job aborted due to stage failure: Task 0 failed\n{refusal}")
    assert words in str(caught.value)
    assert MASTER in str(caught.value)
    assert "\n" not in str(caught.value)


def test_another_python_is_named() -> None:
    versions = {"worker_version": "3.13", "driver_version": "3.11"}
    with pytest.raises(HostError, match=r"run Python 3\.13 and this is Python 3\.11.*PYSPARK_PYTHON"):  # noqa: SIM117
        with executor_errors_explained(MASTER):
            raise PySparkRuntimeError(errorClass="PYTHON_VERSION_MISMATCH", messageParameters=versions)


def test_other_errors_stay_what_they_are() -> None:
    for error in (SparkError("something else"), FileNotFoundError(2, "No such file", "/here"), HostError("x")):
        with pytest.raises(type(error)) as same, executor_errors_explained(MASTER):
            raise error
        assert same.value is error


class TestMaster:
    def test_one_that_does_not_answer_is_told_at_once(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as closed:
            port = closed.getsockname()[1]
        with pytest.raises(HostError, match=rf"answers at spark://127.0.0.1:{port} .*docker-compose"):
            settings(f"spark://127.0.0.1:{port}")

    @pytest.mark.parametrize("master", ["spark://host", "spark://:7077", "spark://host:port"])
    def test_one_that_is_misspelt_is_told(self, master: str) -> None:
        with pytest.raises(HostError, match="write spark://host:7077"):
            settings(master)

    def test_executors_are_told_an_address_that_leads_back(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
        with socket.create_server(("127.0.0.2", 0)) as master:
            url = f"spark://127.0.0.2:{master.getsockname()[1]}"
            chosen = settings(url)
            assert chosen["spark.driver.host"] == chosen["spark.driver.bindAddress"]
            assert chosen["spark.driver.host"].startswith("127.")
            monkeypatch.setenv("SPARK_LOCAL_IP", "192.0.2.1")
            assert "spark.driver.host" not in settings(url)

    def test_events_are_written_where_a_history_server_reads(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr(cluster, "EVENTS", tmp_path / "events")
        assert "spark.eventLog.dir" not in settings("yarn")
        (tmp_path / "events").mkdir()
        assert settings("yarn")["spark.eventLog.dir"] == (tmp_path / "events").as_uri()


def test_a_session_that_runs_already_has_its_errors_explained_too() -> None:
    killed = SparkError("org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)")
    with pytest.raises(HostError, match="was memory short"), RunningSpark(MagicMock()).open():
        raise killed
