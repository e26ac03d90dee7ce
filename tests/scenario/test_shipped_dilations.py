"""Shipped files leave a time dilation to rehearsals on the host, or say why they do not."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DILATED = sorted(
    path
    for folder in ("scenarios", "campaigns")
    for path in (ROOT / folder).rglob("*.yaml")
    if "time_dilation:" in path.read_text(encoding="utf-8")
)


def test_some_shipped_scenarios_are_dilated() -> None:
    assert {path.stem for path in DILATED} >= {"semi-30", "octopia-burst", "medym-kill-six"}


@pytest.mark.parametrize("path", DILATED, ids=lambda path: path.stem)
def test_a_dilation_is_auto_or_its_file_says_why_not(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "time_dilation: auto" in text or "not auto, because" in text.replace("\n# ", " ")
