"""Grounds for a decision as text: why a composite subscription is detected where it is, with the costs compared."""

from __future__ import annotations

from collections.abc import Iterator

from broker_service.language.composite import And, Atomic, Composite, Or
from broker_service.language.formatting import format_composite
from broker_service.messages import BrokerId
from broker_service.routing.tid.placement.decision.choice import Decision
from broker_service.routing.tid.placement.decision.cost import TotalCost


def explain(decision: Decision, here: BrokerId) -> str:
    """Lines about a decision made at the broker `here`: a node, its candidates, then its operands, further indented.

    Parts are numbered from the left; the last lines show them. Of each candidate, the total routing cost is shown with
    the shares of the brokers that take part, and the one that was chosen is marked.
    """
    numbers = iter(range(1, 1 << 16))
    parts: list[Atomic] = []
    names = _names(decision.pattern, numbers, parts)
    lines = list(_lines(decision, here, iter(names), ""))
    lines += [f"part {number}: {format_composite(part)}" for number, part in enumerate(parts, 1)]
    return "\n".join(lines)


def _names(pattern: Composite, numbers: Iterator[int], parts: list[Atomic]) -> list[str]:
    """Names of the nodes of a pattern, each before those of its operands."""
    if isinstance(pattern, Atomic):
        parts.append(pattern)
        return [f"part {next(numbers)}"]
    below = [_names(operand, numbers, parts) for operand in pattern.operands]
    return [_joined(pattern, [names[0] for names in below]), *(name for names in below for name in names)]


def _joined(node: And | Or, names: list[str]) -> str:
    sign = " & " if isinstance(node, And) else " || "
    return "(" + sign.join(name.removeprefix("part ") for name in names) + ")"


def _lines(decision: Decision, here: BrokerId, names: Iterator[str], indent: str) -> Iterator[str]:
    places = " and ".join("here" if place == here else place for place in sorted(decision.destinations)) or "waits here"
    rate = f"{decision.rate:.3g} matches a second"
    yield f"{indent}{next(names)} -> {places}: {decision.reason.value}, {rate}"
    for cost in decision.costs:
        yield f"{indent}  {'*' if cost.place in decision.destinations else ' '} {_compared(cost)}"
    for operand in decision.operands:
        yield from _lines(operand, here, names, indent + "  ")


def _compared(cost: TotalCost) -> str:
    terms = " + ".join(f"{share:.3g} at {broker}" for broker, share in cost.by_broker.items())
    return f"join at {cost.place} costs {cost.total:.3g} = {terms}"
