"""Mistakes in a router's code end in one sentence: the protocol, the call, what was expected, the author's line."""

from __future__ import annotations

import re
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.report import build_report
from analysis.tables.audited import with_audit
from broker_service.routing import failures
from broker_service.routing.program.references import reference_to
from command_line.commands.verdicts import exit_code, print_verdicts
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record.errors import ProtocolCodeError
from record.exit_codes import ExitCode
from scenario.loading import load
from studies.conformance import CaseVerdict, Result, SimulatedCaseRunner, run_case
from studies.conformance.protocols import rows_of
from tests.outside import programs
from tests.outside.flooding import SOURCE, written
from tests.studies.conformance.cases import ADVERTISE, SUBSCRIBE, case, publish

SCENARIO = """
name: outside
topology: {kind: line, brokers: 3}
routing: {protocol: ./flooding.py}
workload:
  operations:
    - {at: 0s, client: P, broker: B1, id: a, advertise: "[class,eq,'STOCK']"}
    - {at: 1500ms, client: P, broker: B1, id: p, publish: "[class,'STOCK']"}
timeline: {join: 1s, run: 1s}
"""


PUBLISHING = case(ADVERTISE, SUBSCRIBE, publish("p1"), expect={"S": ["p1"]})


def run(path: Path) -> Result:
    (row,) = rows_of(str(path))
    return run_case(PUBLISHING, row, SimulatedCaseRunner())


def line_of(text: str) -> int:
    return SOURCE[: SOURCE.index(text)].count("\n") + 1


def test_the_file_without_a_mistake_passes(tmp_path: Path) -> None:
    assert run(written(tmp_path)).verdict is CaseVerdict.PASSED


NONE_RETURNED = "it returned None, and a list of actions is expected; is a `return` missing?"


@pytest.mark.parametrize(
    ("former", "new", "occasion", "reason", "place"),
    [
        ("        self._seen = set()", "        self._sene[0]", "the construction of its router",
         "AttributeError: 'Flooding' object has no attribute '_sene'", ("self._seen = set()", "__init__")),
        ("(self, context):\n", "(self):\n", "the construction of its router",
         "TypeError: Flooding.__init__() takes 1 positional argument but 2 were given",
         ("def __init__", "__init__")),
        ("subscription)\n        return ()", "subscription)", "subscribe 's1' of client 'S'",
         NONE_RETURNED, ("def subscribe", "subscribe")),
        ("return [Deliver(clients, message), *(Send(name, onward) for name in self._context.links if name != source)]",
         "return Deliver(clients, message)", "publish 'p1' of client 'P'",
         "it returned one Deliver, and a list of actions is expected; write `[Deliver(...)]`",
         ("def publish", "publish")),
        ("Send(name, onward)", "Send('B9', onward)", "publish 'p1' of client 'P'",
         "it sends to 'B9', which is no neighbour; `context.links` has all neighbours", ("def publish", "publish")),
        ("onward = msgspec.structs.replace(message, hops=message.hops + 1)", "onward = message",
         "publish 'p1' from B1",
         "it passes publish 'p1' on to B3 with 0 hops, and it came with 0; pass a message on with one hop more",
         ("def receive", "receive")),
        ("header=number.encode()", "header=number", "publish 'p1' of client 'P'",
         "it sends a header of the type str to B2, and bytes are expected", ("def publish", "publish")),
        ("[Deliver(clients, message),", "[message.id,", "publish 'p1' of client 'P'",
         "it returned a list with 'p1', and only actions are expected, such as `Send` and `Deliver`",
         ("def publish", "publish")),
        ("return () if message.header in self._seen else", "return 1 / 0 if message.header in self._seen else 1 / 0 or",
         "publish 'p1' from B1", "ZeroDivisionError: division by zero",
         ("return () if message.header", "receive")),
        ("self._published += 1", "raise SystemExit(3)", "publish 'p1' of client 'P'", "SystemExit: 3",
         ("self._published += 1", "publish")),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_line(
    tmp_path: Path, former: str, new: str, occasion: str, reason: str, place: tuple[str, str]
) -> None:
    path = written(tmp_path, former, new)
    (problem,) = run(path).problem.splitlines()  # and no stack trace
    text, function = place
    assert f"(protocol {path}) failed on {occasion}: {reason} ({path}:{line_of(text)}, in {function})" in problem


def test_a_message_in_circles_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, "return () if message.header in self._seen else", "return")
    path.write_text(path.read_text().replace("self._context.links if name != source", "list(self._context.links)[:1]"))
    problem = run(path).problem
    assert "after 104 hops, over 100 more than the overlay has brokers: the message goes in circles" in problem
    assert "and its way since hop 3 is 51 times (B2, B1)" in problem


def test_a_message_that_a_program_sends_in_circles_is_named(tmp_path: Path) -> None:
    path = programs.written(tmp_path, "[] if number in seen else ", "")
    path.write_text(path.read_text().replace("if one != source]", "][:1]"))
    (row,) = rows_of(reference_to([str(path)]))
    problem = run_case(PUBLISHING, row, SimulatedCaseRunner()).problem
    assert "the message goes in circles, and its way since hop 3 is 51 times (B2, B1)" in problem


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls may take a twentieth of a second of processor time, however long a busy host takes for that."""

    def sleep(seconds: float) -> None:
        end = time.process_time() + seconds
        while time.process_time() < end:
            time.sleep(seconds / 10)

    monkeypatch.setattr(failures, "time", SimpleNamespace(sleep=sleep))
    monkeypatch.setattr(failures, "LONGEST_CALL", 0.05)
    monkeypatch.setattr(failures, "LOOK_INTERVAL", 0.01)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "body", ["while True: pass", "while True:\n            try: 1 / 0\n            except Exception: pass"]
)
@pytest.mark.parametrize(
    ("before", "occasion", "function"),
    [
        ("self._published = 0", "the construction of its router", "__init__"),
        ("self._published += 1", "publish 'p1' of client 'P'", "publish"),
        ("self._seen.add(message.header)", "publish 'p1' of client 'P'", "_spread"),
        ("self._subscriptions.add((client, id), subscription)", "subscribe 's1' of client 'S'", "subscribe"),
    ],
)
def test_an_endless_loop_is_named_with_the_line_that_it_is_at(
    tmp_path: Path, before: str, occasion: str, function: str, body: str
) -> None:
    path = written(tmp_path, before, f"{before}\n        {body}")
    (sentence,) = run(path).problem.splitlines()
    reason = "the call has not returned for 0.05 s; is there an endless loop?"
    found = re.fullmatch(
        rf".*\(protocol {path}\) failed on {occasion}: {re.escape(reason)} \({path}:(\d+), in {function}\)", sentence
    )
    assert found is not None, sentence
    assert 0 <= int(found[1]) - line_of(before) - 1 < 3


@pytest.mark.usefixtures("impatient")
def test_calls_that_return_are_not_taken_for_one_endless_call(tmp_path: Path) -> None:
    """Brokers and cases work for far longer than one call may take, in calls of a hundredth of a second."""
    brief = "end = time.process_time() + 0.01\n        while time.process_time() < end: pass"
    path = written(tmp_path, "self._published = 0", f"self._published = 0\n        import time; {brief}")
    for _ in range(10):
        assert run(path).verdict is CaseVerdict.PASSED


@pytest.mark.parametrize(
    ("former", "new", "reason"),
    [
        ("return {broker: b\"ready\" for broker in preparation.brokers}", "return 1 / 0",
         "failed on `prepare`: ZeroDivisionError: division by zero"),
        ("return {broker: b\"ready\" for broker in preparation.brokers}", "raise SystemExit(3)",
         "failed on `prepare`: SystemExit: 3"),
        ("return {broker: b\"ready\"", "return {broker: 'ready'",
         "failed on `prepare`: TypeError: it returned str for broker B1, and bytes are expected"),
        ("return {broker: b\"ready\" for broker in preparation.brokers}", "pass",
         "failed on `prepare`: TypeError: it returned NoneType, and a mapping of bytes by broker is expected"),
        ("    patience: float = 1.0", "    patience: float = 1.0\n    def __post_init__(self): {}['key']",
         "failed on its options: KeyError: 'key'"),
    ],
)  # fmt: skip
def test_a_mistake_while_planning_is_named(tmp_path: Path, former: str, new: str, reason: str) -> None:
    path = written(tmp_path, former, new)
    with pytest.raises(ProtocolCodeError) as caught:
        run(path)
    assert f"protocol {path} {reason}" in str(caught.value)
    assert caught.value.exit_code == ExitCode.BROKER_DEFECT


def test_a_mistake_before_any_line_of_the_author_is_named_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "bare.py"
    path.write_text("from brokerlab.protocol import *\nclass Bare(Router): pass\nPROTOCOL = Protocol(Bare)\n")
    assert run(path).problem.endswith(f"TypeError: Bare() takes no arguments ({path})")


def test_a_run_says_one_sentence_and_gives_no_other_advice(tmp_path: Path) -> None:
    written(tmp_path, "self._published += 1", "self._published += '1'")
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(SCENARIO)
    outcome = simulate(make_plan(load(scenario)), tmp_path / "runs")
    summary = analyze(outcome.directory, PlainEngine())
    console = Console(width=1000)
    with console.capture() as captured:
        print_verdicts(console, summary, with_audit(outcome.fidelity, summary))
    lines = [line.strip() for line in captured.get().splitlines()]
    assert outcome.defect in lines
    assert lines[lines.index("fidelity: INVALID") + 1 :] == []
    page = build_report(outcome.directory).read_text()
    assert "logs without an end" in outcome.fidelity.variants[0].reasons[0]
    assert "logs without an end: " not in page
    assert "Traceback" not in captured.get()
    assert exit_code(summary) is ExitCode.BROKER_DEFECT
