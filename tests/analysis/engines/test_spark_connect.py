"""An analysis on a server of Spark Connect, which is a process of its own."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pyspark
import pytest

from analysis.engines import PlainEngine
from analysis.engines.java import check_java
from analysis.engines.spark_session import open_session
from analysis.pipeline import analyze
from analysis.tables.deliveries import Notification
from analysis.tables.results import read_table
from record.errors import HostError
from tests.analysis.history import joined, write_run

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
STARTED = re.compile(r"Spark Connect server started at: (\S+)")
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a server on loopback, which says when it has started."""
    try:
        check_java()
    except HostError as error:
        pytest.skip(str(error))
    home = Path(pyspark.__file__).parent
    loopback = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.ui.enabled": "false",
        "spark.local.dir": str(tmp_path),
    }
    options = [word for setting in loopback.items() for word in ("--conf", "=".join(setting))]
    command = [home / "bin" / "spark-submit", "--master", "local[2]", *options, "--class", SERVER, "spark-internal"]
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    with ExitStack() as stack:
        process = stack.enter_context(
            subprocess.Popen(
                command, cwd=tmp_path, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
        )
        output = process.stdout
        assert output is not None
        reader = stack.enter_context(ThreadPoolExecutor(1))  # it goes on reading, so that the server never waits
        stack.callback(process.kill)
        started = next(filter(None, map(STARTED.search, output)))
        reader.submit(deque, output, 0)
        yield f"sc://{started[1]}"


@pytest.mark.spark
def test_a_server_of_spark_connect_gives_the_same_results(server: str, tmp_path: Path) -> None:
    history = joined("base").publish("P:1").notify("P:1").publish("P:2").notify("P:2")
    there = write_run(tmp_path / "there", [history])
    here = Path(shutil.copytree(there, tmp_path / "here"))
    analyze(here, PlainEngine())
    done = subprocess.run(
        [sys.executable, "-m", "command_line", "analyze", there, "--master", server],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (there / "summary.json").exists(), done.stderr
    assert (there / "summary.json").read_bytes() == (here / "summary.json").read_bytes()
    notified = [sorted(map(str, read_table(run / "results", Notification))) for run in (there, here)]
    assert notified[0] == notified[1]
    assert len(notified[0]) == 2


@pytest.mark.parametrize(
    ("address", "words"),
    [("127.0.0.1:{port}", "no server of Spark Connect answers"), ("host:x", "write sc://host:15002")],
)
def test_a_server_that_does_not_answer_is_told_at_once(address: str, words: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        master = f"sc://{address.format(port=closed.getsockname()[1])}"
    with pytest.raises(HostError, match=words), open_session(master, tmp_path):
        pytest.fail("no session is opened")
