"""Whole runs through the command line, on a host that can: as root, with Docker and Mininet."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from analysis.tables.summary import violated
from emulation.host.registry import live_runs
from emulation.planning.calibration import load_calibration
from tests.waiting import await_true

ROOT = Path(__file__).resolve().parents[3]
SMOKE = ROOT / "scenarios" / "smoke.yaml"
LINE = ROOT / "scenarios" / "line-3.yaml"
LONG_LINKS = ("--set", "topology.link.delay=20ms..30ms")
"""Links beside which it does not matter how much quicker this host is than that of the shipped calibration."""
SHORT = ("--set", "timeline.join=2s", "--set", "timeline.run=4s", "--set", "timeline.drain=1s")
BRIEF = ("--set", "timeline.run=1s", "--set", "timeline.drain=1s")
WITHOUT_END = ("--set", "timeline.run=100h")

pytestmark = [
    pytest.mark.container,
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("docker") is None or shutil.which("mnexec") is None,
        reason="needs root, Docker and Mininet",
    ),
]


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "command_line", *map(str, arguments)]


def brokerlab(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )


def only_run(out: Path) -> Path:
    (run,) = out.iterdir()
    return run


def read(run: Path, name: str) -> Any:
    return json.loads((run / name).read_bytes())


def delivered(run: Path) -> int:
    """Number of deliveries that the logs hold so far."""
    return sum(log.read_text().count('"delivered"') for log in run.glob("logs/*.jsonl"))


def containers(run_id: str) -> list[str]:
    listed = subprocess.run(
        ["docker", "ps", "-aq", "--filter", f"label=brokerlab.run={run_id}"], capture_output=True, text=True, check=True
    )
    return listed.stdout.split()


def processes(run_id: str) -> list[str]:
    """Command lines of processes that carry the run's id in their environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"BROKERLAB_RUN={run_id}".encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def assert_nothing_is_left(run_id: str) -> None:
    assert containers(run_id) == []
    assert processes(run_id) == []
    assert not Path("/run/brokerlab", run_id).exists()


def wait_for(log: Path, pattern: str, process: subprocess.Popen[str], seconds: float = 200) -> None:
    """Waits until the run's own log holds a line like that."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        files = list(log.glob("*/emulator.log"))
        if files and re.search(pattern, files[0].read_text()):
            return
        time.sleep(0.1)
    raise AssertionError(f"no {pattern!r}; the run said: {process.communicate(timeout=60)[0]}")


@contextmanager
def short_run(out: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A run of three containers in progress, in a process group of its own as a shell would start it."""
    process = subprocess.Popen(
        command("emulate", LINE, "--runtime", "container", "--out", out, *SHORT, *options), cwd=ROOT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def running(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    with short_run(tmp_path, "--no-spark", "--no-report") as process:
        yield process


@pytest.fixture(
    params=[pytest.param(["--no-spark"], id="plain"), pytest.param([], id="spark", marks=pytest.mark.proof)]
)
def running_for_report(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """It makes a report. Where Spark analyses it, its Java machine is interrupted with it."""
    with short_run(tmp_path, *WITHOUT_END, *request.param) as process:
        yield process


def valid_run(out: Path) -> tuple[Path, str]:
    """A smoke run that is VALID, and what it said: where neighbours hold the host up, one of five is enough.

    An emulation that cannot keep its promises fails every time. What a run delivers is right each time.
    """
    output = ""
    for attempt in range(5):
        options = ("--runtime", "container", "--no-spark", "--twin", "--out", out / str(attempt))
        ended = brokerlab("emulate", SMOKE, *options, *SHORT, *LONG_LINKS)
        output = ended.stdout
        assert ended.returncode in {0, 3}, output
        assert "delivery: correct" in output
        if "fidelity: VALID" in output:
            assert ended.returncode == 0, output
            return only_run(out / str(attempt)), output
    raise AssertionError(f"not one of five runs is VALID; the last printed: {output}")


@pytest.mark.alone
def test_five_containers_over_shaped_links_are_correct_and_valid(tmp_path: Path) -> None:
    run, output = valid_run(tmp_path)
    assert "Traceback" not in output
    summary, fidelity, manifest = (read(run, f"{name}.json") for name in ("summary", "fidelity", "manifest"))
    assert summary["delivery"] == ["correct"]
    assert summary["variants"][0]["delivery"]["expected"] > 50
    assert fidelity["verdict"] == "VALID"
    probed = [link["phase"] for link in fidelity["variants"][0]["links"]]
    assert probed.count("before") == probed.count("during") == 10
    assert manifest["runtime"]["name"] == "container"
    assert [phase["name"] for phase in manifest["variants"][0]["phases"]] == ["start", "join", "run", "drain", "stop"]
    assert manifest["interrupted"] is False
    assert_nothing_is_left(run.name)
    assert "base beside its simulated twin" in output
    (beside,) = read(run, "twin.json")["variants"]
    counts = {count["name"]: (count["first"], count["second"]) for count in beside["delivery"]}
    assert counts["lost"] == (0, 0)
    assert counts["delivered"][0] == counts["delivered"][1] > 50


@pytest.mark.parametrize("runtime", ["process"])
def test_the_process_runtime_delivers_the_same(runtime: str, tmp_path: Path) -> None:
    shipped = load_calibration()
    costs = tmp_path / "calibration.json"
    costs.write_bytes(msgspec.json.encode(msgspec.structs.replace(shipped, frame=shipped.frame + 1)))
    quick = ("--no-spark", "--no-report", "--calibration", costs, *BRIEF)
    ended = brokerlab("emulate", LINE, "--runtime", runtime, "--out", tmp_path / "runs", *quick)
    assert ended.returncode in {0, 3}, ended.stdout  # its fidelity is not what this test is about
    run = only_run(tmp_path / "runs")
    assert read(run, "manifest.json")["at_rest"]["frame"] == shipped.frame + 1
    (variant,) = read(run, "summary.json")["variants"]
    assert not violated(variant["delivery"]["verdicts"], variant["fidelity"])
    assert (variant["delivery"]["published"], variant["delivery"]["delivered"]) == (2, 2)
    assert not (run / "report").exists()
    assert read(run, "manifest.json")["runtime"] == {"name": runtime, "reason": "asked for"}
    assert_nothing_is_left(run.name)


def test_a_broker_that_dies_is_named_and_the_rest_goes_on(running: subprocess.Popen[str], tmp_path: Path) -> None:
    wait_for(tmp_path, "phase begins.*phase=join", running)
    run = only_run(tmp_path)
    inspect = ["docker", "inspect", "-f", "{{.State.Pid}}", f"brokerlab-{run.name}-B3"]
    process = int(subprocess.run(inspect, capture_output=True, text=True, check=True).stdout)
    wait_for(tmp_path, "phase begins.*phase=run", running)
    os.kill(process, signal.SIGKILL)  # not by Docker, which takes seconds on a busy host
    output = running.communicate(timeout=120)[0]
    assert "base: broker B3 got signal 9" in output
    assert "Traceback" not in output
    assert running.returncode in {1, 3}
    fidelity = read(run, "fidelity.json")
    assert fidelity["verdict"] == "INVALID"
    (check,) = [c for c in fidelity["variants"][0]["checks"] if c["name"] == "brokers that ended by themselves"]
    assert check["value"] == 1
    assert [phase["name"] for phase in read(run, "manifest.json")["variants"][0]["phases"]][-1] == "stop"
    assert_nothing_is_left(run.name)


@pytest.mark.proof
def test_ctrl_c_between_two_variants_keeps_the_first(tmp_path: Path) -> None:
    scenario = tmp_path / "two.yaml"
    scenario.write_text(LINE.read_text() + "vary: {routing.publications: [fixed, dynamic]}\n")
    process = subprocess.Popen(
        command(
            "emulate", scenario, "--runtime", "process", "--no-spark", "--no-report", "--out", tmp_path / "runs", *BRIEF
        ),
        cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    try:
        wait_for(tmp_path / "runs", "phase begins.*variant=dynamic phase=start", process)
        os.killpg(process.pid, signal.SIGINT)
        output = process.communicate(timeout=120)[0]
    finally:
        process.kill()
        process.wait()
    run = only_run(tmp_path / "runs")
    assert "Traceback" not in output
    assert process.returncode in {3, 130}, output
    assert "delivery: correct" in output
    manifest = read(run, "manifest.json")
    assert [variant["interrupted"] for variant in manifest["variants"]] == [False, True]
    assert [variant["name"] for variant in read(run, "fidelity.json")["variants"]] == ["fixed"]
    assert_nothing_is_left(run.name)


def test_ctrl_c_ends_the_run_in_order_analyses_it_and_leaves_nothing(
    running_for_report: subprocess.Popen[str], tmp_path: Path
) -> None:
    wait_for(tmp_path, "phase begins.*phase=run", running_for_report)
    await_true(lambda: delivered(only_run(tmp_path)) > 0, "a delivery, so that there is something to analyse")
    os.killpg(running_for_report.pid, signal.SIGINT)  # as a terminal does
    output = running_for_report.communicate(timeout=120)[0]
    run = only_run(tmp_path)
    assert running_for_report.returncode in {3, 130}, output  # 3 on a host too busy to keep its promises
    assert "Traceback" not in output
    assert "interrupted" in output
    assert "delivery: correct" in output or "delivery: unjudged" in output  # most was on its way
    manifest = read(run, "manifest.json")
    assert manifest["interrupted"] is True
    assert manifest["variants"][0]["interrupted"] is True
    assert list((run / "logs").glob("B*.jsonl"))
    assert read(run, "summary.json")["variants"][0]["delivery"]["delivered"] > 0
    assert (run / "report" / "index.html").exists()
    assert_nothing_is_left(run.name)


@pytest.mark.proof
def test_a_second_ctrl_c_tears_down_at_once(running: subprocess.Popen[str], tmp_path: Path) -> None:
    wait_for(tmp_path, "starting brokers", running)
    running.send_signal(signal.SIGINT)
    running.send_signal(signal.SIGTERM)
    output = running.communicate(timeout=60)[0]
    assert running.returncode == 130, output
    assert "Traceback" not in output
    assert_nothing_is_left(only_run(tmp_path).name)


def test_clean_removes_what_a_killed_run_left_and_nothing_foreign(
    running: subprocess.Popen[str], tmp_path: Path
) -> None:
    """A run of somebody else that begins at this moment cleans, too, so that it may be first."""
    image = subprocess.run(
        ["docker", "images", "-q", "brokerlab-broker:latest"], capture_output=True, text=True, check=True
    ).stdout.strip()
    foreign = f"foreign-{os.getpid()}"
    interface = f"foreign{os.getpid() % 100000}"
    bystander = subprocess.Popen(["sleep", "300"])
    started = subprocess.run(
        ["docker", "run", "-d", "--name", foreign, "--label", "brokerlab=1", "--entrypoint", "sleep", image, "300"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    try:
        assert started.returncode == 0, started.stderr
        subprocess.run(["ip", "tuntap", "add", "dev", interface, "mode", "tap"], check=True)
        wait_for(tmp_path, "phase begins.*phase=join", running)
        run_id = only_run(tmp_path).name
        assert containers(run_id), "nothing would be left, so this would show nothing"
        running.kill()  # SIGKILL: no chance to tidy up
        running.wait()
        assert run_id not in live_runs()

        ended = brokerlab("clean")

        assert ended.returncode == 0, ended.stdout
        assert_nothing_is_left(run_id)
        running_still = subprocess.run(
            ["docker", "inspect", "-f", "{{.State.Running}}", foreign], capture_output=True, text=True, check=True
        )
        assert running_still.stdout.strip() == "true"
        assert Path("/sys/class/net", interface).exists()
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()
        subprocess.run(["docker", "rm", "-f", foreign], capture_output=True, check=False)
        subprocess.run(["ip", "link", "delete", interface], capture_output=True, check=False)


@pytest.mark.proof
def test_a_container_whose_name_is_taken_is_a_clear_error(tmp_path: Path) -> None:
    # The run id cannot be foreseen, so the name is taken from within: every run gets the same id.
    script = (
        "import emulation.planning.plan, sys; emulation.planning.plan.make_run_id = lambda *_: 'name-taken';"
        f"sys.argv = ['brokerlab', 'emulate', {str(LINE)!r}, '--runtime', 'container', '--no-spark'];"
        f"sys.argv += ['--out', {str(tmp_path)!r}];"
        "from command_line import main; main()"
    )
    create = ["docker", "create", "--name", "brokerlab-name-taken-B1-sandbox", "brokerlab-broker:latest"]
    subprocess.run(create, capture_output=True, check=True)
    try:
        ended = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
        assert ended.returncode == 4, ended.stderr
        assert "brokerlab-name-taken-B1-sandbox" in ended.stderr
        assert "already in use" in ended.stderr
        assert "Traceback" not in ended.stderr
        assert_nothing_is_left("name-taken")
    finally:
        subprocess.run(["docker", "rm", "-f", "brokerlab-name-taken-B1-sandbox"], capture_output=True, check=False)
