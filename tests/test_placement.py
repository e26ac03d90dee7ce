"""Who is handed which tests, and when."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.placement import ALONE, HOST, SPARK, Placement

GROUPS = {"h1": HOST, "h2": HOST, "h3": HOST, "s1": SPARK, "s2": SPARK, "m1": ALONE, "m2": ALONE}
PLAIN = ["t1", "t2", "t3", "t4", "t5", "t6"]


class Worker:
    """Stands for a worker: it runs a test when it knows the next one, or that there is none."""

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
    """Workers and a scheduler, in steps of one test."""

    def __init__(self, workers: int, tests: list[str]) -> None:
        self.tests = tests
        self.done: list[tuple[str, str]] = []
        """Worker and test."""
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
        """Again and again the first worker of `order` that can runs a test; all tests, in the order of their ends."""
        while able := [self.workers[number] for number in order if self.workers[number].can_run]:
            self.step(able[0])
        assert not self.placement.has_pending
        assert all(worker.shutting_down for worker in self.workers)
        return [test for _, test in self.done]

    def ran_on(self, group: str) -> set[str]:
        return {worker for worker, test in self.done if GROUPS.get(test) == group}


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
def test_groups_stay_together_and_what_is_alone_comes_last(order: list[int]) -> None:
    tests = ["h1", "h2", "h3", "s1", "s2", *PLAIN, "m1", "m2"]
    run = Run(3, tests)
    done = run.to_the_end(order)
    assert sorted(done) == sorted(tests)
    assert done[-2:] == ["m1", "m2"]
    assert all(len(run.ran_on(group)) == 1 for group in (HOST, SPARK, ALONE))


@pytest.mark.parametrize("tests", [["m1"], ["m1", "m2"], ["t1", "m1"], ["h1", "m1", "m2"], ["t1", "t2"]])
def test_little_to_do(tests: list[str]) -> None:
    assert Run(3, tests).to_the_end([0, 1, 2]) == tests


@pytest.mark.parametrize("slow", [0, 1])
def test_what_is_alone_waits_for_the_slowest_worker(slow: int) -> None:
    run = Run(2, ["h1", "h2", "h3", "t1", "t2", "m1"])
    waited_for, other = run.workers[slow], run.workers[1 - slow]
    while other.can_run:
        run.step(other)
    assert waited_for.queue
    assert "m1" not in [run.tests[test] for test in other.queue]
    assert run.to_the_end([1 - slow, slow])[-1] == "m1"


def test_what_a_crashed_worker_had_is_run_before() -> None:
    run = Run(2, ["h1", "h2", "h3", "t1", "t2", "t3", "t4", "m1"])
    first, second = run.workers
    run.step(first)
    run.workers.remove(first)
    assert run.placement.remove_node(first) == "h2"
    done = run.to_the_end([0])
    assert {"h2", "h3"} <= set(done)
    assert done[-1] == "m1"
    assert second.shutting_down
