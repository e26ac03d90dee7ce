"""Quantities with units."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenario.sections.units import BIT_RATE, DURATION, MESSAGE_RATE, SHARE, SIZE, Jitter, Quantity
from topology.links import Range


@pytest.mark.parametrize(
    ("quantity", "text", "value"),
    [
        (DURATION, "5ms", 0.005),
        (DURATION, "0.5 ms", 0.0005),
        (DURATION, "2min", 120),
        (DURATION, "1.5h", 5400),
        (DURATION, "250us", 0.00025),
        (DURATION, "7ns", 7e-9),
        (DURATION, 0, 0),
        (DURATION, "0", 0),
        (BIT_RATE, "10mbit", 10_000_000),
        (BIT_RATE, "1.5gbit", 1_500_000_000),
        (MESSAGE_RATE, "60/min", 1),
        (MESSAGE_RATE, "100/min", 100 / 60),
        (MESSAGE_RATE, "10/s", 10),
        (SIZE, "256KiB", 262_144),
        (SIZE, "1MB", 1_000_000),
        (SHARE, "2%", 0.02),
        (SHARE, 0.02, 0.02),
        (SHARE, 1, 1),
    ],
)
def test_written_quantities(quantity: Quantity, text: object, value: float) -> None:
    assert quantity.parse(text) == value


@pytest.mark.parametrize(
    ("quantity", "text", "message"),
    [
        (DURATION, "5", "a unit is missing in '5': write a duration with one of s, ms, us, ns, min, h"),
        (DURATION, 5, "a unit is missing in 5: write a duration with one of s, ms, us, ns, min, h"),
        (DURATION, "5mbit", "unknown unit 'mbit' in '5mbit': write a duration with one of s, ms, us, ns, min, h"),
        (BIT_RATE, "5MB/s", "unknown unit 'MB/s' in '5MB/s': write a bandwidth with one of bit, kbit, mbit, gbit"),
        (MESSAGE_RATE, "5Hz", "unknown unit 'Hz' in '5Hz': write a message rate with one of /s, /min, /h"),
        (DURATION, "-5ms", "a duration cannot be negative, got '-5ms'"),
        (DURATION, "soon", "expected a duration such as 5ms, got 'soon'"),
        (DURATION, True, "expected a duration such as 5ms, got True"),
        (DURATION, None, "expected a duration such as 5ms, got null"),
        (DURATION, "1e999s", "'1e999s' is too large"),
        (DURATION, float("nan"), "expected a duration such as 5ms, got nan"),
        (SHARE, "120%", "a share is at most 1, got '120%'"),
        (SIZE, "9" * 50 + "B", "expected a size such as 256KiB, got '999999999999999999999999999999999999..."),
    ],
)
def test_quantities_that_are_none(quantity: Quantity, text: object, message: str) -> None:
    with pytest.raises(ValueError) as raised:
        quantity.parse(text)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("quantity", "value", "text"),
    [
        (DURATION, 0.005, "5ms"),
        (DURATION, 0.0, "0s"),
        (DURATION, 120.0, "2min"),
        (DURATION, 7200.0, "2h"),
        (BIT_RATE, 1e7, "10mbit"),
        (MESSAGE_RATE, 100 / 60, "100/min"),
        (SIZE, 1 << 20, "1MiB"),
        (SHARE, 0.02, "2%"),
    ],
)
def test_formatting_is_short(quantity: Quantity, value: float, text: str) -> None:
    assert quantity.format(value) == text


@given(
    quantity=st.sampled_from([DURATION, BIT_RATE, MESSAGE_RATE, SIZE]),
    value=st.floats(1e-12, 1e15) | st.integers(0, 10**12).map(float),
)
def test_formatting_loses_nothing(quantity: Quantity, value: float) -> None:
    value = max(min(value, quantity.most or value), quantity.least if value else 0.0)
    assert quantity.parse(quantity.format(value)) == value


@given(st.floats(0, 1))
def test_formatting_a_share_loses_nothing(value: float) -> None:
    assert SHARE.parse(SHARE.format(value)) == value


@given(low=st.floats(1e-9, 1e3), extent=st.floats(0, 1e3))
def test_ranges_round_trip(low: float, extent: float) -> None:
    wanted = Range(low, low + extent)
    assert DURATION.parse_range(DURATION.format_range(wanted)) == wanted


def test_ranges_with_swapped_ends() -> None:
    with pytest.raises(ValueError, match=r"the range '10ms\.\.2ms' has its ends swapped"):
        DURATION.parse_range("10ms..2ms")


def test_jitter_is_a_duration_or_a_share() -> None:
    assert Jitter.parse("5%") == Jitter(share=0.05)
    assert Jitter.parse("1ms..2ms") == Jitter(seconds=Range(0.001, 0.002))
    assert Jitter.format(Jitter.parse("5%")) == "5%"
