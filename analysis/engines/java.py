"""The Java that Spark starts, and the archive of classes from which it starts with half the processor time.

Java can save the classes that a process has loaded and verified, and map them into the memory of later processes
(JEP 350). Set-up writes the archive once (`setup/spark_classes.py`). It serves one build of Java and one version of
PySpark, which its name stands for. Without an archive Spark starts as well.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from record.errors import HostError
from record.installation import cache_directory

OLDEST_JAVA = 17
_QUICK = ("-XX:+UseParallelGC", "-XX:-UsePerfData", "-XX:TieredStopAtLevel=1")
_REMEDY = "install one (Debian: apt-get install openjdk-17-jre-headless) or set JAVA_HOME"
_JOBS = 2
"""The version of the jobs whose classes set-up archives."""
_ARCHIVES = cache_directory() / "spark"


def java_program() -> str:
    """The Java that Spark will start. Raises `HostError` where there is none."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home, "bin", "java")) if home else "java")
    if java is None:
        where = f"in JAVA_HOME={home}" if home else "on the PATH"
        raise HostError(f"no Java {where}, and Spark needs {OLDEST_JAVA} or newer: {_REMEDY}")
    return java


def check_java() -> None:
    """Raises `HostError` unless Spark would find Java 17 or newer."""
    java = java_program()
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', answer)
    if found is None or int(found[1]) < OLDEST_JAVA:
        release = found[1] if found else "of unknown version"
        raise HostError(f"{java} is Java {release}, and Spark needs {OLDEST_JAVA} or newer: {_REMEDY}")


def class_archive(java: str) -> Path:
    """The archive for this Java, which need not exist."""
    program = Path(java).resolve()
    build = f"{program} {program.stat().st_mtime_ns} {version('pyspark')} {_JOBS}"
    return _ARCHIVES / f"classes-{sha256(build.encode()).hexdigest()[:16]}.jsa"


def options_of_spark() -> str:
    """The options of Java where it only schedules and shuffles, so that optimising would cost more than it gains.

    Raises `HostError` where there is no Java.
    """
    return " ".join((*_QUICK, *options_to_use_classes(java_program())))


def options_to_use_classes(java: str) -> list[str]:
    """The options with which Java starts from its archive; none where there is no archive."""
    archive = class_archive(java)
    return [f"-XX:SharedArchiveFile={archive}"] if archive.exists() else []


def options_to_write_classes(archive: Path) -> list[str]:
    """The options with which Java writes an archive when it exits."""
    return [f"-XX:ArchiveClassesAtExit={archive}"]
