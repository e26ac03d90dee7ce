"""Placement of tests on workers: groups stay together, `ALONE` comes last, interruptions are passed on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.placement import ALONE, HOST, LABORATORY, PAGES, PROCESSES, SPARK, Placement, groups_of
from tests.waiting import await_true

ROOT = Path(__file__).resolve().parents[1]
CONFTEST = """
import pytest
from xdist.workermanage import NodeManager
from tests import placement

NodeManager.EXIT_TIMEOUT = 0.3

def pytest_configure(config):
    placement.install(config)
"""

GROUPS = {"h1": HOST, "h2": HOST, "h3": HOST, "s1": SPARK, "s2": SPARK, "m1": ALONE, "m2": ALONE}
PLAIN = ["t1", "t2", "t3", "t4", "t5", "t6"]


class Worker:
    """Stand-in for a worker: it runs a test when it knows the next one, or knows that there is none."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.gateway = SimpleNamespace(id=name)
        self.queue: list[int] = []
        self.shutting_down = False

    def send_runtest_some(self, indices: list[int]) -> None:
        assert not self.shutting_down
        self.queue += indices

    def shutdown(self) -> None:
        self.shutting_down = True

    @property
    def can_run(self) -> bool:
        return len(self.queue) > (0 if self.shutting_down else 1)


class Run:
    """Workers and a scheduler that advance one test at a time."""

    def __init__(self, workers: int, tests: list[str]) -> None:
        self.tests = tests
        self.done: list[tuple[str, str]] = []
        """Worker and test, in the order of completion."""
        options = SimpleNamespace(loadscopereorder=False, debug=False)
        config: Any = SimpleNamespace(option=options, getvalue=lambda _: [f"{workers}*popen"])
        log: Any = SimpleNamespace(loadscopesched=lambda *_: None)
        self.placement = Placement(config, log, GROUPS)
        self.workers = [Worker(f"w{number}") for number in range(workers)]
        for worker in self.workers:
            self.placement.add_node(worker)
            self.placement.add_node_collection(worker, tests)
        self.placement.schedule()

    def step(self, worker: Worker) -> None:
        test = worker.queue.pop(0)
        self.done.append((worker.name, self.tests[test]))
        self.placement.mark_test_complete(worker, test)

    def to_the_end(self, order: list[int]) -> list[str]:
        """Lets the first worker of `order` that can run a test run one, until none can. All tests, in the order run."""
        while able := [self.workers[number] for number in order if self.workers[number].can_run]:
            self.step(able[0])
        assert not self.placement.has_pending
        assert all(worker.shutting_down for worker in self.workers)
        return [test for _, test in self.done]

    def ran_on(self, group: str) -> set[str]:
        return {worker for worker, test in self.done if GROUPS.get(test) == group}


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
def test_groups_stay_together_and_tests_that_run_alone_come_last(order: list[int]) -> None:
    tests = ["h1", "h2", "h3", "s1", "s2", *PLAIN, "m1", "m2"]
    run = Run(3, tests)
    done = run.to_the_end(order)
    assert sorted(done) == sorted(tests)
    assert done[-2:] == ["m1", "m2"]
    assert all(len(run.ran_on(group)) == 1 for group in (HOST, SPARK, ALONE))


@pytest.mark.parametrize("tests", [["m1"], ["m1", "m2"], ["t1", "m1"], ["h1", "m1", "m2"], ["t1", "t2"]])
def test_few_tests_run_in_order(tests: list[str]) -> None:
    assert Run(3, tests).to_the_end([0, 1, 2]) == tests


@pytest.mark.parametrize("slow", [0, 1])
def test_tests_that_run_alone_wait_for_the_slowest_worker(slow: int) -> None:
    run = Run(2, ["h1", "h2", "h3", "t1", "t2", "m1"])
    waited_for, other = run.workers[slow], run.workers[1 - slow]
    while other.can_run:
        run.step(other)
    assert waited_for.queue
    assert "m1" not in [run.tests[test] for test in other.queue]
    assert run.to_the_end([1 - slow, slow])[-1] == "m1"


def test_tests_of_a_crashed_worker_run_before_those_that_run_alone() -> None:
    run = Run(2, ["h1", "h2", "h3", "t1", "t2", "t3", "t4", "m1"])
    first, second = run.workers
    run.step(first)
    run.workers.remove(first)
    assert run.placement.remove_node(first) == "h2"
    done = run.to_the_end([0])
    assert {"h2", "h3"} <= set(done)
    assert done[-1] == "m1"
    assert second.shutting_down


def start(directory: Path, tests: str, path: str = ".") -> subprocess.Popen[str]:
    """Starts pytest on two workers, in a directory of its own, with no plugins but those of workers and reruns."""
    (directory / "conftest.py").write_text(CONFTEST)
    (directory / "test_some.py").write_text(f"import os, pathlib, time\nimport pytest\n{tests}")
    options = [
        "-p",
        "xdist.plugin",
        "-p",
        "pytest_rerunfailures",
        "-n",
        "2",
        "-v",
        "-p",
        "no:cacheprovider",
        "-c",
        ROOT / "pyproject.toml",
        f"--rootdir={directory}",
    ]
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, "-o", f"pythonpath={ROOT}", path], cwd=directory,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip


def test_workers_report_the_groups_of_their_tests(tmp_path: Path) -> None:
    """Tests that only compute stand back behind those whose brokers have to act in time, and what the tests of a module
    share is made once."""
    tests = """
@pytest.fixture(autouse=True)
def note(request, worker_id):
    with open("done", "a") as file:
        niceness = os.getpriority(os.PRIO_PROCESS, 0)
        file.write(f"{request.node.originalname} {worker_id} {niceness}\\n")

@pytest.mark.alone
@pytest.mark.parametrize("n", range(4))
def test_measures(n): pass

@pytest.mark.container
@pytest.mark.parametrize("n", range(8))
def test_starts_containers(n): pass

@pytest.mark.parametrize("n", range(8))
def test_computes(n): pass

@pytest.fixture(scope="module")
def shared():
    with open("shared", "a") as file:
        file.write("made ")

@pytest.mark.parametrize("n", range(8))
def test_shares(shared, n): pass
"""
    process = start(tmp_path, tests)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    done = [line.split() for line in (tmp_path / "done").read_text().splitlines()]
    assert [test for test, *_ in done[-4:]] == ["test_measures"] * 4
    for test in ("test_measures", "test_starts_containers"):
        assert len({worker for name, worker, _ in done if name == test}) == 1
    assert (tmp_path / "shared").read_text() == "made "
    if os.geteuid() == 0:
        computing = ("test_computes", "test_shares")
        assert {niceness for name, _, niceness in done if name in computing} == {"15"}
        assert {niceness for name, _, niceness in done if name not in computing} == {"0"}
    assert "test_some.py::test_measures[0]" in output


def test_only_tests_that_act_in_time_beside_others_run_once_more(tmp_path: Path) -> None:
    tests = """
def passes_the_second_time(file):
    first = not pathlib.Path(file).exists()
    pathlib.Path(file).touch()
    assert not first

@pytest.mark.container
def test_races(): passes_the_second_time("container")

@pytest.mark.container
def test_is_wrong(): assert not "right"

@pytest.mark.alone
def test_measures(): passes_the_second_time("alone")

def test_computes(): passes_the_second_time("computed")
"""
    process = start(tmp_path, tests)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == pytest.ExitCode.TESTS_FAILED
    failed = {line.split("::")[1].split()[0] for line in output.splitlines() if line.startswith("FAILED test_some.py")}
    assert failed == {"test_is_wrong", "test_measures", "test_computes"}, output
    assert "3 failed, 1 passed" in output and "2 rerun" in output
    assert "RERUN test_some.py::test_races" in output


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("test_none.py", pytest.ExitCode.USAGE_ERROR),
        ("test_some.py::test_none", pytest.ExitCode.NO_TESTS_COLLECTED),
    ],
)
def test_paths_without_tests_are_the_users_mistake(tmp_path: Path, path: str, code: pytest.ExitCode) -> None:
    process = start(tmp_path, "def test_computes(): pass", path)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == code, output
    assert ("file or directory not found: test_none.py" in output) == (code == pytest.ExitCode.USAGE_ERROR)
    assert "INTERNALERROR" not in output


def test_groups_follow_from_fixtures_markers_and_parameters() -> None:
    def test(name: str, *fixtures: str, marker: str = "", **parameters: str) -> Any:
        return SimpleNamespace(
            nodeid=name,
            fixturenames=fixtures,
            get_closest_marker=lambda asked: asked == marker or None,
            callspec=SimpleNamespace(params=parameters),
        )

    tests = [
        test("a", "laboratory"),
        test("b", runtime="process"),
        test("c", "laboratory"),
        test("d", "spark"),
        test("e", marker="container", runtime="process"),
        test("f", marker="container", runtime="container"),
        test("g", marker="alone"),
        test("h", "browser"),
        test("i", "browser", marker="container"),
    ]
    expected = {
        "a": LABORATORY,
        "c": LABORATORY,
        "d": SPARK,
        "e": PROCESSES,
        "f": HOST,
        "g": ALONE,
        "h": PAGES,
        "i": HOST,
    }
    assert groups_of(tests) == expected


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_running_test_cleans_up_when_the_tests_are_ended(tmp_path: Path, sent: signal.Signals) -> None:
    tests = """
@pytest.fixture
def made():
    pathlib.Path("made").touch()
    yield
    time.sleep(1.5)
    pathlib.Path("put-away").touch()

def test_slow(made): time.sleep(100)
"""
    process = start(tmp_path, tests)
    await_true(lambda: (tmp_path / "made").exists() or process.poll() is not None, "the test begins", 120)
    process.send_signal(sent)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output
    assert (tmp_path / "put-away").exists(), output
