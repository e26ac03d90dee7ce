"""Every built-in protocol behind the pipe writes the very log that it writes in the broker's own process."""

from __future__ import annotations

import pytest

from studies.conformance import PROTOCOLS, Case, CaseVerdict, read
from tests.broker_service.routing.program.behind_the_pipe import hosted, logged
from tests.documentation.markdown import ROOT

CASES = ROOT / "tests" / "conformance"


@pytest.mark.parametrize(
    ("row", "file", "id"),
    [
        ("tid-dynamic", "failures", "a-broker-off-the-route-dies"),
        ("tid-dcsr", "composite-lines", None),
        ("octopia-idr", "octopia-faults", None),
        ("cbf-aggregating", "failures", "a-broker-off-the-route-dies"),
        ("gryphon", "failures", "a-broker-off-the-route-dies"),
        ("gryphon", "sessions", None),
        ("channelization", "lines", "line-of-two"),
        ("semi-probabilistic", "failures", "a-broker-off-the-route-dies"),
        ("medym-mst", "failures", "a-broker-off-the-route-dies"),
    ],
)
def test_logs_are_equal(row: str, file: str, id: str | None) -> None:
    cases = [case for case in read(CASES / f"{file}.json") if isinstance(case, Case)]
    case = next(
        case for case in cases if (id is None or case.id == id) and (not case.protocols or row in case.protocols)
    )
    protocol = PROTOCOLS[row].with_options(case.options)
    bare = case.model_copy(update={"options": {}})
    expected = logged(bare, protocol)
    assert expected[0] is CaseVerdict.PASSED
    assert any(expected[2].values())
    assert logged(bare, hosted(protocol)) == expected
