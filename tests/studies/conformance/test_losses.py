"""A case that failed shows what brokers dropped and refused, in virtual time and on real brokers."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulation.run.interrupt import Interrupt
from studies.conformance import Result, SimulatedCaseRunner, run_case
from studies.conformance.display import explanation
from studies.conformance.host import host_case_runner
from studies.conformance.protocols import rows_of
from tests.outside.flooding import written
from tests.studies.conformance.cases import ADVERTISE, SUBSCRIBE, case, publish

CASE = case(ADVERTISE, SUBSCRIBE, publish("p1"), publish("p2"), expect={"S": ["p1", "p2"]})
CHANGE = (
    "return () if message.header in self._seen else",
    "if self._context.broker == 'B2': raise MalformedMessageError(f'no hops in {message.hops}')\n        return",
)
SHOWN = [
    "brokers dropped or refused:",
    "  B2 dropped publish 'p1': malformed: no hops in 1",
    "  B2 dropped publish 'p2': malformed: no hops in 1",
]


def dropping(directory: Path) -> str:
    """A protocol whose broker B2 takes all messages for malformed."""
    path = written(directory, *CHANGE)
    path.write_text(path.read_text().replace("import Deliver,", "import Deliver, MalformedMessageError,"))
    return str(path)


def lines(result: Result) -> list[str]:
    shown = list(explanation(result))
    return shown[shown.index(SHOWN[0]) :][: len(SHOWN)]


def test_drops_are_shown_with_their_reasons(tmp_path: Path) -> None:
    protocol = dropping(tmp_path)
    (row,) = rows_of(protocol)
    result = run_case(CASE, row, SimulatedCaseRunner())
    assert lines(result) == SHOWN
    assert list(explanation(result))[-1] == f"again: --case line --protocol {protocol} --runtime simulated"


def test_nothing_is_shown_of_a_case_that_passed(tmp_path: Path) -> None:
    (row,) = rows_of(dropping(tmp_path))
    passed = case(ADVERTISE, SUBSCRIBE, publish("p1"), expect={})
    assert run_case(passed, row, SimulatedCaseRunner()).losses == ()


def test_refused_publications_are_shown(tmp_path: Path) -> None:
    path = written(tmp_path, "self._published += 1", "raise RefusedPublicationError('not today')")
    path.write_text(path.read_text().replace("import Deliver,", "import Deliver, RefusedPublicationError,"))
    (row,) = rows_of(str(path))
    result = run_case(CASE, row, SimulatedCaseRunner())
    assert result.losses[0] == "B1 refused publish 'p1' of client P: not today"


@pytest.mark.container
def test_drops_of_real_brokers_are_shown_of_this_case_alone(tmp_path: Path) -> None:
    (row,) = rows_of(dropping(tmp_path))
    with Interrupt() as interrupt, host_case_runner("process", interrupt, print) as runner:
        assert lines(run_case(CASE, row, runner)) == SHOWN
        other = case(ADVERTISE, SUBSCRIBE, publish("p3"), expect={"S": ["p3"]})
        assert run_case(other, row, runner).losses == ("B2 dropped publish 'p3': malformed: no hops in 1",)
