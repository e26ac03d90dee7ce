"""The choice of links for one event at one broker (section 3, "Event Propagation").

1. The candidates are the links but the one that the event came by: l - 1 of them, or l at the publisher's broker,
   because figure 2's publisher has one link and uses it.
2. f = ceil(tau * candidates), computed exactly.
3. Candidates with a matching subscription one hop away are all used.
4. Those with one two hops away follow, then three, and so on, until f links are used. Of equally near ones the choice
   is random. The text leaves open whether the nearest distance alone counts or further ones fill up; "iterated" is
   taken to mean the latter. With the option `preference: none`, all matching subscribers two and more hops away count
   as equally near, to measure the worth of this order.
5. Candidates without a matching subscription are drawn at random, without replacement, until f links are used. They
   are drawn anew for each event, because the paper's links "may change from time to time".
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from fractions import Fraction

from broker_service.messages import BrokerId


class Choice:
    """The neighbours that get an event, each once."""

    __slots__ = ("deterministic", "random")

    def __init__(self, deterministic: Sequence[BrokerId], random: Sequence[BrokerId]) -> None:
        self.deterministic = deterministic
        """Neighbours over whose links a matching subscription came."""
        self.random = random


def fanout(threshold: Fraction, candidates: int) -> int:
    """The number f of links to use of this many candidates."""
    return math.ceil(threshold * candidates)


def choose(
    candidates: Sequence[BrokerId],
    distances: Mapping[BrokerId, int],
    fanout: int,
    most_deterministic: int,
    rng: random.Random,
) -> Choice:
    """Chooses neighbours among the candidates.

    `distances` has the neighbours over whose links matching subscriptions came, each with the hops to the nearest
    subscriber; it may name others than the candidates. Rule 4 goes on until `most_deterministic` links are used, which
    is the fanout unless the deterministic choice is unlimited.
    """
    if not distances:
        return Choice((), _drawn(list(candidates), fanout, rng))
    chosen: list[BrokerId] = []
    farther: list[tuple[int, BrokerId]] = []
    unmatched: list[BrokerId] = []
    for candidate in candidates:
        distance = distances.get(candidate)
        if distance is None:
            unmatched.append(candidate)
        elif distance == 1:
            chosen.append(candidate)
        else:
            farther.append((distance, candidate))
    if farther:
        chosen += _nearest(farther, most_deterministic - len(chosen), rng)
    return Choice(chosen, _drawn(unmatched, fanout - len(chosen), rng))


def _nearest(farther: list[tuple[int, BrokerId]], count: int, rng: random.Random) -> list[BrokerId]:
    """The nearest candidates; of equally near ones a random choice."""
    if count < len(farther):
        farther.sort(key=lambda matched: (matched[0], rng.random()))
        farther = farther[: max(0, count)]
    return [candidate for _, candidate in farther]


def _drawn(items: list[BrokerId], count: int, rng: random.Random) -> list[BrokerId]:
    """Up to `count` of the items, drawn uniformly without replacement; all when there are no more. Reorders the
    list."""
    length = len(items)
    if count >= length:
        return items
    for place in range(count):
        other = place + int(rng.random() * (length - place))
        items[place], items[other] = items[other], items[place]
    return items[: max(0, count)]
