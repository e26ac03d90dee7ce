"""A benchmark for tests: it measures the number that it is given, and fails without one."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.targets import Bound, Judgement, Target

TARGET = Target("number given to the trivial benchmark", Bound.AT_MOST, 10)


def run(arguments: Sequence[str]) -> list[Judgement]:
    (number,) = arguments
    return [TARGET.judge(float(number))]
