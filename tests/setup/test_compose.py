"""docker-compose.yml: what it says by the schema that both versions of docker-compose share, and that it works."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest
import yaml

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from emulation.host import images
from emulation.host.docker_host import docker_client
from emulation.host.emulator_image import REPOSITORY
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from scenario.loading import load
from tests.listening import LOOPBACK, listening_addresses
from tests.waiting import await_true

ROOT = images.ROOT
PROFILES = {
    "smoke": {"b1", "b2", "b3", "smoke"},
    "emulator": {"emulator"},
    "spark": {"spark-master", "spark-worker-1", "spark-worker-2", "spark-history"},
}
SHARED_KEYS = {
    "cap_add", "cap_drop", "command", "depends_on", "devices", "entrypoint", "environment", "image", "init",
    "mem_limit", "memswap_limit", "network_mode", "networks", "pid", "pids_limit", "profiles", "pull_policy",
    "read_only", "security_opt", "tmpfs", "user", "volumes", "working_dir",
}  # fmt: skip
"""The keys of a service that docker-compose 1.29 and the Compose Specification of `docker compose` share."""

needs_compose = pytest.mark.skipif(shutil.which("docker-compose") is None, reason="needs docker-compose")


def compose(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["docker-compose", *arguments],
        cwd=ROOT,
        env=os.environ | {"PWD": str(ROOT)} | environment,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    return found


def test_every_service_has_the_profile_it_is_told_to_have(services: dict[str, Any]) -> None:
    found = {profile: {name for name in services if services[name]["profiles"] == [profile]} for profile in PROFILES}
    assert found == PROFILES
    assert set(services) == set().union(*PROFILES.values())


def test_nothing_is_said_that_one_of_the_versions_does_not_know(services: dict[str, Any]) -> None:
    document = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    assert {key for key in document if not key.startswith("x-")} == {"services", "networks"}
    assert {key for service in services.values() for key in service} <= SHARED_KEYS


@needs_compose
def test_the_file_is_valid_by_the_compose_specification() -> None:
    """docker-compose checks it against its own copy of the specification's schema."""
    checked = compose("--profile", "smoke", "--profile", "emulator", "--profile", "spark", "config", "--quiet")
    assert (checked.returncode, checked.stderr) == (0, "")


@needs_compose
def test_elsewhere_than_in_its_directory_it_says_so() -> None:
    assert "run docker-compose in the directory of its file" in compose("config", "--quiet", PWD="").stderr


def test_all_but_the_emulator_are_without_privileges(services: dict[str, Any]) -> None:
    for name in PROFILES["smoke"] | PROFILES["spark"]:
        service = services[name]
        assert service["cap_drop"] == ["ALL"], name
        assert service["read_only"] is True, name
        assert service["security_opt"] == ["no-new-privileges"], name
        assert {"pids_limit", "user"} <= service.keys(), name
        assert service["memswap_limit"] == service["mem_limit"], name
        assert not {"cap_add", "devices", "pid"} & service.keys(), name


def test_spark_is_bound_to_loopback(services: dict[str, Any]) -> None:
    for name in PROFILES["spark"]:
        assert services[name]["environment"]["SPARK_LOCAL_IP"] == "127.0.0.1", name
        assert "ports" not in services[name], name


@pytest.fixture
def emulator_image() -> Iterator[docker.DockerClient]:
    """The daemon, if it has the image: building takes minutes and 1.5 GB, so that `make test` does not, while `.ci/run`
    does where a test of it is among those that run."""
    client = docker_client()
    if images.find(client, f"{REPOSITORY}:latest") is None:
        reason = "needs the emulator image: make emulator-image"
        if os.environ.get("CI"):
            pytest.fail(f"cannot be skipped in CI: {reason}", pytrace=False)
        pytest.skip(reason)
    yield client
    client.close()


@pytest.fixture
def runs() -> Iterator[Path]:
    """A directory that the cluster sees: below `runs`."""
    (ROOT / "runs").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="test-", dir=ROOT / "runs") as directory:
        yield Path(directory)


@pytest.mark.proof
@needs_compose
@pytest.mark.container
def test_the_cluster_comes_to_the_same_summary_and_listens_on_loopback_only(
    emulator_image: docker.DockerClient, runs: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    run = simulate(make_plan(load(ROOT / "scenarios/smoke.yaml", {"timeline.run": "5s"})), runs).directory
    analyze(run, PlainEngine())
    expected = (run / "summary.json").read_bytes()
    (run / "summary.json").unlink()
    project, environment = f"brokerlab-test-{os.getpid()}", {"BROKERLAB_SPARK_PORT": str(port)}
    try:
        started = compose("-p", project, "--profile", "spark", "up", "-d", **environment)
        assert started.returncode == 0, started.stderr
        await_true(lambda: _answers(port), "the master answers", 200)
        analysed = subprocess.run(
            [ROOT / ".venv/bin/brokerlab", "analyze", run, "--master", f"spark://localhost:{port}"],
            capture_output=True, text=True, timeout=240, check=False,
            env={name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"},  # left by local Spark
        )  # fmt: skip
        assert analysed.returncode == 0, analysed.stdout + analysed.stderr
        assert (run / "summary.json").read_bytes() == expected
        containers = emulator_image.containers.list(filters={"label": f"com.docker.compose.project={project}"})
        assert len(containers) == len(PROFILES["spark"])
        pids = [row[0] for container in containers for row in container.top(ps_args="-eo pid")["Processes"]]
        addresses = {address for pid in pids for address in listening_addresses(pid)}
        assert addresses
        assert {address for address in addresses if not address.endswith(LOOPBACK)} == set()
    finally:
        ended = compose("-p", project, "--profile", "spark", "down", "--volumes", "--timeout", "5", **environment)
    assert ended.returncode == 0, ended.stderr


def _answers(port: int) -> bool:
    with socket.socket() as trial:
        trial.settimeout(1)
        return trial.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.proof
@needs_compose
@pytest.mark.container
@pytest.mark.usefixtures("emulator_image")
def test_the_emulator_sees_what_a_run_needs() -> None:
    project = f"brokerlab-test-{os.getpid()}-emulator"
    try:
        doctor = compose("-p", project, "run", "--rm", "-T", "emulator", "doctor")
    finally:
        compose("-p", project, "--profile", "emulator", "down")
    assert doctor.returncode == 0, doctor.stderr
    assert "auto takes runtime container: the highest rung, and it works here" in doctor.stdout
    assert "auto takes links" in doctor.stdout
    assert "auto takes links modelled" not in doctor.stdout
