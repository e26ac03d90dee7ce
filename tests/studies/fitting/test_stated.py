"""The loss of a candidate, against sums done by hand."""

from __future__ import annotations

import math
import random

import msgspec
import pytest

from studies.fitting.stated import NUMBERS, STATEMENTS, Given, cost, loss, loss_beyond, mean, slowness

PERFECT = Given(
    messages=16997 / 1926, queue_share=0.25, busiest=0.837, others=0.166, delay_6=47.2, delay_10=64.5, delay_12=74.4,
    hub_is_busiest=True, stable=True, overloads=True,
)  # fmt: skip


def test_a_candidate_that_gives_what_is_stated_loses_nothing() -> None:
    assert loss([PERFECT, PERFECT]) == pytest.approx(0.0)


@pytest.mark.parametrize("name", [stated.name for stated in NUMBERS])
def test_twice_and_half_a_number_cost_the_same(name: str) -> None:
    twice = msgspec.structs.replace(PERFECT, **{name: 2 * getattr(PERFECT, name)})
    half = msgspec.structs.replace(PERFECT, **{name: getattr(PERFECT, name) / 2})
    assert loss([twice]) == pytest.approx(math.log(2) ** 2)
    assert loss([half]) == pytest.approx(math.log(2) ** 2)


@pytest.mark.parametrize("name", [stated.name for stated in STATEMENTS])
def test_a_statement_costs_the_share_of_seeds_that_contradict_it(name: str) -> None:
    contradicted = msgspec.structs.replace(PERFECT, **{name: False})
    assert loss([PERFECT, contradicted, PERFECT, PERFECT]) == pytest.approx(0.25)


def test_the_mean_over_seeds_is_compared() -> None:
    seeds = [msgspec.structs.replace(PERFECT, delay_12=delay) for delay in (50.0, 98.8, None)]
    assert mean("delay_12", seeds) == pytest.approx(74.4)
    assert loss(seeds) == pytest.approx(0.0)


@pytest.mark.parametrize("name", ["delay_12", "queue_share", "overloads"])
def test_what_no_seed_gave_cannot_be_compared(name: str) -> None:
    lacking = msgspec.structs.replace(PERFECT, **{name: None})
    assert loss([lacking]) == math.inf
    assert cost([lacking]) == pytest.approx(0.0)


def test_nothing_is_infinitely_less_than_something() -> None:
    assert loss([msgspec.structs.replace(PERFECT, queue_share=0.0)]) == math.inf


def test_slowness_is_what_brings_the_delays_to_the_stated_ones() -> None:
    fast = msgspec.structs.replace(PERFECT, delay_6=23.6, delay_10=64.5, delay_12=None)
    assert slowness([fast]) == pytest.approx(math.sqrt(2))
    assert slowness([msgspec.structs.replace(fast, delay_6=None, delay_10=None)]) == 1.0


def test_a_loss_beyond_another_is_certain_only_where_most_seeds_agree() -> None:
    """The first is right at 12 hops; the second is twice as slow with every seed, the third with one of four."""
    twice = msgspec.structs.replace(PERFECT, delay_12=2 * 74.4)
    perfect = dict.fromkeys(range(1, 5), PERFECT)
    low, high = loss_beyond(dict.fromkeys(range(1, 5), twice), perfect, random.Random(1))
    assert low == high == pytest.approx(math.log(2) ** 2)
    low, high = loss_beyond(perfect | {1: twice}, perfect, random.Random(1))
    assert low == pytest.approx(0.0)
    assert high > 0.1
    assert loss_beyond(perfect | {5: twice}, perfect, random.Random(1)) == (0.0, 0.0)
