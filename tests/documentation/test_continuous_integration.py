"""The script of docs/ci.md, run as it stands there: it passes, and it fails when a delivery is violated."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "ci.md").read_text()
RUN = "timeline.run: 24s"


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A tree with the files that the script needs, already set up."""
    for directory in ("campaigns", "scenarios"):
        shutil.copytree(ROOT / directory, tmp_path / directory)
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    program = programs / "brokerlab"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m command_line "$@"\n')
    program.chmod(0o755)
    (tmp_path / "Makefile").write_text("setup:\n")
    return tmp_path


def run_script(clone: Path, **settings: str) -> tuple[int, str, list[str]]:
    """Exit code and output of the script, and the cases that did not pass."""
    (clone / "ci.sh").write_text(block("bash"))
    environment = {"RUNTIME": "simulated", "PATH": "/usr/bin:/bin", "HOME": str(clone)} | settings
    done = subprocess.run(
        ["bash", "ci.sh"], cwd=clone, env=environment, capture_output=True, text=True, timeout=200, check=False
    )
    suites = Xml.parse(clone / "ci-results" / "junit.xml").getroot()
    bad = [case.get("name", "") for suite in suites for case in suite if case.find("failure") is not None]
    assert len(list(suites)) == 2
    return done.returncode, done.stdout + done.stderr, bad


@pytest.mark.proof
def test_the_script_passes_where_all_is_delivered(clone: Path) -> None:
    code, output, bad = run_script(clone)
    assert (code, bad) == (0, []), output
    assert "deliveries are correct" in output


@pytest.mark.proof
def test_the_script_fails_where_a_delivery_is_violated(clone: Path) -> None:
    campaign = clone / "campaigns" / "smoke.yaml"
    text = campaign.read_text()
    assert RUN in text
    starving = "brokers.limits.link_queue: 1\n  topology.link.bandwidth: 50kbit\n  workload.publications.rate: 40/s"
    campaign.write_text(text.replace(RUN, f"{starving}\n  timeline.run: 8s"))
    code, output, bad = run_script(clone)
    assert code == 1, output
    assert bad[0] == "base: delivery"
    assert "a delivery was violated" in output


@pytest.mark.proof
@pytest.mark.parametrize(("on_unjudged", "expected"), [("fail", 3), ("warn", 0)])
def test_what_could_not_be_judged_fails_the_build_unless_it_is_only_told(
    clone: Path, on_unjudged: str, expected: int
) -> None:
    """A limit on memory, which simulated brokers do not have."""
    campaign = clone / "campaigns" / "smoke.yaml"
    text = campaign.read_text().replace(RUN, "timeline.run: 12s")
    campaign.write_text(text.replace("expect: {judged: 95%}", "expect: {memory: 60MB}"))
    code, output, bad = run_script(clone, ON_UNJUDGED=on_unjudged)
    assert (code, bad) == (expected, []), output
    assert "too busy to tell" in output


@pytest.mark.proof
def test_the_gate_is_seen_closed(clone: Path) -> None:
    shown = TEXT.partition("## See it fail once")[2]
    (found,) = re.findall(r"^    (\.venv/bin/brokerlab .*?)\n\n", shown, re.DOTALL | re.MULTILINE)
    command = shlex.split(found.replace("\\\n", " "))
    done = subprocess.run(command, cwd=clone, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    (failure,) = Xml.parse(clone / "junit.xml").getroot().iter("failure")
    assert failure.get("message") == "lost"
    assert "output queue full" in (failure.text or "")


def test_the_workflow_is_yaml() -> None:
    (workflow,) = (text for text in re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL) if "smoke campaign" in text)
    steps = yaml.safe_load(workflow)["jobs"]["smoke"]["steps"]
    assert "bash ci.sh" in [step.get("run") for step in steps]
