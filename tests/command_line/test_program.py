"""The command line: what a user's mistake looks like, and how it ends."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
import typer

import command_line as cli
from command_line.program import app
from emulation.host import provenance
from record.errors import HostError
from record.exit_codes import ExitCode

ROOT = Path(__file__).resolve().parents[2]


def brokerlab(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[int, str]:
    """Runs the command line in this process; its exit code and everything it printed."""
    monkeypatch.setattr(sys, "argv", ["brokerlab", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    printed = capsys.readouterr()
    code = ended.value.code
    return (code if isinstance(code, int) else 0), printed.out + printed.err


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    code, printed = brokerlab(capsys, monkeypatch, "--version")
    assert code == 0
    assert printed.startswith(f"brokerlab {version('brokerlab')}")


def test_the_version_names_the_commit(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    number = f"brokerlab {version('brokerlab')}"
    for revision, shown in (
        ("0123456789abcdef", " (commit 0123456789ab)"),
        (f"{'9' * 40}+", f" (commit {'9' * 12}, changed)"),
    ):
        monkeypatch.setattr(provenance, "git_revision", lambda found=revision: found)
        assert brokerlab(capsys, monkeypatch, "--version") == (0, f"{number}{shown}\n")
    monkeypatch.setattr(provenance, "git_revision", lambda: None)
    assert brokerlab(capsys, monkeypatch, "--version") == (0, f"{number}\n")


def all_commands() -> Iterator[list[str]]:
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        below = getattr(command, "commands", None)
        yield from [[name]] if below is None else ([name, subcommand] for subcommand in below)


def test_every_command_has_a_module_of_its_name() -> None:
    names = {name for name, *_ in all_commands()} - {"doctor"}  # which emulation.upkeep.doctor carries out
    modules = {path.stem for path in (ROOT / "command_line" / "commands").glob("*.py")}
    assert names <= modules


@pytest.mark.parametrize("command", list(all_commands()), ids=" ".join)
def test_every_command_explains_itself(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, printed = brokerlab(capsys, monkeypatch, *command, "--help")
    assert code == 0
    assert "Usage:" in printed
    examples, _, codes = printed.partition("Example")[2].partition("Exit codes")
    assert f"brokerlab {' '.join(command)}" in examples
    assert re.search(r"^ +0[ ,]", codes, re.MULTILINE)


@pytest.mark.parametrize("command", ["emulate", "analyze", "down", "campaign"])
def test_commands_that_judge_runs_name_the_code_of_a_broker_that_fails(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    _, printed = brokerlab(capsys, monkeypatch, command, "--help")
    assert re.search(r"\b5\b", printed.partition("Exit codes")[2])


def test_brackets_of_a_note_are_shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    _, printed = brokerlab(capsys, monkeypatch, "until", "--help")
    assert "NODE EVENT [the first] [KIND] [number N] [to|from PEER]" in printed


def test_exit_codes_are_documented_for_people_and_in_one_help(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, help_ = brokerlab(capsys, monkeypatch, "--help")
    assert "brokerlab help exit-codes" in help_
    code, printed = brokerlab(capsys, monkeypatch, "help", "exit-codes")
    assert code == 0
    listed = re.findall(r"^ *(\d+) +\w", printed, re.MULTILINE)
    documented = re.findall(r"^\| (\d+) \|", (ROOT / "docs" / "ci.md").read_text(), re.MULTILINE)
    assert list(map(int, listed)) == list(map(int, documented)) == sorted(ExitCode)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("emulate", "missing argument 'scenario' (see `brokerlab emulate --help`)"),
        ("emulat", "no such command 'emulat'; did you mean 'emulate'? (see `brokerlab --help`)"),
        ("--loud", "no such option: --loud (see `brokerlab --help`)"),
        ("conformance --command 'x", "--command 'x: No closing quotation; quote it as a shell takes it"),
        ("help codes", "invalid value for 'topic': 'codes' is not one of 'exit-codes' (see `brokerlab help --help`)"),
        ("topology sho", "no such command 'sho'; did you mean 'show'? (see `brokerlab topology --help`)"),
        ("compare a b c", "got unexpected extra argument(s) (c) (see `brokerlab compare --help`)"),
    ],
)
def test_a_wrong_use_is_one_line(
    arguments: str, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert brokerlab(capsys, monkeypatch, *arguments.split()) == (2, f"brokerlab: {message}\n")


@pytest.mark.parametrize("arguments", ["", "topology"])
def test_a_group_without_a_command_shows_its_help(
    arguments: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, printed = brokerlab(capsys, monkeypatch, *arguments.split())
    assert code == 2
    assert printed.strip().startswith(f"Usage: brokerlab {arguments}".strip())
    assert "Error" not in printed


def no_legs() -> None:
    raise ZeroDivisionError("no legs")


def read_only() -> None:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS), "/somewhere/x")


def in_the_way() -> None:
    Path(__file__).mkdir()


def asked_to_end() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    signal.pause()


@pytest.mark.parametrize(
    ("ends", "code", "message"),
    [
        (no_legs, 70, r"(?s)Traceback.*no legs\nbrokerlab: a fault of the program, not of its input"),
        (read_only, 4, r"brokerlab: /somewhere/x: the file system is read-only; choose another place\n$"),
        (in_the_way, 4, r"brokerlab: .*/test_program.py: something else of this name is in the way"),
        (asked_to_end, 130, r"brokerlab: interrupted\n$"),
    ],
)
def test_every_end_has_its_exit_code(
    ends: Callable[[], None],
    code: int,
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A fault of brokerlab's own, above all, must not look like a violated delivery, which ends with 1."""
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr("command_line.commands.clean.clean_host", ends)
    ended, printed = brokerlab(capsys, monkeypatch, "clean")
    assert ended == code
    assert re.match(message, printed), printed
    assert signal.getsignal(signal.SIGTERM) is before


def test_output_that_nobody_reads_or_that_has_no_room() -> None:
    command = [sys.executable, "-m", "command_line", "topology", "kinds"]
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        ended = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    assert (ended.returncode, ended.stderr) == (141, "")
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    assert ended.returncode == 4
    assert re.fullmatch(r"brokerlab: .*no space is left on the disk.*\n", ended.stderr), ended.stderr


@pytest.mark.parametrize("command", [["analyze", "."], ["campaign", "any.yaml"]])
def test_a_spark_master_that_is_none(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, printed = brokerlab(capsys, monkeypatch, *command, "--master", "local[x]")
    assert code == 2
    assert printed.startswith("brokerlab: --master local[x]: write spark://HOST:PORT, or local[N]")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["calibrate", "--runtime", "simulated"], "--runtime simulated: choose auto, container, process"),
        (["calibrate", "--out", "/"], "--out /: no file can be made there"),
        (["reproduce", "tid-5a", "--runtime", "cloud"], "--runtime cloud: choose container, process, simulated"),
        (["reproduce", "tid-5a", "--runtime", "process", "--jobs", "2"], "--jobs 2: is for simulated cells"),
        (["campaign", "any.yaml", "--shrink-on", "simulated"], "--shrink-on simulated: is for --shrink"),
        (["conformance", "any.json", "--junit", "/"], "--junit /: is a directory"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_takes_time(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, printed = brokerlab(capsys, monkeypatch, *arguments)
    assert code == 2
    assert printed.startswith(f"brokerlab: {message}")


def test_help_loads_none_of_the_heavy_libraries() -> None:
    watched = ("docker", "grpc", "mininet", "numpy", "pydantic", "pyspark", "plotly")
    script = f"import sys, command_line.program; print([name for name in {watched} if name in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert printed.stdout.strip() == "[]"


@pytest.mark.parametrize("setting", ["timeline.run", "=20s"])
def test_a_setting_without_key_or_value_says_how_to_write_it(
    setting: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, printed = brokerlab(capsys, monkeypatch, "emulate", "any.yaml", "--set", setting)
    assert code == 2
    assert "write KEY=VALUE" in printed


def test_a_scenario_that_is_not_there_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, printed = brokerlab(capsys, monkeypatch, "emulate", "nowhere.yaml")
    assert code == 2
    assert re.fullmatch(r"brokerlab: nowhere.yaml.*\n", printed), printed


def test_an_error_keeps_its_exit_code_and_shows_no_stack_trace(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise HostError("this host has no legs; give it some")

    monkeypatch.setattr("command_line.commands.clean.clean_host", refuse)
    code, printed = brokerlab(capsys, monkeypatch, "clean")
    assert code == 4
    assert printed == "brokerlab: this host has no legs; give it some\n"


def test_without_root_the_remedy_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    smoke = str(ROOT / "scenarios" / "smoke.yaml")
    code, printed = brokerlab(capsys, monkeypatch, "emulate", smoke, "--runtime", "process")
    assert code == 4
    assert "sudo" in printed


@pytest.mark.parametrize("option", ["--runtime", "--links"])
def test_a_rung_that_does_not_exist_is_bad_input(
    option: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, printed = brokerlab(capsys, monkeypatch, "emulate", str(ROOT / "scenarios" / "smoke.yaml"), option, "magic")
    assert code == 2
    assert "'magic'" in printed
    assert "choose auto" in printed


_SIMULATED = """
import sys
import command_line
sys.argv = ["brokerlab", "emulate", sys.argv[1], "--runtime", "simulated", "--no-spark", "--out", sys.argv[2]]
try:
    command_line.main()
finally:
    assert "pyspark" not in sys.modules, "Spark was loaded"
"""


def test_a_simulated_run_needs_no_program_of_the_host(tmp_path: Path) -> None:
    """Neither Java nor Docker nor Mininet is found."""
    environment = {key: value for key, value in os.environ.items() if key not in {"PATH", "JAVA_HOME", "DOCKER_HOST"}}
    done = subprocess.run(
        [sys.executable, "-c", _SIMULATED, ROOT / "scenarios" / "line-3.yaml", tmp_path], cwd=ROOT, text=True,
        capture_output=True, env=environment | {"PATH": str(tmp_path)}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "delivery: correct" in done.stdout
    assert "simulated: asked for" in done.stdout
    (run,) = tmp_path.iterdir()
    assert (run / "report" / "index.html").is_file()


def test_spark_alone_has_a_master(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    master = "spark://h:1"
    code, printed = brokerlab(capsys, monkeypatch, "analyze", str(tmp_path), "--no-spark", "--master", master)
    assert code == 2
    assert "contradict" in printed


def test_a_calibration_must_be_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "c.json").write_text('{"frame": -1}')
    arguments = ["emulate", str(ROOT / "scenarios" / "line-3.yaml"), "--runtime", "simulated", "--no-spark"]
    code, printed = brokerlab(
        capsys, monkeypatch, *arguments, "--out", str(tmp_path / "runs"), "--calibration", str(tmp_path / "c.json")
    )
    assert code == 2
    assert "c.json" in printed
    assert "frame" in printed
    assert not (tmp_path / "runs").exists()
