"""The summary in Markdown: every case in its table, failures at length, and no text that leaves its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from record.errors import BadInputError
from studies.junit import JunitCase, JunitOutcome, JunitSuite
from studies.markdown_summary import write_markdown
from studies.verdict_files import NO_FILES, VerdictFiles

FAILED = JunitCase(
    name="base: delivery", class_name="smoke", kind=JunitOutcome.FAILED, message="lost", text="P1:1 of B3"
)


def page(tmp_path: Path, *suites: JunitSuite) -> str:
    write_markdown(suites, tmp_path / "summary.md")
    return (tmp_path / "summary.md").read_text(encoding="utf-8")


def rows(text: str) -> list[list[str]]:
    """The cells of the table, below its head."""
    table = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table[2:]]


def test_every_case_has_a_row_and_what_failed_its_details(tmp_path: Path) -> None:
    passed = JunitCase(name="base: fidelity", class_name="smoke")
    text = page(tmp_path, JunitSuite("smoke", [FAILED, passed], {"seed": "7", "report": "runs/x/index.html"}))
    assert rows(text) == [
        ["smoke", "base: delivery", "**failed**", "lost"],
        ["smoke", "base: fidelity", "passed", ""],
    ]
    assert "1 passed, 1 **failed**" in text
    assert text.count("<details>") == text.count("</details>") == 1
    assert "```text\nP1:1 of B3\n```" in text
    assert "seed 7, report runs/x/index.html" in text


def test_no_text_of_a_case_is_taken_for_markdown_or_html(tmp_path: Path) -> None:
    case = JunitCase(
        name="a|b", class_name="c", kind=JunitOutcome.ERROR, message="<script>\n& more", text="```\n</details>\n````"
    )
    text = page(tmp_path, JunitSuite("<s>", [case]))
    assert rows(text) == [["&lt;s&gt;", "a\\|b", "**not judged**", "&lt;script&gt; &amp; more"]]
    assert "`````text\n```\n</details>\n````\n`````" in text


def test_a_great_many_failures_are_not_all_told(tmp_path: Path) -> None:
    text = page(tmp_path, JunitSuite("smoke", [FAILED] * 25))
    assert len(rows(text)) == 25
    assert text.count("<details>") == 20
    assert "5 more" in text


def test_nothing_that_was_run_is_said_to_be_nothing(tmp_path: Path) -> None:
    assert "nothing was run" in page(tmp_path)


def test_a_file_that_cannot_be_written_is_named_with_its_option(tmp_path: Path) -> None:
    NO_FILES.require_writable()
    with pytest.raises(BadInputError, match=r"--summary-md .*: is a directory"):
        VerdictFiles(markdown=tmp_path).require_writable()
    with pytest.raises(BadInputError, match=r"--junit .*: is a directory"):
        VerdictFiles(junit=tmp_path).require_writable()
    with pytest.raises(BadInputError, match=r"--summary-md .*: cannot be written"):
        write_markdown([], tmp_path)


def test_both_files_are_written(tmp_path: Path) -> None:
    files = VerdictFiles(tmp_path / "junit.xml", tmp_path / "summary.md")
    files.write([JunitSuite("smoke", [FAILED])])
    assert "lost" in (tmp_path / "junit.xml").read_text()
    assert "lost" in (tmp_path / "summary.md").read_text()
