"""Pages about logs, tables and the summary say what the code does."""

from __future__ import annotations

import pytest

from tests.documentation.log_reference import DOCS, pages

PAGES = pages()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_what_the_code_does(name: str) -> None:
    written = (DOCS / name).read_text(encoding="utf-8")
    assert written == PAGES[name], "run: python -m tests.documentation.log_reference"


def test_they_describe_every_table_column_and_event() -> None:
    text = "".join(PAGES.values())
    for output in ("## notifications", "`queueing_ms`", "`link_down`", "`ALLOWANCE_SECONDS` = 2", "`most_brokers`"):
        assert output in text
    assert "| float, nullable | The wait in output queues" in text
