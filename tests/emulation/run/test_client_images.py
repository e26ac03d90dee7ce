"""Client programs in containers: judged as programs of the host are, confined as brokers are, and gone with the run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import docker
import pytest
import yaml

from emulation.host.docker_host import docker_client
from emulation.host.processes import processes_of_run
from emulation.runtimes.containers import OWNER_LABEL, RUN_LABEL
from emulation.upkeep.clean import clean
from record.exit_codes import ExitCode
from tests.emulation.run.broker_image import image_of
from tests.waiting import await_true

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = [ROOT / "tests" / "foreign" / name for name in ("client.py", "broker.py")]

pytestmark = [
    pytest.mark.container,
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
    lines = ["COPY *.py /", 'ENTRYPOINT ["python"]', 'CMD ["/client.py"]']
    return image_of("client", lines, {path.name: path for path in PROGRAMS})


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


def owned(client: docker.DockerClient, run_id: str) -> list[str]:
    """Names of a run's containers of client programs."""
    # Not `client.containers`, which fails when a container that it lists is removed meanwhile.
    listed = client.api.containers(all=True, filters={"label": f"{RUN_LABEL}={run_id}"})
    return [one["Names"][0] for one in listed if one["Labels"][OWNER_LABEL].startswith("client program")]


def program(image: str, defect: str = "", **further: object) -> dict[str, Any]:
    return {"image": image, "environment": {"FOREIGN_CLIENT": defect}, **further}


@pytest.mark.proof
def test_programs_in_containers_are_judged_at_their_site_and_named_when_they_fail(tmp_path: Path, image: str) -> None:
    elsewhere = "10.0.0.1:7000,10.0.0.5:7000,/run/brokerlab"
    programs = {
        "C1": program(image, "escape", environment={"FOREIGN_CLIENT": "escape", "OTHER_ADDRESSES": elsewhere}),
        "C2": program(image, "crash"),
        "C3": program(image, "write_to_root"),
        "C4": program(image, "stay"),
        "C5": program(image, "fork_without_end", processes=20),
        "C6": program(image, "take_memory", memory="64MiB"),
        "C7": program(image),
        "C8": program(image),
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
    assert image in json.loads((directory / "manifest.json").read_bytes())["foreign_images"]


@pytest.mark.proof
def test_the_verdict_names_a_broker_that_loses_what_is_for_a_program_in_a_container(tmp_path: Path, image: str) -> None:
    """The broker is one of the tests, in the same image, which loses each tenth notification."""
    environment = {"FOREIGN_DEFECT": "lose_each_tenth_notification"}
    brokers = {"level": 3, "image": image, "command": ["python", "/broker.py"], "environment": environment}
    timeline = {"join": "3s", "run": "4s", "drain": "1s"}
    further = {"brokers": brokers, "routing": {"protocol": "foreign"}, "timeline": timeline}
    code, printed, directory = run(tmp_path, {"C1": program(image)}, **further)
    assert code == ExitCode.VIOLATED, printed
    assert directory is not None
    assert summary(directory)["delivery"]["verdicts"] == ["lost"]
    assert "C1" in printed


@pytest.mark.proof
@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        (
            {"image": "brokerlab-test:none"},
            "clients.programs.C1.image: there is no image brokerlab-test:none on this host",
        ),
        (
            {"command": ["/none"]},
            "exec /none failed: No such file or directory; its image lacks that program, ",
        ),
    ],
)
def test_a_program_that_does_not_start_is_an_error_that_names_its_field(
    tmp_path: Path, image: str, wanted: dict[str, object], sentence: str
) -> None:
    code, printed, _ = run(tmp_path, {"C1": {"image": image} | wanted})
    assert code == ExitCode.HOST
    (line,) = (line for line in printed.splitlines() if "clients.programs.C1" in line)
    assert sentence in line


@pytest.mark.proof
def test_cleaning_removes_containers_of_programs_when_the_emulator_was_killed(tmp_path: Path, image: str) -> None:
    """A run of somebody else that begins at this moment cleans, too, so that it may be first."""
    client, runs = docker_client(), tmp_path / "runs"
    file = scenario_file(tmp_path, {"C1": program(image), "C2": program(image, "stay")})
    with subprocess.Popen(
        [*EMULATE, str(file), "--out", str(runs)], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT
    ) as emulator:
        try:
            await_true(lambda: any(runs.glob("*")), "the run has its directory", within=100)
            (run_id,) = (directory.name for directory in runs.iterdir())
            await_true(lambda: len(owned(client, run_id)) == 4, "two programs and their sandboxes are there", 120)
        finally:
            emulator.kill()
    cleaned = clean(client)
    assert not cleaned.failures
    assert not client.api.containers(all=True, filters={"label": f"{RUN_LABEL}={run_id}"})
    assert not list(processes_of_run(run_id))
