"""Results as JUnit XML, which continuous integration shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as Xml

from emulation.conformance.display import RELATION, explanation
from emulation.conformance.result import Result, Verdict
from emulation.errors import BadInputError


def write_junit(results: Sequence[Result], path: Path) -> None:
    """One suite for each runtime, one class for each protocol. Raises `BadInputError` when the file cannot be made."""
    root = Xml.Element("testsuites")
    for runtime in dict.fromkeys(result.runtime for result in results):
        of_it = [result for result in results if result.runtime == runtime]
        counts = Counter(result.verdict for result in of_it)
        suite = Xml.SubElement(root, "testsuite", name=runtime or RELATION, tests=str(len(of_it)))
        suite.set("failures", str(counts[Verdict.FAILED]))
        suite.set("skipped", str(counts[Verdict.SKIPPED]))
        for result in of_it:
            _add(suite, result)
    Xml.indent(root)
    try:
        Xml.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise BadInputError(f"--junit {path}: cannot be written: {error.strerror}") from error


def _add(suite: Xml.Element, result: Result) -> None:
    case = Xml.SubElement(suite, "testcase", name=result.case, time=f"{result.seconds:.3f}")
    case.set("classname", result.protocol or RELATION)
    if result.verdict is Verdict.FAILED:
        Xml.SubElement(case, "failure", message="not as expected").text = "\n".join(explanation(result))
    elif result.verdict is Verdict.SKIPPED:
        Xml.SubElement(case, "skipped", message=result.note)
