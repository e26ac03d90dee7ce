"""The choice of links to probe and its times, without a network."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.network import LinkProbe
from emulation.run.observation import link_checks, rounds
from topology import Link


@given(st.integers(0, 130), st.integers(1, 40))
def test_rounds_take_every_link_once_and_are_no_larger_than_allowed(count: int, at_once: int) -> None:
    links = [Link(f"A{number}", f"B{number}") for number in range(count)]
    made = rounds(links, at_once)
    assert sorted((link.a for batch in made for link in batch), key=lambda name: int(name[1:])) == [
        link.a for link in links
    ]
    assert all(0 < len(batch) <= at_once for batch in made)
    assert len(made) == -(-count // at_once)


def test_probes_are_kept_in_the_scenarios_time() -> None:
    probe = LinkProbe(
        a="B1", b="B2", delay_asked=0.020, delay_measured=0.022, jitter_asked=0.0, jitter_measured=None, rate_asked=2e6,
        rate_measured=None, loss_asked=0.1, loss_measured=0.2, ok=False, detail="22.00 ms instead of 20.00 (+-0.40)",
    )  # fmt: skip
    (check,) = link_checks([probe], "during", 4.0, 1.5)
    assert (check.delay_asked, check.delay_measured) == pytest.approx((0.005, 0.0055))
    assert (check.rate_asked, check.rate_measured, check.loss_measured, check.second) == (8e6, None, 0.2, 1.5)
    assert check.detail.endswith("(at a dilation of 4)")
    (plain,) = link_checks([probe], "before", 1.0)
    assert (plain.delay_asked, plain.detail, plain.second) == (0.020, probe.detail, None)
