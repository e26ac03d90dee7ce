from __future__ import annotations

from pathlib import Path

from tests.documentation.log_reference import render

DOCUMENT = Path(__file__).parents[2] / "docs" / "logs.md"


def test_the_document_says_what_the_code_does() -> None:
    assert DOCUMENT.read_text() == render(), "run: python -m tests.documentation.log_reference > docs/logs.md"


def test_it_describes_every_table_column_and_event() -> None:
    text = render()
    for output in ("### notifications", "`queueing_ms`", "`link_down`", "`ALLOWANCE_SECONDS` = 2", "`most_brokers`"):
        assert output in text
    assert "| float, nullable | The wait in output queues" in text
