"""The scripts of set-up, on hosts that lack something. What they do on a fresh host is shown by `.ci/run` on one."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534
HOST = 4
"""Exit code: this host cannot do it."""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, which takes root")


def bash(
    program: str, environment: dict[str, str] | None = None, user: int | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/bash", "-c", program],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"} | (environment or {}),
        user=user,
        extra_groups=None if user is None else [],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A directory that holds every program of the host, for tests to take some away."""
    tmp_path.chmod(0o755)
    farm = tmp_path / "programs"
    farm.mkdir()
    for directory in ("/usr/bin", "/usr/sbin"):
        for program in Path(directory).iterdir():
            if not (farm / program.name).is_symlink():
                (farm / program.name).symlink_to(program)
    return farm


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The scripts in a tree of their own, readable by anybody.

    Each directory above it is looked at, because every start of pytest makes the one of all its runs private again.
    """
    for directory in (tmp_path, *tmp_path.parents):
        mode = directory.stat().st_mode
        if mode & 0o055 != 0o055:
            directory.chmod(mode | 0o055)
    bash(f"cp -r setup proto constraints.txt pyproject.toml {tmp_path}")
    return tmp_path


class TestSystemPackages:
    def test_a_host_with_everything_is_left_alone(self) -> None:
        if bash("setup/system.sh", user=NOBODY if os.geteuid() == 0 else None).stderr:
            pytest.skip("this host lacks something")
        done = bash("setup/system.sh")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    @needs_root
    def test_a_user_who_cannot_install_goes_on_simulated_and_is_told(self, copy: Path, programs: Path) -> None:
        for program in ("ethtool", "java"):
            (programs / program).unlink(missing_ok=True)
        gone_on = bash(f"{copy}/setup/system.sh", {"PATH": str(programs)}, user=NOBODY)
        assert gone_on.returncode == 0
        assert "needs root" in gone_on.stderr
        assert "ethtool: offloads of link ends" in gone_on.stderr
        assert "simulated runs need none of these" in gone_on.stderr

    @needs_root
    def test_without_python_there_is_nothing_to_go_on_with(self, copy: Path) -> None:
        (copy / "setup" / "find-python.sh").write_text("#!/bin/sh\nexit 1\n")
        refused = bash(f"{copy}/setup/system.sh", user=NOBODY)
        assert refused.returncode == HOST
        assert "needs root" in refused.stderr
        assert "python3-venv: " in refused.stderr

    def test_another_distribution_is_told_what_it_needs(self, programs: Path) -> None:
        for program in ("apt-get", "ethtool", "debootstrap"):
            (programs / program).unlink(missing_ok=True)
        message = bash("setup/system.sh", {"PATH": str(programs)})
        assert message.returncode == 0
        assert "not a Debian system" in message.stderr
        assert "ethtool: " in message.stderr
        assert "debootstrap: " in message.stderr
        assert "simulated runs need none of these" in message.stderr

    def test_images_take_neither_mininet_nor_java(self, programs: Path) -> None:
        for program in ("apt-get", "mnexec", "java", "debootstrap"):
            (programs / program).unlink(missing_ok=True)
        message = bash("setup/system.sh images", {"PATH": str(programs)}).stderr
        assert "debootstrap: " in message
        assert "mininet: " not in message
        assert "java" not in message.partition("going on")[0]

    def test_runs_take_nothing_that_only_other_commands_or_tests_need(self, programs: Path) -> None:
        for program in ("apt-get", "ethtool", "linux.uml", "docker-compose", "java", "chromium"):
            (programs / program).unlink(missing_ok=True)
        runs, others, tests = (
            bash(f"setup/system.sh {mode}", {"PATH": str(programs)}).stderr for mode in ("runs", "all", "tests")
        )
        assert "ethtool: " in runs and "default-jre-headless: " not in runs
        assert "ethtool: " in others and "default-jre-headless: " in others and "user-mode-linux: " not in others
        assert "default-jre-headless: " in tests and "user-mode-linux: " in tests
        assert "chromium: " in tests and "chromium: " not in others

    def test_the_environment_waits_for_no_other_package(self, programs: Path) -> None:
        for program in ("apt-get", "ethtool"):
            (programs / program).unlink(missing_ok=True)
        assert bash("setup/system.sh python", {"PATH": str(programs)}).stderr == ""

    def test_an_old_java_counts_as_none(self, programs: Path) -> None:
        for program in ("apt-get", "java"):
            (programs / program).unlink(missing_ok=True)
        (programs / "java").write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
        (programs / "java").chmod(0o755)
        assert "default-jre-headless: " in bash("setup/system.sh all", {"PATH": str(programs)}).stderr


class TestPython:
    def test_one_that_is_broken_is_passed_over(self, tmp_path: Path) -> None:
        broken = tmp_path / "python"
        broken.write_text("#!/bin/sh\nexit 1\n")
        broken.chmod(0o755)
        found = bash("setup/find-python.sh", {"PYTHON": str(broken)})
        assert found.returncode == 0
        assert found.stdout.strip() != str(broken)

    def test_none_at_all_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "bash").symlink_to("/bin/bash")
        program = (ROOT / "setup/find-python.sh").read_text().replace("/usr/bin/python3", "/nonexistent/python3")
        assert bash(f"PATH={tmp_path}\n{program}").returncode == 1


class TestEnvironment:
    @pytest.mark.parametrize(
        ("made_for", "enough_for"), [("runs", ["runs"]), ("all", ["runs", "all"]), ("tests", ["runs", "all", "tests"])]
    )
    def test_one_that_was_made_for_more_is_enough(self, made_for: str, enough_for: list[str], copy: Path) -> None:
        (copy / "setup" / "find-python.sh").write_text("#!/bin/sh\nexit 1\n")
        python = copy / ".venv" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text('#!/bin/sh\n[ "$1" = -c ]\n')  # it has no pip
        python.chmod(0o755)
        inputs = "<(sed '/^\\[tool\\.ruff/,$d' pyproject.toml) constraints.txt"
        bash(f'cd {copy}; . setup/common.sh; touch ".venv/made-for-{made_for}-$(content_hash {inputs})"')
        codes = {mode: bash(f"{copy}/setup/venv.sh {mode}").returncode for mode in ("runs", "all", "tests")}
        assert codes == {mode: 0 if mode in enough_for else HOST for mode in codes}


class TestCertificates:
    """`use_ca_bundle` of setup/common.sh."""

    def test_an_unreadable_bundle_is_named(self, copy: Path) -> None:
        refused = bash(f". {copy}/setup/common.sh; use_ca_bundle", {"EXTRA_CA_BUNDLE": "/nonexistent/ca.pem"})
        assert refused.returncode == HOST
        assert "/nonexistent/ca.pem" in refused.stderr

    def test_clients_get_the_hosts_own_and_the_public_ones(self, copy: Path) -> None:
        (copy / "public.pem").write_text("PUBLIC")
        (copy / "private.pem").write_text("PRIVATE\n")
        done = bash(
            f'. {copy}/setup/common.sh; SYSTEM_CA_BUNDLE={copy}/public.pem; use_ca_bundle; cat "$PIP_CERT" "$WGETRC"',
            {"EXTRA_CA_BUNDLE": f"{copy}/private.pem"},
        )
        assert done.stdout == f"PUBLIC\nPRIVATE\nca_certificate = {copy}/.cache/ca-bundle.pem\n"

    def test_a_choice_of_pips_own_stands(self, copy: Path) -> None:
        done = bash(
            f'. {copy}/setup/common.sh; use_ca_bundle; echo "$PIP_CERT"',
            {"EXTRA_CA_BUNDLE": f"{copy}/constraints.txt", "PIP_CERT": "/mine.pem"},
        )
        assert done.stdout == "/mine.pem\n"


def test_a_command_that_fails_shows_its_last_lines(copy: Path) -> None:
    failed = bash(f". {copy}/setup/common.sh; quietly echo before; quietly bash -c 'seq 40; exit 3'; echo after")
    assert failed.returncode == HOST
    assert failed.stdout == ""
    assert [line for line in failed.stderr.splitlines() if "|" in line] == [f"    | {n}" for n in range(26, 41)]
    assert "exit code 3" in failed.stderr


class TestDockerDaemon:
    @pytest.fixture
    def answering(self, tmp_path: Path) -> Iterator[str]:
        """The address of something that answers pings as a Docker daemon does."""
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(tmp_path / "docker.sock"))
            listener.listen()

            def answer() -> None:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(1000)
                    connection.sendall(b"HTTP/1.0 200 OK\r\n\r\nOK")

            thread = threading.Thread(target=answer)
            thread.start()
            yield f"unix://{tmp_path}/docker.sock"
            thread.join()

    def test_one_that_answers_is_left_alone(self, answering: str) -> None:
        done = bash("setup/docker-daemon.sh", {"DOCKER_HOST": answering})
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    def test_one_on_another_host_is_refused(self) -> None:
        refused = bash("setup/docker-daemon.sh", {"DOCKER_HOST": "tcp://127.0.0.1:1"})
        assert refused.returncode == HOST
        assert "DOCKER_HOST is tcp://127.0.0.1:1" in refused.stderr

    @needs_root
    def test_starting_one_needs_root(self, copy: Path) -> None:
        refused = bash(f"{copy}/setup/docker-daemon.sh", {"DOCKER_HOST": f"unix://{copy}/none.sock"}, user=NOBODY)
        assert refused.returncode == HOST
        assert "needs root" in refused.stderr


class TestMake:
    def test_help_names_every_target(self) -> None:
        output = bash("make").stdout
        targets = set(re.findall(r"^  ([a-z-]+) +\S", output, re.MULTILINE))
        assert targets >= {"setup", "emulate", "test", "lint", "bench", "smoke", "doctor", "clean", "proto", "image"}
        assert "emulator-image" in targets

    def test_emulate_hands_its_variables_on(self) -> None:
        output = bash("make --dry-run emulate SCENARIO=mine.yaml ARGS='--seed 7'").stdout
        assert ".venv/bin/brokerlab emulate mine.yaml --seed 7" in output

    def test_clean_keeps_runs_and_the_environment(self, copy: Path) -> None:
        bash(f"cp Makefile {copy}")
        for kept in ("runs/r1/logs/__pycache__", ".venv/lib/__pycache__", ".cache"):
            (copy / kept).mkdir(parents=True)
        for removed in (".pytest_cache", "topology/__pycache__"):
            (copy / removed).mkdir(parents=True)
        assert bash(f"make -C {copy} clean").returncode == 0
        assert (copy / "runs/r1/logs/__pycache__").is_dir()
        assert (copy / ".venv/lib/__pycache__").is_dir()
        assert (copy / ".cache").is_dir()
        assert not (copy / ".pytest_cache").exists()
        assert not (copy / "topology/__pycache__").exists()


@pytest.mark.container
def test_smoke() -> None:
    """Three brokers on a plain compose network, as `make smoke` runs them."""
    done = subprocess.run(["make", "smoke"], cwd=ROOT, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "smoke: passed" in done.stdout


class TestSmokeAlone:
    """The script without `make`, which would have set up first."""

    @pytest.fixture(autouse=True)
    def compose(self, programs: Path) -> None:
        for name, body in (("docker", "exit 1"), ("docker-compose", "exit 0")):
            (programs / name).unlink(missing_ok=True)
            (programs / name).write_text(f"#!/bin/sh\n{body}\n")
            (programs / name).chmod(0o755)

    def test_without_a_daemon(self, programs: Path, tmp_path: Path) -> None:
        done = bash("setup/smoke.sh", {"PATH": str(programs), "DOCKER_HOST": f"unix://{tmp_path}/none.sock"})
        assert (done.returncode, done.stdout) == (HOST, "")
        assert re.fullmatch(r"set-up: Docker does not answer .*; start it with `make setup`.*\n", done.stderr)

    def test_before_there_is_an_environment(self, copy: Path, programs: Path) -> None:
        done = bash(f"{copy}/setup/smoke.sh", {"PATH": str(programs)})
        assert (done.returncode, done.stdout) == (HOST, "")
        assert re.fullmatch(r"set-up: there is no Python environment yet: run `make smoke`.*\n", done.stderr)


def test_what_comes_behind_the_first_removal_is_removed_as_well(copy: Path, programs: Path) -> None:
    """An interrupted docker-compose has asked the daemon for a container, which is there when all else is removed."""
    downs, python = copy / "downs", copy / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    (copy / ".cache").mkdir()
    for program, body in (
        (python, "echo brokers"),
        (programs / "docker", f'[ "$1" != compose ] || exit 1; [ "$(wc -l <{downs})" -ge 2 ] || echo late'),
        (programs / "docker-compose", f'case "$*" in *" down "*) echo >>{downs} ;; *" run "*) exit 7 ;; esac'),
    ):
        program.unlink(missing_ok=True)
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
    done = bash(f"{copy}/setup/smoke.sh", {"PATH": str(programs)})
    assert (done.returncode, len(downs.read_text())) == (7, 2), done.stderr
    assert "remain" not in done.stderr
