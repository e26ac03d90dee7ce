"""Writes results as JUnit XML for continuous integration.

A case has *failed* if the tested behaviour is wrong, and has an *error* if it could not be tested. Both fail a build.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from xml.etree import ElementTree as Xml

from record.errors import BadInputError


class JunitOutcome(StrEnum):
    """The outcome of a case; the values are JUnit's element names."""

    PASSED = "passed"
    FAILED = "failure"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class JunitCase:
    """One case in the display of continuous integration."""

    name: str
    class_name: str
    kind: JunitOutcome = JunitOutcome.PASSED
    message: str = ""
    """The reason why it did not pass, in a few words."""
    text: str = ""
    """The details."""
    seconds: float = 0.0
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JunitSuite:
    """Cases that belong together."""

    name: str
    cases: Sequence[JunitCase]
    properties: Mapping[str, str] = field(default_factory=dict)
    seconds: float | None = None
    """The time that all cases took together; None for the sum of theirs."""


def require_writable(path: Path | None, option: str = "--junit") -> None:
    """Checks before a run whether a file can be written. Raises `BadInputError` if not."""
    if path is None:
        return
    if not path.absolute().parent.is_dir():
        raise BadInputError(f"{option} {path}: there is no directory {path.parent}")
    if path.is_dir():
        raise BadInputError(f"{option} {path}: is a directory; name a file, such as {path / 'verdicts.xml'}")
    if path.is_fifo():
        raise BadInputError(f"{option} {path}: is a pipe, which might never be read; name a file")
    existed = path.exists()
    try:
        with path.open("ab") as file:
            if stat.S_ISCHR(os.fstat(file.fileno()).st_mode):
                file.write(b"\n")  # a device may refuse what it is given, and not before
    except OSError as error:
        raise BadInputError(f"{option} {path}: cannot be written: {error.strerror}; name another file") from error
    if not existed:
        path.unlink()


def write_junit(suites: Sequence[JunitSuite], path: Path) -> None:
    """Writes the file. Raises `BadInputError` if that fails."""
    root = Xml.Element("testsuites")
    for suite in suites:
        counts = Counter(case.kind for case in suite.cases)
        element = Xml.SubElement(root, "testsuite", name=suite.name, tests=str(len(suite.cases)))
        element.set("failures", str(counts[JunitOutcome.FAILED]))
        element.set("errors", str(counts[JunitOutcome.ERROR]))
        element.set("skipped", str(counts[JunitOutcome.SKIPPED]))
        seconds = sum(case.seconds for case in suite.cases) if suite.seconds is None else suite.seconds
        element.set("time", f"{seconds:.3f}")
        _add_properties(element, suite.properties)
        for case in suite.cases:
            _add(element, case)
    Xml.indent(root)
    try:
        Xml.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise BadInputError(f"--junit {path}: cannot be written: {error.strerror}") from error


def _add(suite: Xml.Element, case: JunitCase) -> None:
    element = Xml.SubElement(suite, "testcase", name=case.name, classname=case.class_name, time=f"{case.seconds:.3f}")
    _add_properties(element, case.properties)
    if case.kind is not JunitOutcome.PASSED:
        Xml.SubElement(element, case.kind, message=case.message).text = case.text
    elif case.text:
        Xml.SubElement(element, "system-out").text = case.text


def _add_properties(element: Xml.Element, properties: Mapping[str, str]) -> None:
    if properties:
        added = Xml.SubElement(element, "properties")
        for name, value in properties.items():
            Xml.SubElement(added, "property", name=name, value=value)
