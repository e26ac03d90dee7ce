"""Cases about the content model alone: no broker, no protocol, no runtime."""

from __future__ import annotations

import time
from typing import cast

from broker_service.language import Advertisement, Publication, Subscription
from broker_service.language.content import matches
from broker_service.language.relations import covers, intersects, overlaps
from studies.conformance.model import Relation
from studies.conformance.operands import Operand, left_operand, right_operand
from studies.conformance.result import CaseVerdict, Result


def run_relation(case: Relation) -> Result:
    """Asks the content model, and compares."""
    begin = time.monotonic()
    left = left_operand(case.relation, case.left_is, case.left)
    found = holds(case.relation, left, right_operand(case.relation, left, case.right))
    problem = ""
    if found != case.expect:
        problem = f"{case.relation} should be {_word(case.expect)} and is {_word(found)}: {case.left}  |  {case.right}"
    verdict = CaseVerdict.FAILED if problem else CaseVerdict.PASSED
    return Result(case=case.id, verdict=verdict, problem=problem, seconds=time.monotonic() - begin)


def holds(relation: str, left: Operand, right: Operand) -> bool:
    """True when a relation holds between two operands, as `operands` defines them."""
    if relation == "matches":
        if isinstance(left, Publication):
            left, right = right, left
        return matches(cast(Subscription, left), cast(Publication, right))
    if relation == "covers":
        return covers(cast(Subscription, left), cast(Subscription, right))
    if isinstance(left, Advertisement):
        return intersects(left, cast(Subscription, right))
    return overlaps(cast(Subscription, left), cast(Subscription, right))


def _word(value: bool) -> str:
    return "true" if value else "false"
