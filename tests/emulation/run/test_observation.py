"""The choice of links to probe and its times, without a network."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.network.probing.probes import LinkProbe
from emulation.run.observation import MOST_SAMPLED, link_checks, probed_under_load, rounds
from topology.link_properties import Link


@given(st.integers(0, 130), st.integers(1, 40))
def test_rounds_take_every_link_once_and_are_no_larger_than_allowed(count: int, at_once: int) -> None:
    links = [Link(f"A{number}", f"B{number}") for number in range(count)]
    made = rounds(links, at_once)
    assert sorted((link.a for batch in made for link in batch), key=lambda name: int(name[1:])) == [
        link.a for link in links
    ]
    assert all(0 < len(batch) <= at_once for batch in made)
    assert len(made) == -(-count // at_once)


LINKS = [Link(f"A{number}", f"B{number}") for number in range(MOST_SAMPLED + 200)]


def test_a_seeded_sample_of_many_links_is_probed_and_all_that_carry_messages() -> None:
    used = {frozenset((f"A{number}", f"B{number}")) for number in range(0, len(LINKS), 5)}
    probed = probed_under_load(LINKS, lambda: used, seed=1)
    assert probed == probed_under_load(LINKS, lambda: used, seed=1)
    assert probed != probed_under_load(LINKS, lambda: used, seed=2)
    assert {frozenset((link.a, link.b)) for link in probed} >= used
    assert len(probed_under_load(LINKS, set, seed=1)) == MOST_SAMPLED
    assert len(probed) == len(set(probed) | set(probed_under_load(LINKS, set, seed=1)))
    assert probed == sorted(probed, key=LINKS.index), "rounds are spread over the overlay's order"


def test_all_of_few_links_are_probed_and_brokers_are_not_asked() -> None:
    def used() -> set[frozenset[str]]:
        raise AssertionError

    assert probed_under_load(LINKS[:MOST_SAMPLED], used, seed=1) == LINKS[:MOST_SAMPLED]


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
