"""Mistakes in a router's code end in one sentence: the protocol, the call, what was expected, the author's line."""

from __future__ import annotations

from pathlib import Path

import pytest

from record.errors import ProtocolCodeError
from record.exit_codes import ExitCode
from studies.conformance import CaseVerdict, Result, SimulatedCaseRunner, run_case
from studies.conformance.protocols import rows_of
from tests.outside.flooding import SOURCE, written
from tests.studies.conformance.cases import ADVERTISE, SUBSCRIBE, case, publish


def run(path: Path) -> Result:
    (row,) = rows_of(str(path))
    return run_case(case(ADVERTISE, SUBSCRIBE, publish("p1"), expect={"S": ["p1"]}), row, SimulatedCaseRunner())


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
        ("subscription)\n        return ()", "subscription)", "subscribe 's1' of client 'S'",
         NONE_RETURNED, ("def subscribe", "subscribe")),
        ("return [Deliver(clients, message), *(Send(name, onward) for name in self._context.links if name != source)]",
         "return Deliver(clients, message)", "publish 'p1' of client 'P'",
         "it returned one Deliver, and a list of actions is expected; write `[Deliver(...)]`",
         ("def publish", "publish")),
        ("Send(name, onward)", "Send('B9', onward)", "publish 'p1' of client 'P'",
         "it sends to 'B9', which is no neighbour; `context.links` has all neighbours", ("def publish", "publish")),
        ("header=number.encode()", "header=number", "publish 'p1' of client 'P'",
         "it sends a header of the type str to B2, and bytes are expected", ("def publish", "publish")),
        ("[Deliver(clients, message),", "[message.id,", "publish 'p1' of client 'P'",
         "it returned a list with 'p1', and only actions are expected, such as `Send` and `Deliver`",
         ("def publish", "publish")),
        ("return () if message.header in self._seen else", "return 1 / 0 if message.header in self._seen else 1 / 0 or",
         "publish 'p1' from B1", "ZeroDivisionError: division by zero",
         ("return () if message.header", "receive")),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_line(
    tmp_path: Path, former: str, new: str, occasion: str, reason: str, place: tuple[str, str]
) -> None:
    path = written(tmp_path, former, new)
    problem = run(path).problem.partition("\n")[0]
    text, function = place
    assert f"(protocol {path}) failed on {occasion}: {reason} ({path}:{line_of(text)}, in {function})" in problem


def test_a_message_in_circles_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, "return () if message.header in self._seen else", "return")
    path.write_text(path.read_text().replace("self._context.links if name != source", "list(self._context.links)[:1]"))
    problem = run(path).problem
    assert "after 104 hops, over 100 more than the overlay has brokers: the message goes in circles" in problem


@pytest.mark.parametrize(
    ("former", "new", "reason"),
    [
        ("return {broker: b\"ready\" for broker in preparation.brokers}", "return 1 / 0",
         "failed on `prepare`: ZeroDivisionError: division by zero"),
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
