"""The built package, in an environment that has nothing else, where no file of the checkout is on the path."""

from __future__ import annotations

import os
import subprocess
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from emulation.host.provenance import git_revision
from record.exit_codes import ExitCode
from record.extras import EMULATION, HOSTS, SPARK, Extra
from tests.setup.fresh_environment import make_environment

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    "record", "broker_service", "brokerlab", "topology", "scenario", "emulation", "analysis", "studies", "command_line",
)  # fmt: skip
SHIPPED = ("campaigns", "examples/routers", "proto", "scenarios", "schemas", "tests/conformance")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with the built wheel and source distribution."""
    directory = tmp_path_factory.mktemp("dist")
    subprocess.run([ROOT / "setup" / "dist.sh", directory], check=True, capture_output=True, timeout=240)
    return directory


@pytest.fixture(scope="module")
def programs(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment in which the wheel is installed."""
    (wheel,) = built.glob("*.whl")
    return make_environment(tmp_path_factory.mktemp("fresh") / "environment", wheel)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A working directory outside of the checkout."""
    return tmp_path


def brokerlab(programs: Path, directory: Path, *arguments: str) -> tuple[int, str]:
    """Runs the installed program where there is no Docker, no git and no Java; returns its exit code and its output."""
    none = directory / "none"
    environment = {"PATH": str(none), "HOME": str(directory), "DOCKER_HOST": f"unix://{none}/docker.sock"}
    done = subprocess.run(
        [programs / "brokerlab", *arguments],
        cwd=directory, env=environment, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_the_quickstart_is_simulated_and_reported(programs: Path, elsewhere: Path) -> None:
    given = ("emulate", "quickstart", "--runtime", "simulated", "--set", "timeline.run=6s")
    code, output = brokerlab(programs, elsewhere, *given)
    assert code == ExitCode.CORRECT, output
    assert output.count("delivery: correct") == 2
    (page,) = (elsewhere / "runs").glob("*/report/index.html")
    assert f"report: {page}" in output
    assert "plotly" in page.read_text(encoding="utf-8")


@pytest.mark.proof
def test_a_shipped_campaign_is_run(programs: Path, elsewhere: Path) -> None:
    code, output = brokerlab(programs, elsewhere, "campaign", "smoke", "--runtime", "simulated", "--cell", "none-1")
    assert code == ExitCode.CORRECT, output


@pytest.mark.proof
@pytest.mark.parametrize("extra", [EMULATION, HOSTS, SPARK], ids=lambda extra: str(extra.name))
def test_what_an_extra_brings_is_asked_for_in_one_sentence(extra: Extra, programs: Path, elsewhere: Path) -> None:
    (elsewhere / "hosts.ini").write_text("a\n")
    needing: dict[str, Sequence[str]] = {
        "emulation": ("conformance", str(ROOT / "tests/conformance/lines.json"), "--runtime", "container"),
        "hosts": ("campaign", "smoke", "--runtime", "simulated", "--hosts", "hosts.ini"),
        "spark": ("emulate", "smoke", "--runtime", "simulated", "--spark"),
    }
    code, output = brokerlab(programs, elsewhere, *needing[extra.name])
    assert code == ExitCode.HOST, output
    assert f"pip install 'brokerlab[{extra.name}]'" in output
    assert "Traceback" not in output


def test_the_doctor_names_missing_extras(programs: Path, elsewhere: Path) -> None:
    code, output = brokerlab(programs, elsewhere, "doctor")
    assert code == 0, output
    for extra in (EMULATION, HOSTS, SPARK):
        assert f"pip install 'brokerlab[{extra.name}]'" in output


def test_the_version_names_the_commit(programs: Path, elsewhere: Path) -> None:
    revision = git_revision()
    if revision is None:
        pytest.skip("this tree is not one of git")
    changed = ", changed" if revision.endswith("+") else ""
    assert f"(commit {revision[:12]}{changed})\n" in brokerlab(programs, elsewhere, "--version")[1]


@pytest.mark.proof
def test_shipped_protocol_cases_are_found(programs: Path, elsewhere: Path) -> None:
    assert brokerlab(programs, elsewhere, "protocol", "new", "mine")[0] == 0
    code, output = brokerlab(programs, elsewhere, "protocol", "check", "mine/mine.py")
    assert code == ExitCode.CORRECT, output


def test_the_wheel_has_every_file_of_the_packages(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        there = set(archive.namelist())
    assert set(_files(PACKAGES)) - there == set()
    shipped = {f"brokerlab/shipped/{name}" for name in _files(SHIPPED)}
    assert {name for name in there if name.startswith("brokerlab/shipped/")} == {*shipped, "brokerlab/shipped/commit"}


def test_the_wheel_has_no_other_top_level_package(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.partition("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)


def test_the_package_asks_for_what_its_generated_code_needs() -> None:
    """grpcio-tools writes its own version into code, and the oldest version of protobuf that runs it."""
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    pins = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line)
    assert f'"grpcio-tools=={pins["grpcio-tools"]}"' in settings
    assert f'"grpcio>={pins["grpcio-tools"]}"' in settings


def _files(directories: Sequence[str]) -> Iterator[str]:
    for directory in directories:
        for path in (ROOT / directory).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyi":
                yield os.path.relpath(path, ROOT)
