"""Brokerlab's own baseline in `.ci/baselines`: the smoke in simulated figures, which no change may make worse unseen.

A change that is meant to cost more saves it anew: `brokerlab emulate scenarios/smoke.yaml --runtime simulated` with the
seeds 1 to 3, then `brokerlab baseline save .ci/baselines/smoke.yaml RUN RUN RUN`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

import command_line as cli
from tests.documentation.markdown import ROOT

OWN = ".ci/baselines/smoke.yaml"


def test_the_smoke_is_not_worse_than_its_baseline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    command = ["emulate", "scenarios/smoke.yaml", "--runtime", "simulated", "--no-spark", "--no-report"]
    files = ["--out", str(tmp_path / "runs"), "--junit", str(tmp_path / "out.xml")]
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", ["brokerlab", *command, "--against", OWN, *files])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    cases = [case for suite in Xml.parse(tmp_path / "out.xml").getroot() for case in suite]
    against = [case for case in cases if case.get("classname") == "smoke: against the baseline"]
    assert {case.get("name") for case in against} == {
        f"base: {figure}" for figure in ("mean", "p50", "p95", "p99", "messages", "excused")
    }
    told = [case.findtext("system-out") or case.findtext("failure") or "" for case in against]
    assert ended.value.code in (None, 0), "\n".join(told)


def test_it_is_shown_on_the_page() -> None:
    assert OWN in (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
