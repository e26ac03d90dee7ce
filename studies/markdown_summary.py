"""Writes results as a page of Markdown, which GitHub and GitLab show beside a build."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from record.errors import BadInputError
from studies.junit import JunitCase, JunitOutcome, JunitSuite

_IN_WORDS = {
    JunitOutcome.PASSED: "passed",
    JunitOutcome.FAILED: "**failed**",
    JunitOutcome.ERROR: "**not judged**",
    JunitOutcome.SKIPPED: "skipped",
}
_SHOWN = 20
"""Cases that are told at length."""


def write_markdown(suites: Sequence[JunitSuite], path: Path) -> None:
    """Writes the page. Raises `BadInputError` if that fails."""
    try:
        path.write_text("\n".join(_lines(suites)) + "\n", encoding="utf-8")
    except OSError as error:
        raise BadInputError(f"--summary-md {path}: cannot be written: {error.strerror}") from error


def _lines(suites: Sequence[JunitSuite]) -> Iterator[str]:
    cases = [case for suite in suites for case in suite.cases]
    counts = Counter(case.kind for case in cases)
    yield "## Deliveries"
    yield ""
    yield ", ".join(f"{counts[kind]} {_IN_WORDS[kind]}" for kind in JunitOutcome if counts[kind]) or "nothing was run"
    yield ""
    yield "| run | verdict on | outcome | reason |"
    yield "|---|---|---|---|"
    for suite in suites:
        for case in suite.cases:
            yield f"| {_cell(suite.name)} | {_cell(case.name)} | {_IN_WORDS[case.kind]} | {_cell(case.message)} |"
    wrong = [(suite, case) for suite in suites for case in suite.cases if _is_wrong(case)]
    for suite, case in wrong[:_SHOWN]:
        yield from _at_length(suite, case)
    if len(wrong) > _SHOWN:
        yield f"\n{len(wrong) - _SHOWN} more are in the JUnit file and the report."


def _is_wrong(case: JunitCase) -> bool:
    return case.kind in (JunitOutcome.FAILED, JunitOutcome.ERROR)


def _at_length(suite: JunitSuite, case: JunitCase) -> Iterator[str]:
    """The details of a case, folded, with the settings that repeat it."""
    settings = ", ".join(f"{name} {value}" for name, value in suite.properties.items())
    yield ""
    yield f"<details><summary>{_cell(suite.name)}: {_cell(case.name)}</summary>"
    yield ""
    # A fence longer than any in the text, so that no text ends it.
    fence = "`" * max(3, 1 + max(map(len, _runs_of_ticks(case.text)), default=0))
    yield f"{fence}text\n{case.text.strip()}\n{fence}"
    if settings:
        yield ""
        yield _cell(settings)
    yield "</details>"


def _runs_of_ticks(text: str) -> list[str]:
    return [run for run in "".join(letter if letter == "`" else " " for letter in text).split() if run]


def _cell(text: str) -> str:
    """A text in one line of a table, without meaning to Markdown or HTML."""
    plain = " ".join(text.split())
    for character, written in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "\\|")):
        plain = plain.replace(character, written)
    return plain
