"""docs/fidelity.md agrees with the code."""

from __future__ import annotations

from pathlib import Path

from emulation.fidelity.reference import reference, updated

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "fidelity.md"


def test_the_table_of_checks_is_up_to_date() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert updated(text) == text, "run: python -m emulation.fidelity.reference docs/fidelity.md"


def test_every_check_says_what_helps() -> None:
    for row in reference().splitlines()[2:]:
        assert all(cell.strip() for cell in row.strip("|").split("|")), row


def test_no_check_is_left_out() -> None:
    assert "| CPU busy | % | 85 | 97 |" in reference()
    assert "| never |" in reference()
