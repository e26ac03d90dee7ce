"""Numbers that the TID paper states, and the loss of a candidate that gives others.

The loss is the sum of

1. the squared natural logarithm of given over stated, for each number of `NUMBERS`: a number that is a tenth too large
   costs 0.009, one that is twice as large 0.48;
2. the share of seeds that contradict it, for each statement of `STATEMENTS`.

The paper's 11.3% of matching operations do not enter, because they are the reciprocal of the messages of a publication.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, geometric_mean

import msgspec


@dataclass(frozen=True, slots=True)
class Stated:
    """One stated number or statement. `name` is the field of `Given` that holds what a candidate gives."""

    name: str
    label: str
    value: float
    """The number; of a statement 1, because it holds."""
    claims: tuple[str, ...] = ()
    """Claims that the number belongs to, or parts of them, which are calibrated and no tests (`fitted` in the paper's
    file of claims)."""


NUMBERS = (
    Stated("messages", "messages of a publication", 16997 / 1926, ("tid-match",)),
    Stated("queue_share", "share of the delay in the overloaded broker's output queue", 0.25, ("tid-5a-queue",)),
    Stated("busiest", "processor use of the busiest broker", 0.837, ("tid-busiest",)),
    Stated("others", "mean processor use of the other brokers", 0.166, ("tid-busiest",)),
    Stated("delay_6", "delay over 6 hops, ms", 47.2),
    Stated("delay_10", "delay over 10 hops, ms", 64.5),
    Stated("delay_12", "delay over 12 hops, ms", 74.4),
)
"""TID paper, section 5: "Faster Matching", "End to End Notification Delay", "Overhead", Table 3 (fixed routing)."""
STATEMENTS = (
    Stated("hub_is_busiest", "the busiest broker has the most neighbours", 1.0),
    Stated("stable", "fixed routing does not overload at the rate of Fig. 5(a)", 1.0),
    Stated("overloads", "fixed routing overloads at 2400 publications a minute", 1.0, ("tid-5c: fixed overloads",)),
)
"""TID paper, section 5: "Overhead", and the text on Fig. 5(a) and 5(c)."""


DRAWS = 2000
"""Draws of seeds in a bootstrap."""


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """Results of a candidate with one seed, each the counterpart of a stated one.

    None stands for a delay that no notification has, and for a result of a figure that was left out.
    """

    messages: float | None = None
    queue_share: float | None = None
    busiest: float | None = None
    others: float | None = None
    hub_is_busiest: bool | None = None
    stable: bool | None = None
    delay_6: float | None = None
    delay_10: float | None = None
    delay_12: float | None = None
    overloads: bool | None = None

    def with_figure(self, other: Given) -> Given:
        """These results and those of another figure."""
        found = {name: value for name, value in msgspec.structs.asdict(other).items() if value is not None}
        return msgspec.structs.replace(self, **found)


def mean(name: str, given: Sequence[Given]) -> float | None:
    """Mean over seeds of one number, or the share of seeds in which a statement holds. None when no seed gave one."""
    values = [float(value) for seed in given if (value := getattr(seed, name)) is not None]
    return fmean(values) if values else None


def loss(given: Sequence[Given]) -> float:
    """Distance of a candidate's results, over its seeds, from the stated ones, by the rules of the module.

    A candidate that lacks a number or a statement cannot be compared: its loss is infinite.
    """
    if any(mean(stated.name, given) is None for stated in (*NUMBERS, *STATEMENTS)):
        return math.inf
    return cost(given)


def slowness(given: Sequence[Given]) -> float:
    """Factor by which a candidate's delays would have to be longer to be the stated ones, in geometric mean."""
    delays = [stated for stated in NUMBERS if stated.name.startswith("delay")]
    factors = [stated.value / value for stated in delays if (value := mean(stated.name, given))]
    return geometric_mean(factors) if factors else 1.0


def cost(given: Sequence[Given]) -> float:
    """The part of the loss that comes from the results that are there."""
    numbers = [(value, stated.value) for stated in NUMBERS if (value := mean(stated.name, given)) is not None]
    held = [value for stated in STATEMENTS if (value := mean(stated.name, given)) is not None]
    if any(value <= 0 for value, _ in numbers):
        return math.inf
    return sum(math.log(value / published) ** 2 for value, published in numbers) + sum(1 - value for value in held)


def loss_beyond(given: Mapping[int, Given], other: Mapping[int, Given], rng: random.Random) -> tuple[float, float]:
    """95% interval of the first candidate's loss minus the other's: a bootstrap over their common seeds.

    Both are drawn with the same seeds, because a seed decides on overlay and workload and so moves both alike.
    """
    seeds = sorted(given.keys() & other.keys())
    draws = (rng.choices(seeds, k=len(seeds)) for _ in range(DRAWS))
    differences = sorted(cost([given[seed] for seed in draw]) - cost([other[seed] for seed in draw]) for draw in draws)
    return differences[DRAWS // 40], differences[-DRAWS // 40]
