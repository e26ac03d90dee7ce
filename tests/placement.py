"""Which tests may run beside which others, when `pytest -n auto` (that is `make test`) spreads them over workers.

Most tests need nothing but CPU and go to whichever worker is free, one by one. The others form groups; the tests of a
group run one after another, on one worker:

- `HOST`: what starts containers, Mininet or links on this host (the marker `container`), or takes it for itself without
  needing any of these (`host`). They look for what is left behind and end what others began, so they cannot meet;
  beside tests that only compute they are right all the same, since what they demand is what was delivered and what
  was left, never how punctual it was. They mostly wait.
- `LABORATORY`: runs over the three hosts of `tests/emulation/multi_host/laboratory.py`. Their namespaces, `/run`
  included, are their own, so they meet neither the host's runs nor its Docker. They mostly wait, too.
- `SPARK`: what takes a Java machine (the marker `spark`, or the fixture of that name), so that there is one at a time.
- `ALONE`: what measures what neighbours would spoil, such as a link's delay to a fraction of a millisecond or a verdict
  VALID (the markers `alone` and `guest`). They come last, when everything else is done.

Without `-n` there is no placement: all tests run in the order of their files.

pytest-xdist has groups of its own, known by a suffix to a test's name. That suffix is lost, and the groups with it, in
the versions that constraints.txt pins; it would also be in the way of whoever copies a name from a report. So workers
tell the controller in a file.

Ctrl-C reaches the controller alone, which hands it on and waits until the tests under way have put away what they made.
SIGTERM, with which CI ends what takes too long, does the same, with workers or without.
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
LABORATORY = "laboratory"
SPARK = "spark"
ALONE = "alone"
ORDER = (HOST, LABORATORY, None, SPARK, ALONE)
"""In which tests are begun: first what takes longest. None stands for all that are in no group; they are seen to pass
from the beginning, and Java has the CPUs when the laboratory's hosts are done with them."""

_TOLD_IN = "placement"
_FEW = 2
"""Tests with which a worker is given more: to run one it has to know the next."""
_PATIENCE = 60.0
"""Seconds that a worker has for ending what it was interrupted in."""


def install(config: pytest.Config) -> None:
    """Makes a controller and its workers place tests, unless the user chose another `--dist`."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if in_worker(config):
        if _TOLD_IN in config.workerinput:
            config.pluginmanager.register(Teller(Path(config.workerinput[_TOLD_IN])))
    elif config.getoption("dist", "no") == "load":
        directory = tempfile.TemporaryDirectory(prefix="placement-")
        config.add_cleanup(directory.cleanup)
        config.pluginmanager.register(Controller(Path(directory.name)))


def in_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def workers() -> int:
    """What `-n auto` stands for: one more than CPUs, as two of the groups mostly wait."""
    return len(os.sched_getaffinity(0)) + 1


def group(test: pytest.Item) -> str | None:
    """The first group that the test belongs to."""

    def marked(*markers: str) -> bool:
        return any(test.get_closest_marker(marker) for marker in markers)

    fixtures: Sequence[str] = getattr(test, "fixturenames", ())
    belongs = {
        ALONE: marked("alone", "guest"),
        LABORATORY: "laboratory" in fixtures,
        HOST: marked("container", "host"),
        SPARK: marked("spark") or "spark" in fixtures,
    }
    return next((name for name, does in belongs.items() if does), None)


class Told(msgspec.Struct):
    """What a worker tells."""

    pid: int
    groups: dict[str, str]
    """By test, of those that are in one."""


class Teller:
    """In a worker."""

    def __init__(self, file: Path) -> None:
        self._file = file
        os.setpgid(0, 0)  # a terminal interrupts all of a process group, and twice is once too often
        signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background may ignore it

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        groups = {test.nodeid: group(test) for test in items}
        items.sort(key=lambda test: ORDER.index(groups[test.nodeid]))
        told = Told(os.getpid(), {name: found for name, found in groups.items() if found})
        self._file.write_bytes(msgspec.json.encode(told))


class Controller:
    """Where tests are handed out."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._groups: dict[str, str] = {}
        self._workers: dict[WorkerController, int] = {}
        """Their pids."""

    def _file(self, node: WorkerController) -> Path:
        return self._directory / f"{node.gateway.id}.json"

    def pytest_configure_node(self, node: WorkerController) -> None:
        node.workerinput[_TOLD_IN] = str(self._file(node))

    def pytest_xdist_node_collection_finished(self, node: WorkerController) -> None:
        told = msgspec.json.decode(self._file(node).read_bytes(), type=Told)
        self._groups |= told.groups
        self._workers[node] = told.pid

    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Producer) -> Placement:
        config.option.loadscopereorder = False  # the order of the collection
        return Placement(config, log, self._groups)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """xdist gives a worker 10 s to end, and then kills it."""
        if exitstatus != pytest.ExitCode.INTERRUPTED:
            return
        under_way = {node: pid for node, pid in self._workers.items() if not node.channel.isclosed()}
        for pid in under_way.values():
            os.kill(pid, signal.SIGINT)
        for node in under_way:
            with contextlib.suppress(node.channel.TimeoutError, node.channel.RemoteError):
                node.channel.waitclose(_PATIENCE)


class Placement(LoadScopeScheduling):
    """Hands out groups in the order of the collection, and `ALONE` when no other worker has anything to do.

    Of the workers that run out of work while others have some, all but one end; the last one waits.
    """

    def __init__(self, config: pytest.Config, log: Producer, groups: Mapping[str, str]) -> None:
        super().__init__(config, log)
        self._groups = groups

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        super().mark_test_complete(node, item_index, duration)
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
            self.workqueue.move_to_end(ALONE)  # a worker that crashed has put back what it had
        if self._only_alone() and self._others_work(node):
            return
        super()._assign_work_unit(node)
        if not self.workqueue:
            node.shutdown()  # after what it has been given

    def _only_alone(self) -> bool:
        return len(self.workqueue) == 1 and ALONE in self.workqueue

    def _has_little(self, node: WorkerController) -> bool:
        return self._pending_of(self.assigned_work[node]) <= _FEW

    def _can_be_spared(self, node: WorkerController) -> bool:
        return not node.shutting_down and any(other is not node and not other.shutting_down for other in self.nodes)

    def _others_work(self, node: WorkerController) -> bool:
        return any(self._pending_of(work) for other, work in self.assigned_work.items() if other is not node)
