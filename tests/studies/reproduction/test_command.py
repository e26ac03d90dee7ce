"""`brokerlab reproduce` from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import command_line as cli
from analysis.claims import load_claims
from record.exit_codes import ExitCode

ROOT = Path(__file__).resolve().parents[3]


def brokerlab(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str
) -> tuple[int, str, str]:
    """Runs the command line in this process: its exit code, its output, and its progress messages."""
    monkeypatch.setattr(sys, "argv", ["brokerlab", "reproduce", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    printed = capfd.readouterr()
    code = ended.value.code
    return (code if isinstance(code, int) else 0), printed.out, printed.err


def test_the_list_of_claims(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    code, printed, _ = brokerlab(capfd, monkeypatch, "--list")
    assert code == 0
    for claim in ("tid-5a-queue", "tid-overhead", "oct-path", "med-t2", "gry-safe", "semi-11"):
        assert claim in printed
    known = load_claims()
    assert f"{len(known.measurable)} of {len(known.claims)} claims with a scenario" in printed
    assert len(known.measurable) >= 13


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tid-5x"], "brokerlab: there is no claim 'tid-5x'"),
        (["gry-dag"], "brokerlab: gry-dag: brokerlab has no scenario for it yet"),
        (["tid-5a", "--runtime", "cloud"], "brokerlab: --runtime cloud: choose container, process, simulated"),
        (["--quick", "--seeds", "2"], "brokerlab: --seeds: --quick runs one seed of each scenario"),
        (["--seeds", "many"], "brokerlab: --seeds many: write their number, such as 12, or 20..39 for these ones"),
        (["--seeds", "39..20"], "brokerlab: --seeds 39..20: choose 1 to 1000 seeds, from 1 on"),
        (["--seeds", "0..3"], "brokerlab: --seeds 0..3: choose 1 to 1000 seeds, from 1 on"),
        (["tid", "--master", "here"], "brokerlab: --master here: write spark://HOST:PORT, or local[N]"),
        (
            ["tid", "--master", "local[2]", "--jobs", "2"],
            "brokerlab: --jobs 2: is for simulated cells on",
        ),
        (
            ["tid", "--master", "local[2]", "--runtime", "process"],
            "brokerlab: --runtime process: Spark runs simulated cells; choose --runtime simulated",
        ),
    ],
)
def test_mistakes(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    arguments: list[str],
    message: str,
) -> None:
    code, printed, progress = brokerlab(capfd, monkeypatch, *arguments, "--out", str(tmp_path))
    assert (code, printed) == (2, "")
    assert message in progress


def test_a_claim_from_the_command_to_its_verdict(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    arguments = ["tid-adv-flood", "--seeds", "1", "--out", str(tmp_path)]
    code, printed, progress = brokerlab(capfd, monkeypatch, *arguments, "--json")
    assert code == 0
    (claim,) = json.loads(printed)
    assert (claim["claim"], claim["parts"][0]["published"]) == ("tid-adv-flood", 0.8)
    # Every link carries the advertisement twice, except the links over which brokers received it first.
    assert claim["parts"][0]["measured"] == pytest.approx(1 - 499 / (2 * 2500 - 499))
    assert "[1/1] tid-adv-flood-1 on " in progress
    assert f"page: {tmp_path / 'report' / 'index.html'}" in progress
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert "Of 1 tested claims that were measured, 0 are reproduced, 1 are within a factor of two" in page
    assert "tid-5a" not in page[page.index("<body>") :], "the page shows the claims that were asked for"
    code, printed, progress = brokerlab(capfd, monkeypatch, *arguments)
    assert "1 claim from 1 run, 1 of them done before" in progress
    assert "0.889 [one seed]" in printed
    assert "within a factor of two" in printed


def test_a_claim_about_real_brokers_is_not_measured_on_the_simulator(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code, printed, progress = brokerlab(capfd, monkeypatch, "tid-overhead", "--out", str(tmp_path))
    assert code == 0
    assert "0 claims from 0 runs" in progress
    assert "tid-overhead is not measured: Only real brokers show it: --runtime container or" in progress
    assert "not measured" in printed
    assert "Only real brokers show it: --runtime container or --runtime process measures it." in printed


def test_the_plan_is_shown_and_nothing_is_run(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code, printed, _ = brokerlab(capfd, monkeypatch, "tid-p", "tid-adv-flood", "--plan", "--out", str(tmp_path / "out"))
    assert code == 0
    assert "tid/tid-adv-flood.yaml" in printed
    assert "3 claims from 18 runs; 3 scenarios; about " in printed
    assert not (tmp_path / "out").exists()


def test_a_quick_plan_has_one_seed_of_each_scenario(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code, printed, _ = brokerlab(capfd, monkeypatch, "tid-p", "--quick", "--plan", "--out", str(tmp_path))
    assert code == 0
    assert "2 claims from 2 runs; 2 scenarios" in printed


@pytest.mark.proof
def test_an_interrupted_reproduction_keeps_whole_results_and_names_the_way_on(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    arguments = ["tid-adv-flood", "--seeds", "3", "--jobs", "1", "--set", "topology.brokers=30", "--out", str(tmp_path)]
    command = [sys.executable, "-m", "command_line", "reproduce", *arguments]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    try:
        while not list(tmp_path.glob("cells/*/result.json")) and process.poll() is None:
            time.sleep(0.02)
        process.terminate()
        _, progress = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    done = len(list(tmp_path.glob("cells/*/result.json")))
    assert 0 < done < 3
    assert process.returncode == ExitCode.INTERRUPTED
    assert "measurements are kept: the same command continues with the rest" in progress
    assert not list(tmp_path.glob("cells/*/work-*"))
    assert "Of 1 tested claims that were measured" in (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    code, _, progress = brokerlab(capfd, monkeypatch, *arguments)
    assert (code, f"1 claim from 3 runs, {done} of them done before" in progress) == (0, True)
    code, _, progress = brokerlab(capfd, monkeypatch, *arguments, "--seeds", "1", "--fresh")
    assert (code, "[1/1] tid-adv-flood-1 on " in progress) == (0, True)


def test_results_of_earlier_versions_are_refused(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "cells").mkdir()
    (tmp_path / "cells" / "tid-adv-flood-1.json").write_text("{}")
    code, printed, progress = brokerlab(capfd, monkeypatch, "tid-adv-flood", "--out", str(tmp_path))
    assert (code, printed) == (2, "")
    assert "tid-adv-flood-1.json: measured by an earlier version of brokerlab" in progress
