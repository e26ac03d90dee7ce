"""A quiet Spark session that leaves nothing behind.

Starting one takes some seconds, most of them for the Java virtual machine; `open_session` may run in a background
thread while a run drains. Everything that Spark writes for itself goes into one scratch directory (`record.scratch`),
which is removed at the end; its output goes to a file there. With a local master, none of its ports listens beyond
loopback.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, cast

from py4j.java_gateway import JavaGateway  # type: ignore[import-untyped]
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from analysis.engines import spark_cluster as cluster
from analysis.engines.java import check_java, options_of_spark
from record.errors import HostError
from record.scratch import scratch_of_program

LOCAL_MASTER = "local[*]"
QUERY_SETTINGS = {
    "spark.sql.adaptive.enabled": "false",  # there is nothing to learn about stages of one task for each group
    # Rows are few and large. To generate and compile Java for each stage's schema takes longer than to interpret it:
    # a tenth of the processor time of an analysis of 330,000 records, a twentieth of a million.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""The settings of sessions wherever they run."""
LARGEST_HEAP_MB = 4096
"""The largest heap of the Java process; it is never more than half of the host's memory."""
STOP_SECONDS = 30.0
"""Seconds that the Java process may take to end before it is killed."""


@contextmanager
def open_session(
    master: str = LOCAL_MASTER,
    scratch_parent: Path | None = None,
    name: str = "brokerlab analysis",
    java_options: Sequence[str] = (),
) -> Iterator[SparkSession]:
    """A session on `master`; its files are in a new directory under `scratch_parent` (default: the system's).

    `java_options` are further options of the driver's Java process.

    Raises `HostError` without Java 17 or newer (which a server of Spark Connect has itself), when the master cannot be
    reached, or grants no executor. Missing requirements of executors raise it too, also when they show only while the
    session is used.
    """
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")  # brokerlab uses none
    if cluster.is_connect(master):
        with scratch_of_program("spark", scratch_parent) as (scratch, _), _connected(master, scratch) as session:
            yield session
        return
    check_java()
    with scratch_of_program("spark", scratch_parent) as (scratch, lock), _standard_error_file(scratch) as spark_log:
        session = _start(_settings(master, scratch, name, java_options), scratch, spark_log, lock)
        try:
            with cluster.executor_errors_explained(master):
                if not cluster.is_local(master):
                    cluster.equip(session, master, scratch)
                yield session
        finally:
            _stop(session)


@contextmanager
def _connected(server: str, scratch: Path) -> Iterator[SparkSession]:
    """A session of a server of Spark Connect, which has its own Java."""
    cluster.check_connect(server)
    from pyspark.sql.connect.session import SparkSession as ConnectSession  # noqa: PLC0415 - half a second

    with cluster.executor_errors_explained(server):
        session = cast(SparkSession, ConnectSession.builder.remote(server).create())  # the same methods, another class
        try:
            for name, value in QUERY_SETTINGS.items():
                session.conf.set(name, value)
            cluster.equip(session, server, scratch)
            yield session
        finally:
            with suppress(Exception):  # the server may have ended
                session.stop()


@contextmanager
def _standard_error_file(scratch: Path) -> Iterator[int]:
    file = os.open(scratch / "spark.log", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    try:
        yield file
    finally:
        os.close(file)


def _start(settings: dict[str, str], scratch: Path, spark_log: int, lock: int) -> SparkSession:
    if cluster.is_local(settings["spark.master"]):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    configuration = SparkConf().setAll(list(settings.items()))
    # When this process is killed while Java starts, Java first writes its port to a file in the temporary directory of
    # the command, and then ends because its standard input is closed. If it cannot write the file, it never ends. So it
    # inherits the lock that keeps the directory, and is started in a thread, which Ctrl-C does not reach: PySpark would
    # forget a process that is still starting, and remove the directory.
    inherited = {"stdout": spark_log, "stderr": spark_log, "pass_fds": (lock,)}
    launch: Callable[..., JavaGateway] = launch_gateway
    launched: list[JavaGateway] = []
    try:
        with _own_interrupt_handler():
            with ThreadPoolExecutor(1, thread_name_prefix="java") as pool:  # whose end waits until Java has started
                pool.submit(lambda: launched.append(launch(configuration, inherited))).result()
            context = SparkContext(conf=configuration, gateway=launched[0])
            context.setLogLevel("ERROR")
            return SparkSession(context)
    except BaseException as error:
        said = str(error)  # which asks Java, if it is an error of Java's
        for gateway in launched:
            _end_java(gateway)
        if isinstance(error, Exception):
            raise HostError(_refusal(settings["spark.master"], scratch, said)) from error
        raise


def _refusal(master: str, scratch: Path, said: str) -> str:
    """The last error that Spark named; places in its source, which follow, tell the user nothing."""
    output = f"{said}\n{(scratch / 'spark.log').read_text(errors='replace')}".splitlines()
    errors = [line.strip() for line in output if re.search("[eE]rror|[eE]xception", line)]
    reason = next((line for line in reversed(errors) if not line.startswith("at ")), said)
    return f"Spark did not start with master {master!r}: {reason}"


def _settings(master: str, scratch: Path, name: str, options: Sequence[str]) -> dict[str, str]:
    java_options = " ".join(
        (
            f"-Djava.io.tmpdir={scratch}",
            f"-Dlog4j2.configurationFile={(Path(__file__).parent / 'log4j2.properties').as_uri()}",
            options_of_spark(),
            *options,
        )
    )
    settings = {
        "spark.master": master,
        "spark.app.name": name,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
        **QUERY_SETTINGS,
        "spark.driver.maxResultSize": "0",
        "spark.driver.extraJavaOptions": java_options,
    }
    if not cluster.is_local(master):
        return settings | cluster.settings(master)
    return settings | {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": f"{_heap_mb()}m",
    }


def _heap_mb() -> int:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    return min(LARGEST_HEAP_MB, memory // 2)


@contextmanager
def _own_interrupt_handler() -> Iterator[None]:
    """Keeps the program's SIGINT handler, which PySpark would replace when started in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler: Callable[[int, FrameType | None], Any] | int | None = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler if handler is not None else signal.SIG_DFL)


def _stop(session: SparkSession) -> None:
    with suppress(Exception):
        session.stop()
    _end_java(SparkContext._gateway)


def _end_java(gateway: JavaGateway | None) -> None:
    """Ends the Java process, which PySpark would keep until this process ends, so that a later session starts a new
    one. Another session, which may be open, keeps its own."""
    if SparkContext._gateway is gateway:
        SparkContext._gateway = SparkContext._jvm = None
    if gateway is None:
        return
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    with suppress(Exception):
        gateway.shutdown()
    if process is None:
        return
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
