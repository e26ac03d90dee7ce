"""Spark's own processes on loopback, from the jars that PySpark brings: a server of Spark Connect, and a cluster."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
import pytest

from analysis.engines.java import check_java, options_of_spark
from record.errors import HostError

HOME = Path(pyspark.__file__).parent
ROOT = Path(__file__).resolve().parents[3]
LOOPBACK = "127.0.0.1"
_CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"


@contextmanager
def connect_server(directory: Path) -> Iterator[str]:
    """The address of a server that runs tasks on two processors of this host."""
    settings = {
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.connect.grpc.binding.address": LOOPBACK,
        "spark.connect.grpc.binding.port": "0",
        "spark.ui.enabled": "false",
        "spark.local.dir": str(directory),
        "spark.driver.extraJavaOptions": options_of_spark(),
    }
    options = [word for setting in settings.items() for word in ("--conf", "=".join(setting))]
    command = [HOME / "bin" / "spark-submit", "--master", "local[2]", *options, "--class", _CONNECT, "spark-internal"]
    with _started(command, directory, r"Spark Connect server started at: (\S+)") as address:
        yield f"sc://{address}"


@contextmanager
def cluster_of_two(directory: Path, hidden: Sequence[Path]) -> Iterator[str]:
    """The master's URL of a cluster of two workers, each with one processor and with a mount namespace of its own.

    To a worker and its executors, the hidden directories are empty: files that they write there are in the memory of
    their namespace, and gone with it. `directory` is the workers' own, below a hidden one.
    """
    ports = ["--host", LOOPBACK, "--port", "0", "--webui-port", "0"]
    with ExitStack() as stack:
        master = [HOME / "bin" / "spark-class", _MASTER, *ports]
        url = stack.enter_context(_started(master, directory, r"Starting Spark master at (\S+)"))
        worker = [HOME / "bin" / "spark-class", _WORKER, *ports, "--cores", "1", "--memory", "600m"]
        with ThreadPoolExecutor(2) as pool:
            started = [
                _started(
                    _with_hidden([*worker, "--work-dir", str(directory), url], hidden),
                    HOME,
                    r"Successfully registered with master (\S+)",
                    SPARK_LOCAL_DIRS=str(directory),
                )
                for _ in range(2)
            ]
            for entered in [pool.submit(stack.enter_context, process) for process in started]:
                entered.result()
        yield url


def require_java() -> None:
    """Skips the test where Spark cannot start."""
    try:
        check_java()
    except HostError as error:
        pytest.skip(str(error))


def _with_hidden(command: Sequence[str | Path], directories: Sequence[Path]) -> list[str | Path]:
    mounts = [f"mount -t tmpfs tmpfs {shlex.quote(str(directory))}" for directory in directories]
    script = " && ".join([*mounts, 'exec "$@"'])
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", *command]


@contextmanager
def _started(command: Sequence[str | Path], directory: Path, says: str, **variables: str) -> Iterator[str]:
    """A process that says when it has started: yields what the group in `says` matches in its output."""
    environment = {
        **os.environ,
        "SPARK_HOME": str(HOME),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_DAEMON_JAVA_OPTS": options_of_spark(),
        **variables,
    }
    with ExitStack() as stack:
        process = stack.enter_context(
            subprocess.Popen(
                command, cwd=directory, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
        )
        stack.callback(process.terminate)
        output = process.stdout
        assert output is not None
        said: deque[str] = deque(maxlen=50)
        for line in output:
            said.append(line)
            if found := re.search(says, line):
                break
        else:
            pytest.fail("".join(said))
        reader = stack.enter_context(ThreadPoolExecutor(1))  # it goes on reading, so that the process never waits
        stack.callback(process.terminate)
        reader.submit(deque, output, 0)
        yield found[1]
