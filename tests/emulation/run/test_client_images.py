"""Client programs in containers: judged as programs of the host are, confined as brokers are, and gone with the run."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import docker
import pytest
import yaml

from emulation.host.docker_host import docker_client, ensure_image
from emulation.host.processes import processes_of_run
from emulation.runtimes.containers import OWNER_LABEL, RUN_LABEL
from emulation.upkeep.clean import clean
from record.exit_codes import ExitCode
from tests.waiting import await_true

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = [ROOT / "tests" / "foreign" / name for name in ("client.py", "broker.py")]
IMAGE = "brokerlab-test:client"

pytestmark = [
    pytest.mark.container,
    pytest.mark.timeout(240),
    pytest.mark.skipif(
        os.geteuid() != 0 or not all(map(shutil.which, ("mnexec", "docker"))), reason="needs root, Docker and Mininet"
    ),
]

SCENARIO = """
name: images
topology: {kind: line, brokers: 2, link: {delay: 2ms}}
routing: {protocol: tid}
workload:
  publications: {source: stocks, publishers: 2, rate: 10/s, placement: [B1]}
  subscriptions: {subscribers: 2, selectivity: 50%, placement: [B1]}
clients:
  sites: {far: {broker: B2, delay: 3ms}}
timeline: {join: 3s, run: 12s, drain: 1s}
seed: 4
"""


@pytest.fixture(scope="module")
def image() -> str:
    base = ensure_image(docker_client()).name
    files = {
        "Dockerfile": f'FROM {base}\nCOPY *.py /\nENTRYPOINT ["python"]\nCMD ["/client.py"]\n'.encode(),
        **{path.name: path.read_bytes() for path in PROGRAMS},
    }
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    context.seek(0)
    docker_client().images.build(fileobj=context, custom_context=True, tag=IMAGE, rm=True)
    return IMAGE


EMULATE = [sys.executable, "-m", "command_line", "emulate", "--runtime", "container", "--no-spark"]


def scenario_file(folder: Path, programs: Mapping[str, object], **further: object) -> Path:
    scenario = yaml.safe_load(SCENARIO)
    scenario["clients"]["programs"] = dict(programs)
    scenario["clients"]["sites"]["far"]["clients"] = list(programs)
    file = folder / "images.yaml"
    file.write_text(yaml.safe_dump(scenario | further))
    return file


def run(folder: Path, programs: Mapping[str, object], **further: object) -> tuple[int, str, Path | None]:
    """Exit code, output and run directory, if one was made."""
    file = scenario_file(folder, programs, **further)
    done = subprocess.run(
        [*EMULATE, str(file), "--out", str(folder / "runs")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    directory = next((folder / "runs").glob("*"), None)
    if directory is not None:
        assert not list(processes_of_run(directory.name))
        label = f"{RUN_LABEL}={directory.name}"
        assert not docker_client().containers.list(all=True, filters={"label": label})
    return done.returncode, done.stdout + done.stderr, directory


def summary(directory: Path) -> dict[str, Any]:
    (variant,) = json.loads((directory / "summary.json").read_bytes())["variants"]
    found: dict[str, Any] = variant
    return found


def logged(directory: Path, event: str, client: str) -> int:
    lines = map(json.loads, (directory / "logs" / "programs.jsonl").read_bytes().splitlines())
    return sum((line["event"], line.get("client")) == (event, client) for line in lines)


def owned(client: docker.DockerClient) -> list[str]:
    """Names of containers of client programs."""
    found = client.containers.list(all=True, filters={"label": OWNER_LABEL})
    return [one.name or "" for one in found if one.labels[OWNER_LABEL].startswith("client program")]


def program(defect: str = "", **further: object) -> dict[str, Any]:
    return {"image": IMAGE, "environment": {"FOREIGN_CLIENT": defect}, **further}


@pytest.mark.proof
@pytest.mark.usefixtures("image")
def test_programs_in_containers_are_judged_at_their_site_and_named_when_they_fail(tmp_path: Path) -> None:
    elsewhere = "10.0.0.1:7000,10.0.0.5:7000,/run/brokerlab"
    programs = {
        "C1": program("escape", environment={"FOREIGN_CLIENT": "escape", "OTHER_ADDRESSES": elsewhere}),
        "C2": program("crash"),
        "C3": program("write_to_root"),
        "C4": program("stay"),
        "C5": program("fork_without_end", processes=20),
        "C6": program("take_memory", memory="64MiB"),
        "C7": program(),
        "C8": program(),
    }
    faults = [{"at": "4s", "crash": "C8", "for": "2s"}, {"at": "9s", "pause": "C7", "for": "1s"}]
    code, printed, directory = run(tmp_path, programs, faults=faults)
    assert directory is not None, printed
    variant = summary(directory)
    assert variant["delivery"]["verdicts"] == ["correct"], printed
    assert code == ExitCode.INVALID
    for sentence in (
        "client program C2 ended with exit code 7: I have had enough",
        "client program C3 ended with exit code 1: OSError: [Errno 30] Read-only file system: '/kept'; its root is "
        "read-only: write to /tmp, with clients.programs.C3.scratch",
        "client program C4 did not end within 5 s of SIGTERM, and was killed",
        "client program C5 has as many processes as it may have, 20, and was refused more "
        "(clients.programs.C5.processes)",
        "client program C6 got signal 9 without output; it needed more memory than it may have, 64MiB "
        "(clients.programs.C6.memory)",
    ):
        assert f"base: {sentence}" in printed
    assert logged(directory, "link_up", "C8") == 2
    assert logged(directory, "subscribe", "C8") == 2
    assert logged(directory, "notified", "C8") < logged(directory, "notified", "C7")
    escaped = (directory / "variants" / "base" / "programs" / "1-C1.log").read_text().splitlines()
    first, second, _ = elsewhere.split(",")
    assert escaped == [
        f"{first}: Network is unreachable",
        f"{second}: Network is unreachable",
        "/run/brokerlab: No such file or directory",
    ]
    assert IMAGE in json.loads((directory / "manifest.json").read_bytes())["foreign_images"]


@pytest.mark.proof
@pytest.mark.usefixtures("image")
def test_the_verdict_names_a_broker_that_loses_what_is_for_a_program_in_a_container(tmp_path: Path) -> None:
    """The broker is one of the tests, in the same image, which loses each tenth notification."""
    environment = {"FOREIGN_DEFECT": "lose_each_tenth_notification"}
    brokers = {"level": 3, "image": IMAGE, "command": ["python", "/broker.py"], "environment": environment}
    timeline = {"join": "3s", "run": "4s", "drain": "1s"}
    further = {"brokers": brokers, "routing": {"protocol": "foreign"}, "timeline": timeline}
    code, printed, directory = run(tmp_path, {"C1": program()}, **further)
    assert code == ExitCode.VIOLATED, printed
    assert directory is not None
    assert summary(directory)["delivery"]["verdicts"] == ["lost"]
    assert "C1" in printed


@pytest.mark.proof
@pytest.mark.usefixtures("image")
@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        (
            {"image": "brokerlab-test:none"},
            "clients.programs.C1.image: there is no image brokerlab-test:none on this host",
        ),
        (
            {"image": IMAGE, "command": ["/none"]},
            "exec /none failed: No such file or directory, before it had opened a session",
        ),
    ],
)
def test_a_program_that_does_not_start_is_an_error_that_names_its_field(
    tmp_path: Path, wanted: dict[str, object], sentence: str
) -> None:
    code, printed, _ = run(tmp_path, {"C1": wanted})
    assert code == ExitCode.HOST
    (line,) = (line for line in printed.splitlines() if "clients.programs.C1" in line)
    assert sentence in line


@pytest.mark.proof
@pytest.mark.usefixtures("image")
def test_cleaning_removes_containers_of_programs_when_the_emulator_was_killed(tmp_path: Path) -> None:
    client, file = docker_client(), scenario_file(tmp_path, {"C1": program(), "C2": program("stay")})
    with subprocess.Popen(
        [*EMULATE, str(file), "--out", str(tmp_path / "runs")],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
    ) as emulator:
        try:
            await_true(lambda: len(owned(client)) == 4, "two programs and their sandboxes are there", within=150)
        finally:
            emulator.kill()
    (run_id,) = (directory.name for directory in (tmp_path / "runs").iterdir())
    cleaned = clean(client)
    assert not cleaned.failures
    assert {f"brokerlab-{run_id}-client.{number}" for number in (1, 2)} <= set(cleaned.containers)
    assert not client.containers.list(all=True, filters={"label": f"{RUN_LABEL}={run_id}"})
    assert not list(processes_of_run(run_id))
