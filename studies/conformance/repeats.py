"""Determinism of a protocol: a case that is run twice in the simulator gives the same logs, byte for byte."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import zip_longest

import msgspec

from broker_service.routing import protocol_named
from record.log import TraceRecord
from studies.conformance.model import Case
from studies.conformance.protocols import ConformanceProtocol
from studies.conformance.result import CaseVerdict, Result
from studies.conformance.running import run_case
from studies.conformance.simulated import SimulatedCaseRunner

_encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class _LinesInMemory:
    """The lines of a broker's log."""

    node: str
    variant: str = "base"
    lines: list[bytes] = field(default_factory=list)

    @property
    def written(self) -> int:
        return len(self.lines)

    def write(self, record: TraceRecord) -> None:
        self.lines.append(_encode(record))


def run_twice(case: Case, protocol: ConformanceProtocol) -> Result:
    """Runs a case twice and compares the logs. Skipped for a protocol that declares that it is not deterministic."""
    difference, note = "", "run twice, logs compared"
    deterministic = protocol_named(protocol.protocol).options.deterministic
    if deterministic:
        difference = _difference(case, protocol)
    else:
        note = f"{protocol.name} declares that it is not deterministic"
    passed = CaseVerdict.FAILED if difference else CaseVerdict.PASSED
    verdict = passed if deterministic else CaseVerdict.SKIPPED
    problem = f"{protocol.name} is not deterministic: run twice, {difference}" if difference else ""
    return Result(
        case=case.id,
        protocol=protocol.name,
        runtime=SimulatedCaseRunner.runtime,
        verdict=verdict,
        problem=problem,
        note=note,
    )


def _difference(case: Case, protocol: ConformanceProtocol) -> str:
    """The first difference between the logs of two runs of a case, in words; empty without one."""
    first, second = _logs(case, protocol), _logs(case, protocol)
    for node in sorted(first.keys() | second.keys()):
        for number, (one, other) in enumerate(zip_longest(first.get(node, []), second.get(node, [])), start=1):
            if one != other:
                return f"record {number} of broker {node} is once {_shown(one)}, and then {_shown(other)}"
    return ""


def _logs(case: Case, protocol: ConformanceProtocol) -> Mapping[str, list[bytes]]:
    logs: dict[str, _LinesInMemory] = {}
    run_case(case, protocol, SimulatedCaseRunner(lambda broker: logs.setdefault(broker, _LinesInMemory(broker))))
    return {node: log.lines for node, log in logs.items()}


def _shown(line: bytes | None) -> str:
    return "missing" if line is None else line.decode()
