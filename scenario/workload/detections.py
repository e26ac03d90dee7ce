"""The number of detections to expect of composite subscriptions, estimated from a sample of the publications.

1. A leaf of the pattern is matched by the same share of all publications as of the sample.
2. `&` multiplies the matches of its operands, `||` adds them. Of all combinations of k matches, those count that fit in
   the window: of k moments drawn uniformly from a time of which the window is the share w, all lie within the window
   with probability k w^(k-1) - (k-1) w^k. For two and a short window, that is 2 w.
3. Matches must agree on the variable that most parts have. Other variables are left out, and a set counts once for each
   way in which its publications fill the parts. Both make the estimate too large rather than too small.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Self

import numpy as np
from numpy.typing import NDArray

from broker_service.language import Value
from broker_service.language.composite import And, Atomic, Composite, Or, Variable, VariablePredicate
from broker_service.language.composite_subscription import binds, parts_of, relaxed
from broker_service.language.content import all_hold
from broker_service.language.notation import parse_composite
from scenario.workload.operations import PlannedOperation

MOST_DETECTIONS = 10_000_000
"""Detections of all composite subscriptions of a run, because the analysis writes a row for each."""
_SAMPLED = 2_000
"""Publications in a sample."""

_Counts = NDArray[np.float64]
"""Numbers of combinations; place k holds those of k matches."""
_NO_WAY: _Counts = np.zeros(1)


@dataclass(frozen=True, slots=True)
class _Ways:
    """The ways to fulfil a node of a pattern."""

    free: _Counts
    """Combinations that leave the variable open."""
    bound: Mapping[Value, _Counts]
    """Combinations that bind the variable, by its value."""

    def total(self) -> _Counts:
        return _sum([self.free, *self.bound.values()])


@dataclass(frozen=True, slots=True)
class PublicationSample:
    """The first publications of a workload."""

    contents: Sequence[Mapping[str, Value]]
    total: float
    """The number of publications of the whole workload."""
    seconds: float
    """The time in which all of them are made."""
    _matching: dict[Atomic, list[Mapping[str, Value]]] = field(default_factory=dict)

    @classmethod
    def of(cls, publications: Iterable[PlannedOperation], total: float) -> Self:
        """The beginning of a workload's publications, which come in order of time; `total` is their number."""
        sampled = list(islice(publications, _SAMPLED))
        if not sampled:
            return cls((), 0, 0)
        total = total if len(sampled) == _SAMPLED else len(sampled)
        span = (sampled[-1].at - sampled[0].at) * total / len(sampled)
        return cls([operation.attributes or {} for operation in sampled], total, span / 1e9)

    def detections(self, composite: PlannedOperation) -> float:
        """The number of detections of a composite subscription that stands all the time."""
        pattern = parse_composite(composite.pattern or "")
        window = (composite.within or 0) / 1e9
        share = window / self.seconds if window < self.seconds else 1.0
        ways = self._ways(pattern, _commonest_variable(pattern)).total()
        return math.fsum(
            count * (number * share ** (number - 1) - (number - 1) * share**number)
            for number, count in enumerate(ways.tolist())
            if count
        )

    def _ways(self, pattern: Composite, variable: Variable | None) -> _Ways:
        match pattern:
            case Atomic():
                return self._ways_of_part(pattern, variable)
            case Or(operands):
                alternatives = [self._ways(operand, variable) for operand in operands]
                values = dict.fromkeys(value for ways in alternatives for value in ways.bound)
                return _Ways(
                    _sum(ways.free for ways in alternatives),
                    {value: _sum(ways.bound.get(value, _NO_WAY) for ways in alternatives) for value in values},
                )
            case And(operands):
                first, *others = (self._ways(operand, variable) for operand in operands)
                for other in others:
                    first = _joined(first, other)
                return first

    def _ways_of_part(self, part: Atomic, variable: Variable | None) -> _Ways:
        matching = self._matching.get(part)
        if matching is None:
            predicates = relaxed(part).predicates
            matching = [content for content in self.contents if all_hold(predicates, content)]
            self._matching[part] = matching
        scale = self.total / len(self.contents) if self.contents else 0.0
        attribute = next((name for name, bound in _bindings(part) if bound == variable), None)
        if attribute is None:
            return _Ways(np.array([0.0, len(matching) * scale]), {})
        values = Counter(content[attribute] for content in matching)
        return _Ways(_NO_WAY, {value: np.array([0.0, count * scale]) for value, count in values.items()})


def _joined(one: _Ways, other: _Ways) -> _Ways:
    """The ways to fulfil both nodes with the same value of the variable."""
    return _Ways(
        np.convolve(one.free, other.free),
        {
            value: _sum(
                [
                    np.convolve(one.bound.get(value, _NO_WAY), other.bound.get(value, _NO_WAY)),
                    np.convolve(one.bound.get(value, _NO_WAY), other.free),
                    np.convolve(one.free, other.bound.get(value, _NO_WAY)),
                ]
            )
            for value in one.bound.keys() | other.bound.keys()
        },
    )


def _sum(counts: Iterable[_Counts]) -> _Counts:
    found = list(counts)
    total = np.zeros(max(map(len, found)))
    for count in found:
        total[: len(count)] += count
    return total


def _commonest_variable(pattern: Composite) -> Variable | None:
    parts = Counter(variable for part in parts_of(pattern) for variable in {bound for _, bound in _bindings(part)})
    return max(parts, key=lambda variable: (parts[variable], variable.name), default=None)


def _bindings(part: Atomic) -> Iterator[tuple[str, Variable]]:
    """The attributes of a part that bind variables."""
    for predicate in part.predicates:
        if isinstance(predicate, VariablePredicate) and binds(predicate):
            yield predicate.attribute, predicate.variable
