"""examples/first-look.ipynb runs from its top to its end, and draws what it says."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).resolve().parents[2] / "examples" / "first-look.ipynb"


def test_the_notebook_runs_and_makes_its_plot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    assert all(not cell["outputs"] for cell in cells if cell["cell_type"] == "code"), (
        "clear the outputs before a commit"
    )
    names: dict[str, Any] = {}
    for number, cell in enumerate(cells):
        if cell["cell_type"] == "code":
            exec(compile(ast.parse("".join(cell["source"])), f"cell {number}", "exec"), names)
    printed = capsys.readouterr().out
    assert "delivery: correct" in printed and "fidelity: VALID" in printed
    fixed, dynamic = names["figure"].data
    assert (fixed.name, dynamic.name) == ("dynamic", "fixed") or (fixed.name, dynamic.name) == ("fixed", "dynamic")
    assert list(fixed.x) == sorted(fixed.x) and min(fixed.y) > 0
    assert Path("delays.html").is_file() and names["page"].is_file()
