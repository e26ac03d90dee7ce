"""Cardinality |P(S)|: matches of a subscription a second (section 4.3, Table 2).

A part has the rates of the advertisements that it intersects, each times its selection factor. Two functions combine
operands of `&` and `||`:

- `paper` is Table 2: the least of the operands for `&`, their sum for `||`. It holds where each match is used once.
- `within` estimates detections as they are defined here, where every combination within a window of W seconds counts.
  n streams of independent arrivals complete n W^(n-1) times the product of their rates, for two streams
  2 W |P(Sl)| |P(Sr)|, and variables agree with the chance that their distributions state.

Places are chosen by `paper` alone. Section 4.2 sends a unit whose parts have one destination there without comparing
costs, which is right where detections are fewer than publications, as Table 2 has it. By `within` they may be more by
any factor. The cheapest place is then on the subscriber's side of the brokers at which the parts meet, and a unit that
is moved there is sent back at once by the rule of section 4.2: in trials it went to and fro at every interval.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

from broker_service.language.composite import And, Atomic, Or, Variable, VariablePredicate, VariableType
from broker_service.language.composite_subscription import binds, relaxed
from broker_service.messages import BrokerId
from broker_service.routing.tid.placement.rates.histograms import FrequentValues
from broker_service.routing.tid.placement.rates.selection import Selection
from broker_service.routing.tid.placement.rates.statistics import Statistics


@dataclass(frozen=True, slots=True)
class Source:
    """An advertisement that a part intersects, seen from one broker."""

    next_hop: BrokerId
    """The neighbour towards the publisher; this broker itself for a client of its own."""
    statistics: Statistics


@dataclass(frozen=True, slots=True)
class Matches:
    """Matches of a pattern, as estimated."""

    rate: float
    """Matches a second, |P(S)|."""
    values: Mapping[Variable, FrequentValues]
    """Distributions of the values that matches give to variables, where they are known."""


@dataclass(frozen=True, slots=True)
class PartMatches:
    """Matches of a part, as estimated at one broker."""

    matches: Matches
    flows: Mapping[BrokerId, float]
    """Matches a second by next hop; empty for a part that no advertisement intersects."""


Combination = Callable[[And | Or, Sequence[Matches]], Matches]
"""Matches of a node with operands, from those of its operands, at least one."""


def matches_of(part: Atomic, sources: Sequence[Source]) -> PartMatches:
    """Matches of a part in the publications of these sources."""
    selection = Selection(relaxed(part))
    rates: dict[BrokerId, float] = {}
    foremost, highest = None, -1.0
    for source in sources:
        rate = source.statistics.rate * selection.factor(source.statistics)
        rates[source.next_hop] = rates.get(source.next_hop, 0.0) + rate
        if rate > highest:
            foremost, highest = source.statistics, rate
    values = _values_of(part, foremost) if foremost else {}
    return PartMatches(Matches(sum(rates.values()), values), rates)


def paper(node: And | Or, operands: Sequence[Matches]) -> Matches:
    """Table 2 of the paper."""
    rates = [operand.rate for operand in operands]
    return Matches(min(rates) if isinstance(node, And) else sum(rates), {})


def within(seconds: float) -> Combination:
    """The estimate for detections within a window of this length."""

    def combine(node: And | Or, operands: Sequence[Matches]) -> Matches:
        values = reduce(_merged, (operand.values for operand in operands))
        if isinstance(node, Or):
            return Matches(sum(operand.rate for operand in operands), values)
        number = len(operands)
        chance = prod(_agreement(variable, operands) for variable in values)
        rate = prod(operand.rate for operand in operands)
        return Matches(number * seconds ** (number - 1) * rate * chance, values)

    return combine


def _values_of(part: Atomic, statistics: Statistics) -> dict[Variable, FrequentValues]:
    """Distributions of a part's variables: those of the advertisement that contributes most."""
    values = {}
    for predicate in part.predicates:
        if isinstance(predicate, VariablePredicate) and binds(predicate):
            distribution = statistics.attributes.get(predicate.attribute)
            if distribution is not None:
                strings = predicate.variable.type is VariableType.STRING
                values[predicate.variable] = distribution.strings if strings else distribution.numbers
    return values


def _merged(
    first: Mapping[Variable, FrequentValues], second: Mapping[Variable, FrequentValues]
) -> Mapping[Variable, FrequentValues]:
    return {**second, **first}


def _agreement(variable: Variable, operands: Sequence[Matches]) -> float:
    """Chance that all operands that bind a variable give it the same value."""
    bound = [operand.values[variable] for operand in operands if variable in operand.values]
    if len(bound) < 2:
        return 1.0
    totals = prod(values.total for values in bound)
    if not totals:
        return 0.0
    listed = {value for values in bound for value, _ in values.listed}
    same = sum(prod(values.share_of(value) for values in bound) for value in listed)
    different = max(values.different for values in bound)
    if different:
        same += prod(values.others for values in bound) / different ** (len(bound) - 1)
    return min(1.0, same / totals)
