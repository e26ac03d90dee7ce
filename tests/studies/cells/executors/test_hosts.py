"""Cells on hosts, with Ansible played by the test: one queue, each cell once, and what happens when hosts fail."""

from __future__ import annotations

import tarfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from emulation.ansible import Inventory, PlayCancelledError, Played, PlayError, TaskFailure, TaskResult
from record.errors import BadInputError, HostError
from studies.campaign.cell import CampaignCell
from studies.campaign.directory import CampaignDirectory
from studies.campaign.result import CampaignResult
from studies.cells import AnyCell
from studies.cells.attempt import AnyAttempt, Attempt, AttemptedCell, CellRequest, Keep
from studies.cells.executors.hosts import HostExecutor
from studies.cells.executors.interface import ExecutorOptions
from tests.studies.campaign.made_up import attempt, cell

Answer = Callable[[str, CellRequest, Mapping[str, Any]], Attempt[CampaignResult]]


def answered(request: CellRequest, *verdicts: str, **options: Any) -> Attempt[CampaignResult]:
    assert isinstance(request.cell, CampaignCell)
    return attempt(request.cell, *verdicts, **options)


def seed_of(request: CellRequest) -> int:
    assert isinstance(request.cell, CampaignCell)
    return request.cell.seed


def attempt_of(attempted: AttemptedCell) -> AnyAttempt:
    assert isinstance(attempted.attempt, Attempt)
    return attempted.attempt


class SilentBoard:
    """A progress board that shows nothing."""

    def begin(self, cell: AnyCell, host: str) -> None:
        """Shows nothing."""

    def end(self, attempted: AttemptedCell, *, final: bool) -> None:
        """Shows nothing."""

    def print_line(self, line: str) -> None:
        """Shows nothing."""


class Ansible:
    """Stands in for `play`: answers as the hosts would."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.played: list[tuple[str, str]] = []
        """Playbook and host."""
        self.variables: list[Mapping[str, Any]] = []

    def __call__(
        self, playbook: str, inventory: Inventory, private: Path, variables: Mapping[str, Any], *, limit: str,
        cancelled: Callable[[], bool] | None = None,
    ) -> Played:  # fmt: skip
        self.played.append((playbook, limit))
        self.variables.append(variables)
        if playbook != "cell.yml":
            return Played(())
        request = CellRequest.decode(variables["request"].encode(), CampaignCell)
        output = msgspec.json.encode(self.answer(limit, request, variables)).decode()
        return Played((TaskResult(limit, "run the cell", {"stdout": output}),))

    def hosts_of(self) -> Counter[str]:
        return Counter(host for playbook, host in self.played if playbook == "cell.yml")


def inventory(*hosts: str, local: bool = True) -> Inventory:
    connection = {"ansible_connection": "local"} if local else {}
    return Inventory(Path("/nowhere"), hosts, dict.fromkeys(hosts, connection))


def failed(host: str, message: str) -> PlayError:
    return PlayError("cell.yml", (TaskFailure(host, "run the cell", message),))


def executor(tmp_path: Path, play: Callable[..., Played], hosts: Inventory) -> HostExecutor:
    options = ExecutorOptions(runtime="process", keep=Keep.FAILED, retries=1, inventory=hosts)
    return HostExecutor(options, CampaignDirectory(tmp_path), SilentBoard(), play)


def test_hosts_share_one_queue(tmp_path: Path) -> None:
    both = threading.Barrier(2, timeout=60)

    def answer(host: str, request: CellRequest, variables: Mapping[str, Any]) -> Attempt[CampaignResult]:
        if seed_of(request) <= 2:
            both.wait()  # the first two cells run at the same time, on different hosts
        return answered(request)

    ansible, cells = Ansible(answer), [cell(number) for number in range(1, 8)]
    done = list(executor(tmp_path, ansible, inventory("a", "b")).run(cells))
    assert Counter(attempted.cell.key for attempted in done) == Counter(cell.key for cell in cells)
    assert {attempt_of(attempted).host for attempted in done} == {"a", "b"} == set(ansible.hosts_of())


def test_a_busy_host_tries_again_and_no_more_than_it_should(tmp_path: Path) -> None:
    ansible = Ansible(lambda host, request, _: answered(request, fidelity="INVALID", busy=True))
    done = list(executor(tmp_path, ansible, inventory("a")).run([cell()]))
    assert [attempt_of(attempted).busy for attempted in done] == [True, True]


def test_what_a_failing_host_had_is_done_by_another(tmp_path: Path) -> None:
    """Also when the other one has nothing left to do by then."""
    taken, last = threading.Event(), threading.Event()

    def answer(host: str, request: CellRequest, variables: Mapping[str, Any]) -> Attempt[CampaignResult]:
        if host == "bad":
            taken.set()
            assert last.wait(20)
            raise failed(host, "no Docker here")
        assert taken.wait(20)
        if seed_of(request) == 4:
            last.set()
        return answered(request)

    ansible, cells = Ansible(answer), [cell(number) for number in range(1, 5)]
    done = list(executor(tmp_path, ansible, inventory("bad", "good")).run(cells))
    assert {attempted.cell.key for attempted in done} == {cell.key for cell in cells}
    assert ansible.hosts_of()["bad"] == 1


def test_when_no_host_is_left_the_cells_own_words_are_told(tmp_path: Path) -> None:
    def answer(host: str, request: CellRequest, variables: Mapping[str, Any]) -> Attempt[CampaignResult]:
        raise failed(host, f"no Docker on {host}")

    with pytest.raises(HostError, match="a: no Docker on a"):
        list(executor(tmp_path, Ansible(answer), inventory("a")).run([cell(1), cell(2)]))


def test_mistakes_in_the_inventory_alone_are_bad_input(tmp_path: Path) -> None:
    mistaken = PlayError("cell.yml", (TaskFailure("a", "require a directory that can be written", "name another"),))

    def answer(host: str, request: CellRequest, variables: Mapping[str, Any]) -> Attempt[CampaignResult]:
        raise mistaken if host == "a" else failed(host, "no Docker here")

    with pytest.raises(BadInputError, match="a: require a directory that can be written: name another"):
        list(executor(tmp_path / "alone", Ansible(answer), inventory("a")).run([cell()]))
    with pytest.raises(HostError, match="b: no Docker here"):
        list(executor(tmp_path / "both", Ansible(answer), inventory("a", "b")).run([cell()]))


def test_a_fault_of_the_program_itself_is_not_hidden(tmp_path: Path) -> None:
    def answer(host: str, request: CellRequest, variables: Mapping[str, Any]) -> Attempt[CampaignResult]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(executor(tmp_path, Ansible(answer), inventory("a")).run([cell()]))


def test_a_host_with_another_brokerlab(tmp_path: Path) -> None:
    def play(playbook: str, *arguments: object, limit: str, **options: object) -> Played:
        return Played((TaskResult(limit, "run the cell", {"stdout": "hello"}),))

    cells = executor(tmp_path, play, inventory("a"))
    with pytest.raises(HostError, match="did not answer with the outcome of its cell"):
        list(cells.run([cell()]))


@contextmanager
def _stopped_under_way(
    tmp_path: Path, hosts: Inventory, ended: Callable[[HostExecutor, Mapping[str, Any]], bool]
) -> Iterator[tuple[list[AttemptedCell], Ansible]]:
    """A cell that goes on until `ended`, and a user who stops the campaign meanwhile."""

    def answer(host: str, request: CellRequest, variables: Mapping[str, Any]) -> Attempt[CampaignResult]:
        cells.stop()
        for _ in range(2000):
            if ended(cells, variables):
                raise failed(host, "interrupted")
            threading.Event().wait(0.01)
        raise AssertionError("the cell was not asked to end")

    ansible = Ansible(answer)
    cells = executor(tmp_path, ansible, hosts)
    yield list(cells.run([cell(1), cell(2)])), ansible


def test_stopping_asks_a_local_cell_to_end(tmp_path: Path) -> None:
    """The file `stop` ends them. No further cell begins, and the interrupted one does not count as an attempt."""

    def ended(_: HostExecutor, variables: Mapping[str, Any]) -> bool:
        return (Path(variables["cell_directory"]) / "stop").exists()

    with _stopped_under_way(tmp_path, inventory("a"), ended) as (done, ansible):
        assert done == []
        assert ansible.hosts_of() == Counter({"a": 1})
    assert not list(tmp_path.glob("cells/*/work-*"))


def test_stopping_asks_a_cell_elsewhere_to_end(tmp_path: Path) -> None:
    asked = threading.Event()

    class Elsewhere(Ansible):
        def __call__(self, playbook: str, *arguments: Any, **options: Any) -> Played:
            if playbook == "stop-cell.yml":
                asked.set()
            return super().__call__(playbook, *arguments, **options)

    def answer(host: str, request: CellRequest, variables: Mapping[str, Any]) -> Attempt[CampaignResult]:
        cells.stop()
        assert asked.wait(20)
        raise failed(host, "interrupted")

    ansible = Elsewhere(answer)
    cells = executor(tmp_path, ansible, inventory("far", local=False))
    assert list(cells.run([cell()])) == []
    assert ("stop-cell.yml", "far") in ansible.played


def test_abandoning_waits_for_nothing(tmp_path: Path) -> None:
    class Cancellable(Ansible):
        def __call__(self, playbook: str, *arguments: Any, **options: Any) -> Played:
            cells.abandon()
            assert options["cancelled"]()
            raise PlayCancelledError(playbook)

    cells = executor(tmp_path, Cancellable(lambda host, request, _: answered(request)), inventory("a"))
    assert list(cells.run([cell(1), cell(2)])) == []


@pytest.mark.parametrize("local", [True, False])
def test_a_run_directory_that_stays_comes_here(tmp_path: Path, local: bool) -> None:
    """Moved from beside it, or out of what Ansible fetched."""

    def answer(host: str, request: CellRequest, variables: Mapping[str, Any]) -> Attempt[CampaignResult]:
        made = Path(variables["cell_directory"] if local else tmp_path / "far") / "runs" / "run-1"
        made.mkdir(parents=True)
        (made / "manifest.json").write_text("{}")
        if not local:
            with tarfile.open(Path(variables["fetch_into"]) / "run.tar.gz", "w:gz") as archive:
                archive.add(made, "run-1")
        return msgspec.structs.replace(answered(request, "lost"), run="run-1")

    hosts = inventory("a", local=local)
    (done,) = executor(tmp_path / "out", Ansible(answer), hosts).run([cell()])
    assert attempt_of(done).run == "run-1"
    assert (tmp_path / "out" / "cells" / "kill-1" / "runs" / "run-1" / "manifest.json").exists()
    assert not list(tmp_path.glob("out/cells/*/work-*"))


def test_a_cell_elsewhere_watches_no_process_of_this_host(tmp_path: Path) -> None:
    for local in (True, False):
        ansible = Ansible(lambda host, request, _: answered(request))
        list(executor(tmp_path / str(local), ansible, inventory("a", local=local)).run([cell()]))
        assert bool(ansible.variables[0]["owner"]) is local
