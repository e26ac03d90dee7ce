"""The judgement of single directions under load, on probes made by hand."""

from __future__ import annotations

import random

import pytest

from emulation.fidelity.loaded_links import wrong_directions
from record.fidelity import LinkCheck


def probe(number: int, second: float, *, ok: bool) -> LinkCheck:
    return LinkCheck(
        a=f"A{number}", b=f"B{number}", phase="during", delay_asked=0.005, delay_measured=0.005, rate_asked=None,
        rate_measured=None, loss_asked=0.0, loss_measured=None, ok=ok, second=second,
    )  # fmt: skip


@pytest.mark.parametrize(("directions", "rounds"), [(2, 2), (4, 3), (272, 4), (3080, 4)])
def test_one_direction_that_misses_again_and_again_is_wrong_among_any_number(directions: int, rounds: int) -> None:
    probes = [probe(number, second, ok=number != 1) for second in range(rounds) for number in range(directions)]
    assert list(wrong_directions(probes)) == [("A1", "B1")]


def test_one_miss_of_a_direction_proves_nothing() -> None:
    probes = [probe(number, second, ok=(number, second) != (1, 1)) for second in range(4) for number in range(4)]
    assert wrong_directions(probes) == {}


def test_both_directions_of_one_link_are_wrong_beside_another_link() -> None:
    probes = [probe(number, second, ok=number > 1) for second in range(4) for number in range(4)]
    assert set(wrong_directions(probes)) == {("A0", "B0"), ("A1", "B1")}


@pytest.mark.parametrize("share", [0.0, 0.02, 0.1, 0.3])
@pytest.mark.parametrize("directions", [4, 272, 3080])
def test_a_late_host_blames_no_direction(share: float, directions: int) -> None:
    source = random.Random(f"{share} {directions}")
    for _ in range(20):
        probes = [
            probe(number, second, ok=source.random() >= share) for second in range(6) for number in range(directions)
        ]
        assert wrong_directions(probes) == {}


def test_a_host_that_stands_still_for_a_round_blames_no_direction() -> None:
    probes = [probe(number, second, ok=second not in {2, 3}) for second in range(5) for number in range(272)]
    assert wrong_directions(probes) == {}
