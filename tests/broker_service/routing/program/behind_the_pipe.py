"""Conformance cases and their logs, with a built-in protocol in this process and behind the pipe."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace

import msgspec

from broker_service.routing.program.references import reference_to
from studies.conformance import CaseVerdict, SimulatedCaseRunner, run_case
from studies.conformance.model import Case
from studies.conformance.protocols import ConformanceProtocol
from tests.broker_service.overlay import ListTrace

_encode = msgspec.json.Encoder().encode


def host(protocol: str, options: Mapping[str, object]) -> list[str]:
    """Argument vector of the program that is the router of a built-in protocol."""
    return [
        sys.executable,
        "-m",
        "tests.broker_service.routing.program.host",
        protocol,
        msgspec.json.encode(options).decode(),
    ]


def hosted(protocol: ConformanceProtocol) -> ConformanceProtocol:
    """A row whose protocol, with these options, is behind the pipe."""
    argv = host(protocol.protocol, protocol.options)
    return replace(protocol, protocol=reference_to(argv), options={})


def logged(case: Case, protocol: ConformanceProtocol) -> tuple[CaseVerdict, str, dict[str, list[bytes]]]:
    """The verdict on a case, what went wrong, and the lines of each broker's log."""
    traces: dict[str, ListTrace] = {}
    result = run_case(
        case,
        protocol,
        SimulatedCaseRunner(lambda broker: traces.setdefault(broker, ListTrace(broker))),
    )
    return result.verdict, result.problem, {node: list(map(_encode, trace.records)) for node, trace in traces.items()}
