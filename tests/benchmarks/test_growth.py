"""Growth is stated over a factor of 100, whatever sizes were measured."""

from __future__ import annotations

import pytest

from benchmarks.support.growth import Growth


@pytest.mark.parametrize(
    ("values", "factor"),
    [
        ({1: 3.0, 100: 3.0}, 1),
        ({100: 9.0, 1: 3.0}, 3),
        ({1: 1.0, 10: 99.0, 100: 4.0}, 4),
        ({1: 2.0, 10: 20.0}, 100),
        ({1: 1.0, 10_000: 9.0}, 3),
        ({5: 8.0, 500: 2.0}, 0.25),
    ],
    ids=["constant", "the order of sizes does not matter", "least and greatest size count", "a factor of ten",
         "a factor of ten thousand", "shrinking"],
)  # fmt: skip
def test_growth_is_that_over_a_factor_of_a_hundred(values: dict[int, float], factor: float) -> None:
    assert Growth("guests", values, "the door").factor == pytest.approx(factor)


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ({10: 2.0, 1000: 2.5}, "1.2 times from 10 to 1,000 guests; bounded by the door"),
        ({10: 2.0, 1000: 50.0}, "25 times from 10 to 1,000 guests; bounded by the door"),
        ({10: 1.0, 100: 3.0}, "9 times over a factor of 100, as measured from 10 to 100 guests; bounded by the door"),
        ({10: 0.0, 1000: 0.0}, "0 from 10 to 1,000 guests; bounded by the door"),
        ({10: -2.0, 1000: 7.0}, "-2 to 7 from 10 to 1,000 guests; bounded by the door"),
        ({10: 0.0, 1000: 7.0}, "0 to 7 from 10 to 1,000 guests; bounded by the door"),
    ],
)
def test_growth_as_a_sentence(values: dict[int, float], shown: str) -> None:
    assert str(Growth("guests", values, "the door")) == shown
