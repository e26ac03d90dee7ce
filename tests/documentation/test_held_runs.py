"""The tutorial on held runs: its commands do on real brokers what the page says."""

from __future__ import annotations

import os
import re
import shutil
import signal
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner, Result

from analysis.tables.summary import Summary
from command_line.program import app
from emulation.held.held_runs import CONSOLE, held_runs
from emulation.host.processes import await_end, identify
from emulation.host.registry import live_runs
from record import manifest
from record.errors import BadInputError
from record.files import LOGS, log_files
from scenario.loading import load
from tests.documentation.markdown import ROOT, Command
from tests.emulation.network.tshark import require_tshark, tshark

PAGE = ROOT / "docs" / "held-runs.md"
_QUIET = ("--no-spark", "--no-report", "--set", "workload.publications.rate=1/s")

_REAL = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("docker") is None or shutil.which("mnexec") is None,
    reason="needs root, Docker and Mininet",
)
_VIRTUAL = "In virtual time"
"""The heading of the page's part on simulated runs."""


@pytest.fixture(autouse=True)
def no_run_is_left(tmp_path: Path) -> Iterator[None]:
    """Ends what a test has left up, and no run of anybody else."""
    yield
    for run in held_runs():
        if run.directory.is_relative_to(tmp_path) and (supervisor := identify(run.supervisor)) is not None:
            supervisor.kill(signal.SIGTERM)
            await_end([supervisor], 60)


def brokerlab(monkeypatch: pytest.MonkeyPatch, *words: str) -> Result:
    monkeypatch.setattr(sys, "argv", ["brokerlab", *words])
    return CliRunner().invoke(app, list(words))


def tutorial(*, virtual: bool) -> list[list[str]]:
    """The commands of the page's blocks in their order, without the program's name: those in virtual time, or all
    others."""
    parts = [part for part in PAGE.read_text().split("\n## ") if part.startswith(_VIRTUAL) is virtual]
    blocks = re.findall(r"^```\n(.*?)^```", "\n".join(parts), re.DOTALL | re.MULTILINE)
    return [Command(PAGE.name, line).words[1:] for block in blocks for line in block.splitlines()]


@_REAL
@pytest.mark.container
@pytest.mark.parametrize("runtime", ["process", pytest.param("container", marks=pytest.mark.proof)])
def test_the_tutorial(runtime: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said: dict[str, list[str]] = {}
    for words in tutorial(virtual=False):
        options = {"up": ("--runtime", runtime, *_QUIET), "emulate": ("--no-report",)}.get(words[0], ())
        done = brokerlab(monkeypatch, *words, *options)
        said.setdefault(words[0], []).append(done.output)
        if words[0] == "up":  # others may hold runs on this host
            (held,) = (run.run_id for run in held_runs() if run.directory.is_relative_to(tmp_path))
            monkeypatch.setenv("BROKERLAB_HELD_RUN", held)
        fine = {0, 1, 3} if words[0] in {"down", "emulate"} else {0}  # on a host that is busy, delays are its own
        assert done.exit_code in fine, f"{words}: {done.output}"
    assert "5 of 5 run" in said["status"][0]
    assert "4 of 5 run; down: B2" in said["status"][1]
    assert "kill B2" in said["status"][1]
    assert len(said["log"][0].splitlines()) == 3
    (directory,) = (each for each in (tmp_path / "runs").iterdir() if (each / CONSOLE).exists())
    assert not [run for run in live_runs() if run == directory.name]
    (variant,) = msgspec.json.decode((directory / "summary.json").read_bytes(), type=Summary).variants
    assert not {"lost", "duplicated", "spurious"} & set(variant.delivery.verdicts), said["down"]
    assert "delivery:" in said["down"][0]
    unplanned = [each for each in variant.audit if "issued as planned" in each.name and each.value]
    assert not unplanned
    by_hand = [each for each in load(tmp_path / "again.yaml").workload.operations if each.client.startswith("by-hand")]
    assert [each.verb for each in by_hand] == ["subscribe", "advertise", "publish", "publish"]
    assert [each.verb for each in load(tmp_path / "again.yaml").faults] == ["kill", "restart"]
    (record,) = manifest.read(directory).variants
    assert record.phase(manifest.PhaseName.RUN) is not None
    assert captured(tmp_path / "link.pcapng") > 0
    require_tshark()
    file, profile = tmp_path / "link.pcapng", tmp_path / "wireshark"
    with_data, decoded = (tshark(file, profile, "-Y", shown) for shown in ("http2.type == 0", "protobuf"))
    assert with_data.splitlines()
    assert with_data == decoded, "every frame with data holds messages that the profile decodes"
    assert all("brokerlab.v1.LinkFrame" in line for line in decoded.splitlines())


def test_the_tutorial_in_virtual_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said: dict[str, str] = {}
    for words in tutorial(virtual=True):
        options = {"up": _QUIET, "emulate": ("--no-report",)}.get(words[0], ())
        done = brokerlab(monkeypatch, *words, *options)
        assert done.exit_code == 0, f"{words}: {done.output}"
        said[words[0]] = done.output
        if words[0] == "up":
            (held,) = (run.run_id for run in held_runs() if run.directory.is_relative_to(tmp_path))
            monkeypatch.setenv("BROKERLAB_HELD_RUN", held)
            for refused in (("capture", "B1-B2", "-o", "x.pcapng"), ("exec", "B1", "--", "ls")):
                answer = brokerlab(monkeypatch, *refused)
                assert isinstance(answer.exception, BadInputError)
                assert "simulated" in str(answer.exception)
    assert said["step"] == "4.1 s after clients began to join: time stands still\n"
    assert "10 s pass in a second" in said["status"]
    held_first, again = sorted((tmp_path / "runs").iterdir())
    assert logs_of(again) == logs_of(held_first)
    assert "delivery: correct" in said["down"]


def logs_of(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in log_files(run / LOGS)}


def captured(file: Path) -> int:
    """The number of frames in a pcapng file, whose blocks are well formed."""
    content, at, kinds = file.read_bytes(), 0, []
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        assert struct.unpack_from("<I", content, at + length - 4) == (length,)
        kinds.append(kind)
        at += length
    assert kinds[:2] == [0x0A0D0D0A, 1]
    return kinds.count(6)
