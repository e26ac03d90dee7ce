"""docs/fidelity.md agrees with the code."""

from __future__ import annotations

from pathlib import Path

from emulation.fidelity.reference import checks, figures, updated

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "fidelity.md"


def test_the_tables_are_up_to_date() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert updated(text) == text, "run: python -m emulation.fidelity.reference docs/fidelity.md"


def test_every_check_says_what_helps() -> None:
    for row in checks().splitlines()[2:]:
        assert all(cell.strip() for cell in row.strip("|").split("|")), row


def test_no_check_and_no_figure_is_left_out() -> None:
    assert "| CPU stolen by the hypervisor | % | 2 | 10 |" in checks()
    assert "| never |" in checks()
    assert "| p99 | 99th percentile of the delay | 25% | 50% |" in figures()
