"""`brokerlab campaign` as its users meet it, on the simulator."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import command_line as cli
from tests.studies.campaign.made_up import CAMPAIGN, DEFECTIVE, SCENARIO, write_campaign

ROOT = Path(__file__).resolve().parents[3]


def brokerlab(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str | Path
) -> tuple[int, str, str]:
    """Runs the command line in this process: its exit code, what it printed, and what it said on the way."""
    monkeypatch.setattr(sys, "argv", ["brokerlab", "campaign", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    printed = capfd.readouterr()
    code = ended.value.code
    return (code if isinstance(code, int) else 0), printed.out, printed.err


def test_from_a_file_to_its_matrix_and_not_again(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file, out = write_campaign(tmp_path), tmp_path / "out"
    code, printed, output = brokerlab(capfd, monkeypatch, file, "--out", out, "--jobs", "2")
    assert code == 0, output
    assert "8 of 8 cells done; delivery correct in 8; fidelity: 8 VALID" in printed
    assert "[8/8] " in output
    summary = json.loads((out / "summary.json").read_bytes())
    assert [entry["cells"] for entry in summary["matrix"]] == [2, 2, 2, 2]
    assert {entry["faults"] for entry in summary["matrix"] if entry["schedule"] == "kill"} == {2}
    assert (out / "report" / "index.html").exists()
    assert not list(out.glob("cells/*/runs")), "run directories of cells that went well stay away"
    times = {path: path.stat().st_mtime_ns for path in out.glob("cells/*/*")}
    code, _, output = brokerlab(capfd, monkeypatch, file, "--out", out)
    assert code == 0
    assert "8 cells, 8 of them done before" in output
    assert {path: path.stat().st_mtime_ns for path in out.glob("cells/*/*")} == times


def test_chosen_cells_first_and_the_rest_later(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A campaign done in two parts says the same as one done in one."""
    file = write_campaign(tmp_path, CAMPAIGN.replace("1..2", "[1]").replace("[fixed, dynamic]", "[fixed]"))
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert brokerlab(capfd, monkeypatch, file, "--out", whole)[0] == 0
    code, printed, _ = brokerlab(capfd, monkeypatch, file, "--out", parts, "--cell", "fixed+kill-1")
    assert code == 0
    assert "1 of 2 cells done" in printed
    assert brokerlab(capfd, monkeypatch, file, "--out", parts)[0] == 0
    assert (parts / "summary.json").read_bytes() == (whole / "summary.json").read_bytes()


def test_a_missed_limit_of_a_cell_fails_the_campaign_and_says_by_how_much(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = CAMPAIGN.replace("1..2", "[1]").replace("[fixed, dynamic]", "[fixed]")
    file, xml = write_campaign(tmp_path, f"{text}expect: {{messages: 10, recovery: 1h}}\n"), tmp_path / "out.xml"
    code, printed, output = brokerlab(capfd, monkeypatch, file, "--out", tmp_path / "out", "--junit", xml)
    assert code == 1, output
    assert "limits: 2 met, 2 missed" in printed
    assert printed.count("  messages between brokers ") == 2
    assert printed.count("%); at most 10 expected") == 2
    assert "1 of 2 limits missed" in output
    assert 'name="base: limit on messages"' in xml.read_text()
    page = (tmp_path / "out" / "report" / "index.html").read_text()
    assert "at most 10 expected" in page
    assert '<span class="badge bad">limits: missed</span>' in page


def test_a_broker_that_fails_by_its_own_code_comes_before_all_else(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "defective.py").write_text(DEFECTIVE)
    file = write_campaign(tmp_path, CAMPAIGN.replace("1..2", "[1]").replace("[fixed, dynamic]", "[fixed]"))
    scenario = SCENARIO.replace("{protocol: tid, publications: fixed}", "{protocol: ./defective.py}")
    (tmp_path / "little.yaml").write_text(scenario.replace("vary:\n  routing.publications: [fixed, dynamic]\n", ""))
    file.write_text(file.read_text().replace("factors:\n  routing.publications: [fixed]\n", ""))
    xml = tmp_path / "out.xml"
    code, printed, output = brokerlab(capfd, monkeypatch, file, "--out", tmp_path / "out", "--junit", xml)
    assert printed.count(": broker defect; VALID") == 2, output
    assert code == 5
    (sentence,) = (line for line in printed.splitlines() if "TypeError" in line)
    assert sentence.startswith("broker defect: B")
    assert sentence.endswith("defective.py:4, in __init__); in none-1 and 1 more")
    assert xml.read_text().count("defective.py:4, in __init__)") == 2
    assert "TypeError" in (tmp_path / "out" / "report" / "index.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cell", "fixed+kil-1"], "has no cell 'fixed+kil-1'; did you mean 'fixed+kill-1'?"),
        (["--runtime", "cloud"], "--runtime cloud: choose auto, container, process, simulated"),
        (["--keep-runs", "some"], "--keep-runs some: choose none, failed, all"),
        (["--master", "local[2]", "--runtime", "process"], "Spark runs simulated cells"),
        (["--hosts", "/no/such/file"], "/no/such/file: there is no such inventory"),
    ],
)
def test_mistakes(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    arguments: list[str],
    message: str,
) -> None:
    file = write_campaign(tmp_path)
    code, printed, output = brokerlab(capfd, monkeypatch, file, *arguments, "--out", tmp_path / "out")
    assert (code, printed) == (2, "")
    assert message in output
    assert "Traceback" not in output


def test_the_list_of_cells(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code, printed, _ = brokerlab(capfd, monkeypatch, write_campaign(tmp_path), "--list")
    assert code == 0
    assert printed.splitlines()[:3] == ["fixed+none-1", "fixed+none-2", "fixed+kill-1"]


@pytest.mark.proof
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_what_is_done_survives_the_end_of_the_command(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, end: signal.Signals
) -> None:
    """SIGTERM, as Ctrl-C, prints the command that resumes; SIGKILL prints nothing. No finished cell is run again."""
    file, out = write_campaign(tmp_path, CAMPAIGN.replace("1..2", "[1]")), tmp_path / "out"
    command = [sys.executable, "-m", "command_line", "campaign", str(file), "--out", str(out), "--jobs", "1"]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )  # fmt: skip
    try:
        while not list(out.glob("cells/*/result.json")) and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(end)
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    done = {path: path.stat().st_mtime_ns for path in out.glob("cells/*/result.json")}
    assert 0 < len(done) < 4
    if end is signal.SIGTERM:
        assert process.returncode == 130
        assert "the same command continues with the rest" in output
        assert not list(out.glob("cells/*/work-*"))
    code, _, output = brokerlab(capfd, monkeypatch, file, "--out", out, "--jobs", str(os.cpu_count()))
    assert code == 0
    assert f"4 cells, {len(done)} of them done before" in output
    assert len(list(out.glob("cells/*/result.json"))) == 4
    assert {path: path.stat().st_mtime_ns for path in done} == done
    assert not list(out.glob("cells/*/work-*"))
