"""Placement of tests on the workers of `pytest -n auto` (that is, `make test`): groups that run one test at a time.

Most tests need nothing but CPU and go to any free worker, one by one. The others form groups; the tests of a group run
one after another, on one worker:

- `HOST`: tests that start containers, Mininet or links on this host (the marker `container`), or that need it for
  themselves without any of these (`host`). They look for leftovers and end what dead runs left, so two of them would
  disturb each other. Tests that only compute do not disturb them, because they assert what was delivered and what was
  left, never how punctual it was. They mostly wait.
- `PROCESSES`: those of them that have the runtime `process` as a parameter. Their runs have no containers, and their
  interfaces are in namespaces of their own, so that the tests of `HOST` see nothing of them but runs in progress, which
  they leave alone. They leave nothing to others either, because no such test kills a run.
- `LABORATORY`: runs over the three hosts of `tests/emulation/multi_host/laboratory.py`. Their namespaces, `/run`
  included, are their own, so they disturb neither the host's runs nor its Docker. They mostly wait, too.
- `SPARK`: tests that start a Java machine (the marker `spark`, or the fixture of that name), one machine at a time.
- `GUEST`: tests in a User-Mode-Linux guest (the marker `guest`). The guest has a network of its own, and precedence
  over all other processes, so that these do not delay its clock. It mostly waits.
- `PAGES`: tests that look at pages (the fixture `browser`), so that one browser serves them all.
- A group for each module whose tests share a fixture of the scope `module`, which every other worker would make again.
- `ALONE`: measurements that neighbours would spoil, such as a link's delay to a fraction of a millisecond or a verdict
  VALID (the marker `alone`). They run last, when everything else is done.

Tests that only compute step back (a niceness) behind those of the groups that mostly wait, because the brokers and
clients of these have to act in time. Those of `SPARK` step back less far, because they are one after another and must
not be the last to end.

A test that has to act in time beside others runs once more when it fails, and the report counts it as `rerun`: the
order of events among its processes is the host's. A defect of the product fails again, and a rerun is a race to be
found. Measurements (`ALONE`) have no neighbours to blame, and everything else has no second try.

Without `-n` tests are not placed: all run in the order of their files, and no test runs twice.

pytest-xdist has groups of its own, marked by a suffix to a test's name. The versions that constraints.txt pins lose
that suffix, and the groups with it; the suffix would also be in the way when a name is copied from a report. So each
worker reports its groups to the controller in a file.

Ctrl-C reaches the controller alone, which passes it on and waits until running tests have removed what they made.
SIGTERM, with which CI ends a run that takes too long, does the same, with workers or without.
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest
from xdist.remote import Producer
from xdist.scheduler.loadscope import LoadScopeScheduling
from xdist.workermanage import WorkerController

HOST = "host"
PROCESSES = "processes"
LABORATORY = "laboratory"
SPARK = "spark"
GUEST = "guest"
PAGES = "pages"
ALONE = "alone"
ORDER = (HOST, LABORATORY, PROCESSES, SPARK, GUEST, PAGES, None, ALONE)
"""Order in which groups begin, the longest first. None stands for the groups of modules and, after them, for all other
tests: as many workers as are left run them from the beginning, and at their end there is no long group left that keeps
one worker alone busy."""

_BEHIND = 15
"""Niceness of tests that have all the time in the world."""
_BEFORE_THESE = 8
"""Niceness of the tests of `SPARK`."""
_BESIDE_OTHERS = {HOST, LABORATORY, PROCESSES, GUEST}
"""Groups whose brokers, clients and links have to act in time while other tests keep the processors busy."""
_IN_TIME = {*_BESIDE_OTHERS, ALONE}
"""Groups whose brokers, clients and links have to act in time."""

_REPORT_FILE = "placement"
_FEW = 2
"""Number of tests left at which a worker receives more; to run one test it has to know the next."""
_WIND_DOWN = 60.0
"""Seconds that a worker has to finish the test in which it was interrupted."""


def install(config: pytest.Config) -> None:
    """Makes a controller and its workers place tests, unless the user chose another `--dist`.

    Raises `pytest.UsageError` if a path that the user gave does not exist, because workers would not say so.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background process may ignore it
    if in_worker(config):
        told: Mapping[str, str] = config.workerinput  # type: ignore[attr-defined]  # xdist adds it
        if _REPORT_FILE in told:
            config.pluginmanager.register(GroupReporter(Path(told[_REPORT_FILE])))
    elif config.getoption("dist", "no") == "load":
        for given in config.args:
            if not (config.invocation_params.dir / given.split("::")[0]).exists():
                raise pytest.UsageError(f"file or directory not found: {given}")
        directory = tempfile.TemporaryDirectory(prefix="placement-")
        config.add_cleanup(directory.cleanup)
        config.pluginmanager.register(Controller(Path(directory.name)))


def in_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def workers() -> int:
    """Number of workers for `-n auto`: two more than CPUs.

    Three of the groups mostly wait, and only one of them for long. Each worker collects all tests, which takes ten
    seconds of a processor.
    """
    return len(os.sched_getaffinity(0)) + 2


def groups_of(tests: Sequence[pytest.Item]) -> dict[str, str]:
    """Group by test. Tests outside of all groups are left out; every worker finds the same."""
    found = ((test.nodeid, _group_of(test) or sharing_module(test)) for test in tests)
    return {test: group for test, group in found if group is not None}


def sharing_module(test: pytest.Item) -> str | None:
    """The module of a test that uses a fixture of its module, which other tests of that may share; None of another."""
    known = getattr(test, "_fixtureinfo", None)
    used = known.name2fixturedefs.values() if known else ()
    return test.nodeid.split("::")[0] if any(fixtures[-1].scope == "module" for fixtures in used) else None


def _group_of(test: pytest.Item) -> str | None:
    """First group that a test belongs to, if any."""

    def marked(*markers: str) -> bool:
        return any(test.get_closest_marker(marker) for marker in markers)

    fixtures: Sequence[str] = getattr(test, "fixturenames", ())
    parameters = test.callspec.params.values() if hasattr(test, "callspec") else ()
    belongs = {
        LABORATORY: "laboratory" in fixtures,
        ALONE: marked("alone"),
        GUEST: marked("guest"),
        PROCESSES: marked("container") and "process" in parameters,
        HOST: marked("container", "host"),
        SPARK: marked("spark") or "spark" in fixtures,
        PAGES: "browser" in fixtures,
    }
    return next((name for name, does in belongs.items() if does), None)


def _place(group: str | None) -> tuple[int, bool]:
    """The place of a group, or of a test without one, in the order in which tests begin."""
    return ORDER.index(group if group in ORDER else None), group is None


class Report(msgspec.Struct):
    """A worker's report to the controller."""

    pid: int
    groups: dict[str, str]
    """Group by test; see `groups_of`."""


class GroupReporter:
    """Plugin of a worker: sorts its tests, reports their groups to the controller, and has tests that only compute step
    back."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._groups: dict[str, str] = {}
        os.setpgid(0, 0)  # Ctrl-C reaches a whole process group; the controller passes it on

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        groups = groups_of(items)
        for test in items:
            if groups.get(test.nodeid) in _BESIDE_OTHERS:
                test.add_marker(pytest.mark.flaky(reruns=1))
        items.sort(key=lambda test: _place(groups.get(test.nodeid)))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Reports the groups before xdist says that tests are collected, also when a path of the user has none."""
        self._groups = groups_of(session.items)
        self._file.write_bytes(msgspec.json.encode(Report(os.getpid(), self._groups)))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        group = self._groups.get(nodeid)
        niceness = 0 if group in _IN_TIME else _BEFORE_THESE if group == SPARK else _BEHIND
        with contextlib.suppress(PermissionError):  # only root may come forward again
            os.setpriority(os.PRIO_PROCESS, 0, niceness)


class Controller:
    """Plugin of the process that hands tests out to workers."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._groups: dict[str, str] = {}
        self._workers: dict[WorkerController, int] = {}
        """Process id of each worker."""

    def _file(self, node: WorkerController) -> Path:
        return self._directory / f"{node.gateway.id}.json"

    def pytest_configure_node(self, node: WorkerController) -> None:
        node.workerinput[_REPORT_FILE] = str(self._file(node))

    def pytest_xdist_node_collection_finished(self, node: WorkerController) -> None:
        report = msgspec.json.decode(self._file(node).read_bytes(), type=Report)
        self._groups |= report.groups
        self._workers[node] = report.pid

    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Producer) -> Placement:
        config.option.loadscopereorder = False  # keep the order of the collection
        return Placement(config, log, self._groups)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Waits for interrupted workers, because xdist kills a worker after 10 s."""
        if exitstatus != pytest.ExitCode.INTERRUPTED:
            return
        running = {node: pid for node, pid in self._workers.items() if not node.channel.isclosed()}
        for pid in running.values():
            os.kill(pid, signal.SIGINT)
        for node in running:
            with contextlib.suppress(node.channel.TimeoutError, node.channel.RemoteError):
                node.channel.waitclose(_WIND_DOWN)


class Placement(LoadScopeScheduling):
    """Scheduler that hands out groups in the order of the collection, and `ALONE` when all other workers are idle.

    Of the workers that run out of tests while others still run some, all but one end; the last one waits.
    """

    def __init__(self, config: pytest.Config, log: Producer, groups: Mapping[str, str]) -> None:
        super().__init__(config, log)
        self._groups = groups

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        super().mark_test_complete(node, item_index, duration)
        work, group = self.assigned_work[node], self._split_scope(self.registered_collections[node][item_index])
        if all(work[group].values()):
            del work[group]  # because all work of a worker, done or not, is counted after each test
        if self._only_alone():
            for waiting in self.nodes:
                self._reschedule(waiting)

    def _split_scope(self, nodeid: str) -> str:
        return self._groups.get(nodeid, nodeid)

    def _reschedule(self, node: WorkerController) -> None:
        if self._only_alone() and self._has_little(node) and self._can_be_spared(node):
            node.shutdown()
        else:
            super()._reschedule(node)

    def _assign_work_unit(self, node: WorkerController) -> None:
        if ALONE in self.workqueue:
            self.workqueue.move_to_end(ALONE)  # a worker that crashed has put its tests back
        if self._only_alone() and self._others_work(node):
            return
        super()._assign_work_unit(node)
        if not self.workqueue:
            node.shutdown()  # after the tests that it has

    def _only_alone(self) -> bool:
        return len(self.workqueue) == 1 and ALONE in self.workqueue

    def _has_little(self, node: WorkerController) -> bool:
        return self._pending_of(self.assigned_work[node]) <= _FEW

    def _can_be_spared(self, node: WorkerController) -> bool:
        return not node.shutting_down and any(other is not node and not other.shutting_down for other in self.nodes)

    def _others_work(self, node: WorkerController) -> bool:
        return any(self._pending_of(work) for other, work in self.assigned_work.items() if other is not node)
