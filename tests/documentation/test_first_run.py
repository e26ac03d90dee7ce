"""The README's first run: the place of its sentence, and the runs that it must not show."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest

from analysis.report.data import ReportData
from record.fidelity import FidelityVerdict
from record.manifest import RungChoice
from tests.documentation.first_run import ROOT, objection, renewed


def run(runtime: str, fidelity: FidelityVerdict, verdict: str) -> ReportData:
    variant = Mock(delivery=Mock(verdicts=[verdict]))
    variant.name = "fixed"
    data: ReportData = Mock(
        spec=ReportData, summary=Mock(fidelity=fidelity, variants=[variant]), run=Mock(runtime=RungChoice(runtime))
    )
    return data


def test_the_readme_has_one_place_for_the_sentence() -> None:
    readme = Path(ROOT / "README.md").read_text()
    text = renewed(readme, "Dynamic was faster.", "20260101T000000Z-quickstart-0000")
    assert "\n    Dynamic was faster.\n    report: runs/20260101T000000Z-quickstart-0000/report/index.html\n" in text
    assert len(text.splitlines()) == len(readme.splitlines())
    with pytest.raises(ValueError, match="0 places"):
        renewed("# brokerlab\n", "Dynamic was faster.", "20260101T000000Z-quickstart-0000")


@pytest.mark.parametrize(
    ("runtime", "fidelity", "verdict", "problem"),
    [
        ("container", FidelityVerdict.VALID, "correct", None),
        ("simulated", FidelityVerdict.VALID, "correct", "runtime is simulated"),
        ("container", FidelityVerdict.DEGRADED, "correct", "fidelity is DEGRADED"),
        ("container", FidelityVerdict.VALID, "violated", "fixed: not correct"),
    ],
)
def test_only_a_run_in_containers_that_held_is_shown(
    runtime: str, fidelity: FidelityVerdict, verdict: str, problem: str | None
) -> None:
    found = objection(run(runtime, fidelity, verdict))
    assert found is None if problem is None else problem in (found or "")
