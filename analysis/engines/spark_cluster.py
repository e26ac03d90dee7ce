"""The needs of a Spark cluster beyond those of this host's own processors: a route to the driver, and brokerlab's code.

Executors of a cluster connect to the driver, fetch brokerlab's code from it, and must have its version of Python and
the packages that brokerlab imports. This module turns their failures into messages for the user.
"""

from __future__ import annotations

import os
import re
import socket
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.engines.java import options_of_spark
from record.errors import HostError
from record.installation import CODE, cache_directory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = CODE
EVENTS = cache_directory() / "spark" / "events"
"""The event log that the history server of docker-compose.yml reads; written when the directory exists."""
PACKAGES = ("analysis", "broker_service", "emulation", "record", "scenario", "studies", "topology")
EXECUTOR_MEMORY = "512m"
"""Memory of an executor's Java process, which only passes bytes on; SPARK_EXECUTOR_MEMORY in the environment replaces
it."""
TASK_FAILURES = 4
"""Failures of one task, for instance because its executor was lost, before the job fails."""

_CONNECT = "sc://"
_CONNECT_PORT = "15002"
_MASTER_PATIENCE = 5.0
_EXECUTOR_PATIENCE = 120.0
"""Seconds to wait until a master answers, and until it has granted an executor."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip file can hold, so that the same code makes the same file."""
_REMEDY = "give executors what `make setup` installs in .venv, or use the cluster of docker-compose.yml"
_TROUBLES = (
    (
        r"PYTHON_VERSION_MISMATCH\D*(\d+\.\d+)\D*?(\d+\.\d+)",
        "executors of {master} run Python {0} and this is Python {1}, and Spark needs the same on both: "
        "name one in PYSPARK_PYTHON, or {remedy}",
    ),
    (r"No module named '?([\w.]+)", "an executor of {master} has no Python package {0}: {remedy}"),
    (
        r'Cannot run program "([^"]+)"',
        "an executor of {master} has no {0}: name its Python in PYSPARK_PYTHON, or {remedy}",
    ),
    (r"WrongExecutorError: (.*)", "an executor of {master} {0}: {remedy}"),
    (
        r"ExecutorLostFailure .*?Reason: (.*)",
        f"executors of {{master}} were lost {TASK_FAILURES} times at the same task: {{0}}",
    ),
    (
        r"Python worker exited unexpectedly|java\.io\.EOFException|java\.net\.SocketException",
        "{master}: the Python process of a task ended at every try; was memory short?",
    ),
)
"""Patterns of Spark's errors, and their meaning for the user."""
_TROUBLES_OF_CLUSTERS = (
    (
        r"(?:FileNotFoundError|PermissionError): .*?'(/[^']+)'",
        "an executor of {master} cannot open {0}: mount the run directory there at the same path, with this user's "
        "rights, or copy it to a store and analyse it by its URI, such as s3://bucket/runs/NAME (docs/analysis.md)",
    ),
    (
        r"OSError: (.*AWS Error.*)",
        "an executor of {master} cannot use the store: {0}; give executors the rights and the network to reach it",
    ),
)


def is_local(master: str) -> bool:
    """True for a master that runs in this process."""
    return master.startswith("local")


def is_connect(master: str) -> bool:
    """True for a server of Spark Connect."""
    return master.startswith(_CONNECT)


def check_connect(server: str) -> None:
    """Raises `HostError` unless something answers at the address of a server of Spark Connect."""
    address = server.removeprefix(_CONNECT).partition("/")[0]
    host, _, port = address.rpartition(":") if ":" in address else (address, "", _CONNECT_PORT)
    if not host or not port.isdecimal():
        raise HostError(f"{server} is not a server of Spark Connect: write sc://host:{_CONNECT_PORT}")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _MASTER_PATIENCE).close()
    except OSError as error:
        raise HostError(f"no server of Spark Connect answers at {server} ({error})") from error


def settings(master: str) -> dict[str, str]:
    """The settings of Spark that only a cluster needs. Raises `HostError` when no master answers."""
    chosen = {
        "spark.executor.memory": os.environ.get("SPARK_EXECUTOR_MEMORY", EXECUTOR_MEMORY),
        "spark.executor.defaultJavaOptions": options_of_spark(),
        "spark.task.maxFailures": str(TASK_FAILURES),
        "spark.shuffle.readHostLocalDisk": "false",  # executors at one address may be in containers of their own
    }
    if (address := _own_address(master)) is not None and "SPARK_LOCAL_IP" not in os.environ:
        chosen |= {"spark.driver.host": address, "spark.driver.bindAddress": address}
    if EVENTS.is_dir() and os.access(EVENTS, os.W_OK):
        chosen |= {"spark.eventLog.enabled": "true", "spark.eventLog.dir": EVENTS.as_uri()}
    return chosen


def equip(session: SparkSession, master: str, scratch: Path) -> None:
    """Sends brokerlab's code to the executors, and waits for the first of them. Raises `HostError` when none comes."""
    session.addArtifacts(str(pack_code(scratch / "brokerlab.zip")), pyfile=True)
    with ThreadPoolExecutor(1, thread_name_prefix="first job") as pool:
        first_job = pool.submit(session.range(1).count)
        if first_job not in wait((first_job,), _EXECUTOR_PATIENCE).done:
            session.interruptAll()
            raise HostError(
                f"{master} gave no executor within {_EXECUTOR_PATIENCE:.0f} s: it needs a worker with a free "
                f"core and {session.conf.get('spark.executor.memory')} of memory (its page shows them; "
                "SPARK_EXECUTOR_MEMORY asks for less), from which this host can be reached"
            )
        first_job.result()


def pack_code(file: Path) -> Path:
    """Writes brokerlab's packages to a zip file from which Python can import them."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in PACKAGES:
            for path in sorted((ROOT / package).rglob("*")):
                if path.is_file() and path.suffix not in {".pyc", ".pyi"}:
                    entry = zipfile.ZipInfo(str(path.relative_to(ROOT)), _EPOCH)
                    archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return file


@contextmanager
def executor_errors_explained(master: str) -> Iterator[None]:
    """Turns errors of executors with a known cause into one line with the remedy."""
    try:
        yield
    except Exception as error:
        of_spark = type(error).__module__.partition(".")[0] in {"py4j", "pyspark"}
        if not of_spark or (explanation := _explained(master, str(error))) is None:
            raise
        raise HostError(explanation) from error


def _explained(master: str, message: str) -> str | None:
    """The cause of an error of Spark's; None when it is not a known one."""
    for pattern, explanation in _TROUBLES if is_local(master) else _TROUBLES + _TROUBLES_OF_CLUSTERS:
        if found := re.search(pattern, message):
            return explanation.format(*found.groups(), master=master, remedy=_REMEDY)
    return None


def _own_address(master: str) -> str | None:
    """This host's address towards the master, which executors can reach; None for a master without a spark:// URL."""
    if not master.startswith("spark://"):
        return None
    problem: OSError | None = None
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal():
            raise HostError(f"{master} is not a Spark master: write spark://host:7077")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), _MASTER_PATIENCE) as connection:
                return str(connection.getsockname()[0])
        except OSError as error:
            problem = error
    raise HostError(
        f"no Spark master answers at {master} ({problem}); one starts on this host with "
        "`docker-compose --profile spark up -d`"
    ) from problem
