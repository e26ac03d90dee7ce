"""The process that runs a cell on a host, and its end when it is asked or its campaign has ended."""

from __future__ import annotations

import base64
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from analysis.claims import load_claims
from emulation.host.processes import identify
from record.errors import BadInputError
from record.exit_codes import ExitCode
from studies.campaign import CampaignCell, CampaignResult, cells, load_campaign
from studies.cells.attempt import Attempt, CellRequest, Keep
from studies.cells.store import STOP
from studies.reproduction import chosen_claims, plan_experiments
from studies.reproduction.cell import ReproductionCell
from tests.studies.campaign.made_up import write_campaign

ROOT = Path(__file__).resolve().parents[2]
_WITHIN = 60


def on_host(request: CellRequest, directory: Path, *arguments: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-m", "studies.on_host", str(directory), "campaign", *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT,
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(request.encode())
    process.stdin.close()
    process.stdin = None
    return process


def test_a_simulated_cell_from_request_to_attempt(tmp_path: Path) -> None:
    file = write_campaign(tmp_path)
    chosen = cells(load_campaign(file), file)[3]
    request = CellRequest(study="c", command="1", cell=chosen, runtime="simulated", keep=Keep.ALL)
    output, errors = on_host(request, tmp_path / "work").communicate(timeout=120)
    attempt = msgspec.json.decode(output, type=Attempt[CampaignResult])
    assert attempt.result.fingerprint == chosen.fingerprint
    assert attempt.result.correct, errors
    assert attempt.run is not None
    assert (tmp_path / "work" / "runs" / attempt.run / "summary.json").exists()


@pytest.mark.parametrize(
    ("reason", "code"),
    [("asked", ExitCode.INTERRUPTED), pytest.param("owner has ended", -signal.SIGKILL, marks=pytest.mark.proof)],
)
def test_it_ends_when_it_is_asked_or_its_campaign_has_ended(tmp_path: Path, reason: str, code: int) -> None:
    """It ends in order when it is asked, and at once when its campaign has ended, long before the hundred simulated
    hours."""
    file = write_campaign(tmp_path)
    scenario = tmp_path / "little.yaml"
    scenario.write_text(scenario.read_text().replace("run: 12s", "run: 100h"))
    chosen = cells(load_campaign(file), file)[0]
    request = CellRequest(study="c", command="1", cell=chosen, runtime="simulated", keep=Keep.ALL)
    work = tmp_path / "work"
    work.mkdir()
    owner = subprocess.Popen(["sleep", "600"])
    identity = identify(owner.pid)
    assert identity is not None
    process = on_host(request, work, str(identity.pid), str(identity.started))
    try:
        deadline = time.monotonic() + _WITHIN
        while not list(work.glob("runs/*/logs")) and time.monotonic() < deadline:
            time.sleep(0.05)
        if reason == "asked":
            (work / STOP).touch()
        else:
            owner.kill()
            owner.wait()
        process.communicate(timeout=_WITHIN)
        assert process.returncode == code
    finally:
        owner.kill()
        owner.wait()
        process.kill()
        process.wait()


def test_a_request_of_another_version_is_refused_in_a_sentence() -> None:
    request = base64.b64encode(b'{"cell": {"key": "a", "scenario": ""}, "runtime": "process", "keep": "none"}')
    with pytest.raises(BadInputError, match=r"not one of this version of brokerlab \(Object missing required field"):
        CellRequest.decode(request, CampaignCell)


@pytest.mark.proof
def test_a_reproductions_request_is_the_same_after_its_way() -> None:
    (experiment, *_) = plan_experiments(chosen_claims(load_claims(), ["tid"]), range(1, 2))
    request = CellRequest(cell=ReproductionCell.of(experiment, 1, "process"), runtime="process", keep=Keep.ALL)
    assert CellRequest.decode(request.encode(), ReproductionCell) == request


@pytest.mark.host
def test_a_users_mistake_is_a_line_and_an_exit_code(tmp_path: Path) -> None:
    file = write_campaign(tmp_path)
    chosen = cells(load_campaign(file), file)[0]
    request = CellRequest(study="c", command="1", cell=chosen, runtime="cloud", keep=Keep.NONE)
    process = on_host(request, tmp_path / "work")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    assert errors.decode().startswith("there is no runtime 'cloud'")
    assert b"Traceback" not in errors
