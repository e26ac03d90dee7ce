"""Simulated variants side by side: the run of one process after another, and nothing left of those that end early."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import pytest

from emulation.fidelity import Measurements
from emulation.host import provenance
from emulation.host.room import Host
from emulation.planning.plan import Plan, make_plan
from emulation.run.context import RunContext
from emulation.run.directory import RunOutcome
from emulation.run.interrupt import Interrupt
from emulation.run.progress import NoDisplay, Snapshot
from emulation.run.variants import Deploy, Turn, run_variants
from emulation.simulation import run as simulation
from emulation.simulation.memory import at_a_time
from emulation.simulation.run import simulate
from record.errors import HostError, ProtocolCodeError
from record.exit_codes import ExitCode
from record.forked_processes import WorkFailedError
from record.manifest import read
from scenario.loading import load
from tests.outside.flooding import written
from tests.outside.test_blame import SCENARIO as OUTSIDE

ROOT = Path(__file__).resolve().parents[3]


class Lines(NoDisplay):
    """A display that keeps what it shows."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.shown: list[str] = []
        self._snapshot = snapshot

    def refresh(self) -> None:
        line = f"{self._snapshot.variant_number} {self._snapshot.phase}"
        if line not in self.shown[-1:]:
            self.shown.append(line)

    def print_line(self, line: str) -> None:
        self.shown.append(line)


class Shown:
    """Makes a display, and is one context manager for it."""

    def __call__(self, snapshot: Snapshot) -> Shown:
        self.lines = Lines(snapshot)
        return self

    def __enter__(self) -> Lines:
        return self.lines

    def __exit__(self, *_: object) -> None:
        return None


@pytest.fixture(scope="module")
def plan() -> Plan:
    """Four variants, on eight brokers."""
    return make_plan(load(ROOT / "scenarios" / "medym" / "medym-8.yaml"))


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    yield
    assert not multiprocessing.active_children()


def host_with(processors: int) -> Host:
    return Host(processors, memory=1 << 40)


def made_by(plan: Plan, out: Path, processors: int) -> tuple[RunOutcome, list[str]]:
    """A run, and the lines that it showed."""
    shown = Shown()
    outcome = simulate(plan, out, host=host_with(processors), show=shown)
    return outcome, shown.lines.shown


def content(run: Path) -> dict[str, bytes]:
    """All files of a run, less the times of day in the emulator's log."""
    files = {file.relative_to(run).as_posix(): file.read_bytes() for file in run.rglob("*") if file.is_file()}
    lines = files["emulator.log"].splitlines()
    return files | {"emulator.log": b"\n".join(line.partition(b" ")[2] for line in lines)}


def after_each(monkeypatch: pytest.MonkeyPatch, act: Callable[[RunContext, Turn], None]) -> None:
    """Lets something happen after each variant, in whatever process it runs."""

    def run(context: RunContext, turns: Iterable[Turn], deploy: Deploy) -> list[Measurements]:
        measured = []
        for turn in turns:
            measured += run_variants(context, [turn], deploy)
            act(context, turn)
        return measured

    monkeypatch.setattr(simulation, "run_variants", run)


def failing(monkeypatch: pytest.MonkeyPatch, number: int, fail: Callable[[RunContext], None]) -> None:
    """Lets a variant fail after it has run."""
    after_each(monkeypatch, lambda context, turn: fail(context) if turn.number == number else None)


def test_a_run_is_the_same_with_several_processes(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Tests beside this one may write files into the tree between the two runs.
    monkeypatch.setattr(provenance, "git_revision", lambda: "0123abc")
    after_each(monkeypatch, lambda context, turn: context.announce(f"{turn.variant.name} is over"))
    alone, lines = made_by(plan, tmp_path / "1", 1)
    beside, same_lines = made_by(plan, tmp_path / "3", 3)
    assert content(alone.directory) == content(beside.directory)
    assert [line for line in lines if line.endswith("is over")] == [f"{one.name} is over" for one in plan.variants]
    assert lines == same_lines
    assert alone.fidelity == beside.fidelity


def test_the_first_error_of_the_order_ends_a_run(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(context: RunContext) -> None:
        raise HostError(f"{context.snapshot.variant}: no room")

    failing(monkeypatch, 2, fail)
    with pytest.raises(HostError, match=f"^{plan.variants[1].name}: no room$"):
        made_by(plan, tmp_path, 3)
    run = tmp_path / plan.run_id
    assert [variant.name for variant in read(run).variants] == [variant.name for variant in plan.variants[:2]]
    assert not (run / "variants").exists()
    assert "no room" in (run / "emulator.log").read_text()


def test_a_defect_of_brokerlab_keeps_its_stack_trace(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: RunContext) -> None:
        raise ZeroDivisionError

    failing(monkeypatch, 1, fail)
    with pytest.raises(ZeroDivisionError) as raised:
        made_by(plan, tmp_path, 2)
    assert "in fail" in "".join(raised.value.__notes__)


def test_a_process_that_is_killed_is_an_error_that_names_its_variant(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, 1, lambda _: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(WorkFailedError, match=f"variant {plan.variants[0].name}: its process was killed by SIGKILL"):
        made_by(plan, tmp_path, 2)
    assert not (tmp_path / plan.run_id / "variants").exists()


def test_a_process_that_ends_by_itself_is_a_defect_of_its_protocol(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, 2, lambda _: os._exit(3))
    name, protocol = plan.variants[1].name, plan.variants[1].scenario.routing.protocol
    with pytest.raises(ProtocolCodeError) as raised:
        made_by(plan, tmp_path, 2)
    assert str(raised.value) == (
        f"broker defect: variant {name}: its process ended with code 3; code of the protocol {protocol} ended it"
    )
    assert raised.value.exit_code == ExitCode.BROKER_DEFECT


def test_an_author_who_ends_the_process_of_a_single_variant_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, "self._published += 1", "__import__('os')._exit(3)")
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(OUTSIDE)
    for runs in (tmp_path / "one", tmp_path / "other"):  # the first of them must not have ended this process
        with pytest.raises(ProtocolCodeError, match=re.escape(f"ended with code 3; code of the protocol {path} ended")):
            simulate(make_plan(load(scenario)), runs, host=host_with(1))


def test_an_interrupt_ends_all_that_run_in_order(plan: Plan, tmp_path: Path) -> None:
    longer = make_plan(load(ROOT / "scenarios" / "medym" / "medym-8.yaml", {"timeline.run": "10h"}))
    with Interrupt() as interrupt:
        end = partial(os.kill, os.getpid(), signal.SIGTERM)
        outcome = simulate(longer, tmp_path, host=host_with(2), interrupt=interrupt, when_begun=end)
    assert outcome.interrupted
    variants = read(outcome.directory).variants
    assert [(variant.name, variant.interrupted) for variant in variants] == [
        (variant.name, True) for variant in longer.variants[:2]
    ]


@pytest.mark.parametrize("processors", [1, 2])
def test_a_signal_after_the_last_variant_ends_what_follows_at_once(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processors: int
) -> None:
    monkeypatch.setattr(simulation, "conclude", lambda *_: os.kill(os.getpid(), signal.SIGINT))
    with Interrupt() as interrupt, pytest.raises(KeyboardInterrupt):
        simulate(plan, tmp_path, host=host_with(processors), interrupt=interrupt)
    assert not (tmp_path / plan.run_id / "variants").exists()


def test_as_many_variants_run_at_a_time_as_processors_and_memory_allow(plan: Plan) -> None:
    assert [at_a_time(plan.variants, host_with(processors)) for processors in (1, 3, 64)] == [1, 3, 4]
    assert [at_a_time(plan.variants, Host(64, memory << 20)) for memory in (0, 400)] == [1, 2]
