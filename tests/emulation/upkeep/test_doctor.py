"""The findings of `brokerlab doctor` and their remedies."""

from __future__ import annotations

import io
import subprocess
import tempfile
from pathlib import Path

import pytest
from rich.console import Console

from emulation.runtimes import process
from emulation.upkeep import doctor
from emulation.upkeep.doctor import FindingStatus, HostExamination, HostFinding, KernelFeature
from record.manifest import RungChoice

CHOICE = RungChoice("container", "it works here")


@pytest.fixture
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host without any program, and without Docker."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    return tmp_path


def reported(examination: HostExamination, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    doctor.report(examination, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_this_host_is_examined_and_each_shortcoming_comes_with_a_remedy() -> None:
    findings = doctor.examine().findings
    assert len({finding.subject for finding in findings}) == len(findings)
    for finding in findings:
        assert finding.found
        if finding.status is FindingStatus.UNKNOWN:
            assert "without" in finding.found, finding
        elif finding.status is not FindingStatus.GOOD:
            assert finding.cost, finding
            assert finding.remedy, finding


@pytest.mark.parametrize(("mode", "status"), [(0o700, FindingStatus.LIMITED), (0o755, FindingStatus.GOOD)])
def test_a_checkout_that_brokers_cannot_reach_lets_them_read_everything(
    monkeypatch: pytest.MonkeyPatch, mode: int, status: FindingStatus
) -> None:
    with tempfile.TemporaryDirectory() as home:
        Path(home).chmod(mode)
        monkeypatch.setattr(process, "_SOURCE_ROOT", Path(home) / "checkout")
        finding = doctor._confinement()
    assert finding.status is status
    assert (home in finding.found) is (mode == 0o700)


@pytest.mark.usefixtures("nothing")
def test_a_host_without_anything_has_the_lowest_rung() -> None:
    examination = doctor.examine()
    statuses = {finding.subject: finding.status for finding in examination.findings}
    assert statuses["privileges"] is statuses["Mininet"] is FindingStatus.MISSING
    assert statuses["Java"] is statuses["Docker"] is FindingStatus.LIMITED
    assert statuses["broker image"] is statuses["kernel: netem"] is FindingStatus.UNKNOWN
    assert all(statuses[tool.name] is FindingStatus.LIMITED for tool in doctor.TOOLS)
    assert (examination.runtime.name, examination.links.name) == ("simulated", "modelled")
    assert "privileges, Mininet" in examination.runtime.reason


@pytest.mark.parametrize(
    ("version", "status"),
    [("1.8.0_392", "LIMITED"), ("11.0.2", "LIMITED"), ("17.0.15", "GOOD"), ("21", "GOOD")],
)
def test_java_counts_from_17(nothing: Path, version: str, status: str) -> None:
    java = nothing / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    java.chmod(0o755)
    assert doctor._java().status is FindingStatus[status]


def test_java_home_comes_before_the_path(nothing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(nothing / "jdk"))
    finding = doctor._java()
    assert finding.status is FindingStatus.LIMITED
    assert str(nothing / "jdk/bin/java") in finding.found


def test_a_kernel_feature_is_tried_and_its_refusal_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[list[str]] = []

    def refuse(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        tried.append(command)
        return subprocess.CompletedProcess(command, 2, "", "Error: Specified qdisc kind is unknown.\n more\n")

    monkeypatch.setattr(subprocess, "run", refuse)
    feature = KernelFeature("kernel: x", ("tc", "qdisc"), FindingStatus.LIMITED, "no x", "sch_x")
    finding = doctor._kernel_feature(feature, HostFinding("privileges", FindingStatus.GOOD, "root"))
    assert tried == [["unshare", "-n", "tc", "qdisc"]]
    assert finding.status is FindingStatus.LIMITED
    assert finding.found == "Specified qdisc kind is unknown."
    assert "modprobe sch_x" in finding.remedy


def test_who_may_not_try_the_kernel_is_not_told_to_load_modules() -> None:
    privileges = HostFinding("privileges", FindingStatus.MISSING, "user 65534", "simulated runs only", "run it as root")
    findings = (privileges, *(doctor._kernel_feature(feature, privileges) for feature in doctor.KERNEL_FEATURES))
    text = reported(HostExamination(findings, CHOICE, CHOICE))
    assert text.count("cannot be tried without privileges") == len(doctor.KERNEL_FEATURES)
    assert "modprobe" not in text
    assert "to get it: run it as root" in text


def test_a_runtime_below_the_highest_says_why() -> None:
    docker = HostFinding(
        "Docker", FindingStatus.LIMITED, "Docker does not answer", "no container runtime", "make setup"
    )
    choice = doctor._runtime((docker,), RungChoice("netem", "works"))
    assert choice.name == "process"
    assert "Docker does not answer" in choice.reason
    text = reported(HostExamination((docker,), choice, RungChoice("netem", "works")))
    assert "auto takes runtime process: the container runtime does not work here" in text


def test_the_report_names_cost_and_remedy_within_the_width() -> None:
    finding = HostFinding(
        "Java", FindingStatus.MISSING, "9, older than 17", "no analysis", "apt-get install something " * 5
    )
    text = reported(HostExamination((finding,), CHOICE, CHOICE), width=60)
    assert "Java: no analysis" in text
    assert "to get it: apt-get install something" in text
    assert max(len(line) for line in text.splitlines()) <= 60
