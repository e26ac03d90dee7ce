"""Whole runs of brokers that are not brokerlab's: the verdict names a planted defect, and unfit images are refused."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from emulation.host.docker_host import docker_client
from emulation.host.processes import processes_of_run
from emulation.runtimes.containers import RUN_LABEL
from record.exit_codes import ExitCode
from tests.emulation.run.broker_image import image_of

ROOT = Path(__file__).resolve().parents[3]
BROKER = ROOT / "tests" / "foreign" / "broker.py"

pytestmark = [
    pytest.mark.container,
    pytest.mark.skipif(
        os.geteuid() != 0 or not all(map(shutil.which, ("mnexec", "docker"))), reason="needs root, Docker and Mininet"
    ),
]

_SCENARIO = """\
name: foreign
topology: {{kind: line, brokers: 3, link: {{delay: 5ms}}}}
routing: {routing}
workload:
  publications: {{source: stocks, symbols: 3, publishers: 2, rate: 10/s}}
  subscriptions: {{subscribers: 4, selectivity: 30%}}
timeline: {{join: 3s, run: {run}, drain: 5s}}
brokers: {brokers}
faults: {faults}
"""

_FOREIGN = "{protocol: foreign, order: publisher, survives: {kill: in flight}}"


def _run(
    folder: Path, runtime: str, *, brokers: dict[str, Any], run: str = "4s", faults: str = "[]", routing: str = _FOREIGN
) -> tuple[int, str, Path | None]:
    """Exit code, output and run directory."""
    scenario = folder / "foreign.yaml"
    scenario.write_text(_SCENARIO.format(brokers=json.dumps(brokers), run=run, faults=faults, routing=routing))
    command = [sys.executable, "-m", "command_line", "emulate", str(scenario), "--runtime", runtime, "--no-spark"]
    done = subprocess.run(
        [*command, "--out", str(folder / "runs")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr, next((folder / "runs").glob("*"), None)


def _summary(directory: Path | None) -> dict[str, Any]:
    assert directory is not None
    found: dict[str, Any] = json.loads((directory / "summary.json").read_bytes())
    return found


@pytest.fixture(scope="module")
def image() -> str:
    return image_of("foreign", ["COPY broker.py /", 'ENTRYPOINT ["python", "/broker.py"]'], {"broker.py": BROKER})


@pytest.mark.proof
def test_the_verdict_names_notifications_that_a_broker_without_logs_loses(tmp_path: Path) -> None:
    environment = {"PYTHONPATH": str(ROOT), "FOREIGN_DEFECT": "lose_each_tenth_notification"}
    mine = {"level": 1, "command": [sys.executable, str(BROKER)], "environment": environment}
    code, printed, directory = _run(tmp_path, "process", brokers=mine)
    assert code == ExitCode.VIOLATED, printed
    (variant,) = _summary(directory)["variants"]
    delivery = variant["delivery"]
    assert delivery["verdicts"] == ["lost"]
    assert delivery["lost"] == delivery["expected"] - delivery["delivered"] > 0
    assert "brokers of level 1 keep no logs" in printed


@pytest.mark.proof
@pytest.mark.parametrize(("defect", "verdicts"), [("", ["correct"]), ("lose_each_tenth_notification", ["lost"])])
def test_a_broker_among_native_ones_is_judged_as_they_are(tmp_path: Path, defect: str, verdicts: list[str]) -> None:
    environment = {"PYTHONPATH": str(ROOT), "FOREIGN_DEFECT": defect}
    one = {"command": [sys.executable, str(BROKER)], "environment": environment, "wire": "cbf"}
    mixed = {"level": 3, "individually": {"B2": one}}
    faults = "[{at: 4s, kill: B2}, {at: 5s, restart: B2}]"
    _, printed, directory = _run(tmp_path, "process", brokers=mixed, run="8s", faults=faults, routing="{protocol: cbf}")
    (variant,) = _summary(directory)["variants"]
    assert variant["delivery"]["verdicts"] == verdicts, printed
    (fault,) = variant["faults"]
    assert fault["noticed"] == 2


@pytest.mark.proof
def test_an_image_runs_as_unprivileged_as_our_own_through_a_kill(tmp_path: Path, image: str) -> None:
    mine = {"level": 3, "image": image}
    faults = "[{at: 5s, kill: B2}, {at: 7s, restart: B2}]"
    _, printed, directory = _run(tmp_path, "container", brokers=mine, run="8s", faults=faults)
    assert directory is not None, printed
    (variant,) = _summary(directory)["variants"]
    assert variant["delivery"]["verdicts"] == ["correct"], printed
    assert variant["matching"]["operations"] > 0
    (fault,) = variant["faults"]
    assert fault["noticed"] == 2
    manifest = json.loads((directory / "manifest.json").read_bytes())
    assert list(manifest["foreign_images"]) == [image]
    assert manifest["variants"][0]["foreign"] == {"contract": 1, "level": 3}
    fidelity = json.loads((directory / "fidelity.json").read_bytes())["variants"][0]["checks"]
    assert not [check for check in fidelity if check["name"].startswith("planned faults") and check["value"]]


@pytest.mark.proof
@pytest.mark.parametrize(
    ("defect", "verdicts", "slow"),
    [("start_slowly_again", ["correct"], ["B2"]), ("listen_and_take_nobody_back", ["lost", "session broken"], [])],
)
def test_a_slow_start_is_no_broken_session_and_a_listener_without_sessions_is(
    tmp_path: Path, defect: str, verdicts: list[str], slow: list[str]
) -> None:
    environment = {"PYTHONPATH": str(ROOT), "FOREIGN_DEFECT": defect}
    mine = {
        "level": 1,
        "command": [sys.executable, str(BROKER)],
        "environment": environment,
        "limits": {"reconnect_last": "1s"},
    }
    faults = "[{at: 4s, kill: B2}, {at: 5s, restart: B2}]"
    _, printed, directory = _run(tmp_path, "process", brokers=mine, run="14s", faults=faults)
    (variant,) = _summary(directory)["variants"]
    assert variant["delivery"]["verdicts"] == verdicts, printed
    assert [start["broker"] for start in variant.get("slow_starts", [])] == slow


@pytest.mark.parametrize(
    ("brokers", "sentence"),
    [
        ({"level": 1, "image": "no-such/broker:1"}, "there is no image no-such/broker:1 on this host"),
        pytest.param(
            {"level": 1, "image": "IMAGE", "environment": {"FOREIGN_DEFECT": "write_to_root"}},
            "its root is read-only",
            marks=pytest.mark.proof,
        ),
    ],
)
def test_an_unfit_image_ends_in_one_sentence_and_leaves_nothing(
    tmp_path: Path, brokers: dict[str, Any], sentence: str, image: str
) -> None:
    if brokers["image"] == "IMAGE":
        brokers = brokers | {"image": image}
    code, printed, directory = _run(tmp_path, "container", brokers=brokers)
    assert code == ExitCode.HOST, printed
    assert sentence in printed
    if directory is not None:
        left: Any = docker_client().containers.list(all=True, filters={"label": f"{RUN_LABEL}={directory.name}"})
        assert (left, list(processes_of_run(directory.name))) == ([], [])
