"""Conformance: behaviour as data, the same on every runtime and under every routing protocol.

case = parse_cases(text, "name")[0]                              # or read(path), or made in Python: Case(...)
result = run_case(case, PROTOCOLS["tid-fixed"], SimulatedCaseRunner())
print(write(case))                                               # as it can be pasted into a file
"""

from studies.conformance.checks import problems
from studies.conformance.model import (
    AnyCase,
    BrokerFault,
    Case,
    CaseLink,
    Declaration,
    LinkFault,
    Relation,
    Step,
    Withdrawal,
)
from studies.conformance.protocols import PROTOCOLS, ConformanceProtocol
from studies.conformance.reading import CaseError, parse_cases, read, read_all
from studies.conformance.relations import run_relation
from studies.conformance.result import CaseVerdict, Difference, Result
from studies.conformance.running import run_case
from studies.conformance.simulated import SimulatedCaseRunner
from studies.conformance.writing import write, write_all

__all__ = [
    "PROTOCOLS",
    "AnyCase",
    "BrokerFault",
    "Case",
    "CaseError",
    "CaseLink",
    "CaseVerdict",
    "ConformanceProtocol",
    "Declaration",
    "Difference",
    "LinkFault",
    "Relation",
    "Result",
    "SimulatedCaseRunner",
    "Step",
    "Withdrawal",
    "parse_cases",
    "problems",
    "read",
    "read_all",
    "run_case",
    "run_relation",
    "write",
    "write_all",
]
