"""The judge knows access links: delays are split by them, and one that is not as it was asked for is named.

Each infidelity is planted into the simulator while it runs; only the verdict may show it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.summary import VariantSummary
from emulation.planning.plan import make_plan
from emulation.simulation.access import AccessLink
from emulation.simulation.run import simulate
from scenario.loading import load_text
from topology.link_properties import LinkProperties
from topology.sites import Site

SCENARIO = """
name: sites
topology: {{kind: line, brokers: 2, link: {{delay: 3ms}}}}
routing: {{protocol: tid}}
workload:
  publications: {{source: stocks, publishers: 2, rate: {rate}, placement: [B1]}}
  subscriptions: {{subscribers: 4, selectivity: 40%, placement: [B2]}}
clients:
  sites:
    market: {{broker: B1, {up}}}
    berlin: {{broker: B2, clients: [S1, S2], {down}}}
timeline: {{join: 3s, run: 8s, drain: 3s}}
seed: 3
"""
DELAY, JITTER, RATE = (f"{what} of links, by the messages" for what in ("delay", "jitter", "rate"))
BUDGET = "budget of delays, by its tables"
PLAIN = "delay: 20ms, to_clients: {delay: 5ms}"


def judged(directory: Path, *, up: str, down: str, rate: str = "20/s") -> VariantSummary:
    plan = make_plan(load_text(SCENARIO.format(up=up, down=down, rate=rate), "sites"))
    (variant,) = analyze(simulate(plan, directory).directory, PlainEngine()).variants
    return variant


def wrong(variant: VariantSummary) -> dict[str, str]:
    """The checks that failed, with their details."""
    return {check.name: check.detail for check in variant.audit if check.verdict == "INVALID"}


def links_with(change: Callable[[Site], Site], patch: pytest.MonkeyPatch) -> None:
    """Has simulated access links made of other properties than were asked for."""
    original = AccessLink.__init__

    def made(self: AccessLink, site: Site, seed: str) -> None:
        original(self, change(site), seed)

    patch.setattr(AccessLink, "__init__", made)


def other_up(change: Callable[[LinkProperties], LinkProperties], site: Site) -> Site:
    return replace(site, up=change(site.up))


def other_down(change: Callable[[LinkProperties], LinkProperties], site: Site) -> Site:
    return replace(site, down=change(site.down))


def slower(properties: LinkProperties) -> LinkProperties:
    return replace(properties, delay=1.3 * properties.delay)


def even(properties: LinkProperties) -> LinkProperties:
    return replace(properties, jitter=0.0)


def narrower(properties: LinkProperties) -> LinkProperties:
    return replace(properties, rate=None if properties.rate is None else properties.rate / 1.3)


def test_delays_are_split_by_access_links(tmp_path: Path) -> None:
    variant = judged(tmp_path, up=PLAIN, down="delay: 1ms, to_clients: {delay: 30ms}")
    assert wrong(variant) == {}
    assert (variant.delivery.verdicts, variant.fidelity) == (["correct"], "VALID")
    budget = variant.delay.budget
    assert budget and budget.access_ms
    assert 20.0 < budget.access_ms < 50.0  # not all who are notified are in Berlin
    assert budget.parts.links_ms == pytest.approx(budget.access_ms + 3.0, abs=0.01)
    assert budget.parts.unexplained_absolute_ms < 0.2
    whole, without = variant.delay, variant.delay.without_access
    assert without
    assert without.notifications == whole.notifications
    assert [whole.p50_ms, whole.p99_ms] == pytest.approx([25.0, 54.0], abs=1.0)
    assert without.mean_ms == pytest.approx((whole.mean_ms or 0) - budget.access_ms)
    assert [without.p50_ms, without.p95_ms, without.p99_ms] == pytest.approx([4.0] * 3, abs=1.0)  # the link between


@pytest.mark.parametrize(
    ("up", "down", "rate", "plant", "check", "named"),
    [
        (PLAIN, PLAIN, "20/s", partial(other_up, slower), DELAY, "market to B1: "),
        (PLAIN, PLAIN, "20/s", partial(other_down, slower), BUDGET, "notifications came"),
        ("delay: 20ms, jitter: 2ms", PLAIN, "12/s", partial(other_up, even), JITTER, "market to B1: "),
        (PLAIN, "bandwidth: 60kbit", "20/s", partial(other_down, narrower), RATE, "B2 to berlin: "),
    ],
)
def test_an_access_link_that_is_not_as_asked_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    up: str,
    down: str,
    rate: str,
    plant: Callable[[Site], Site],
    check: str,
    named: str,
) -> None:
    assert wrong(judged(tmp_path / "honest", up=up, down=down, rate=rate)) == {}
    links_with(plant, monkeypatch)
    assert named in wrong(judged(tmp_path / "planted", up=up, down=down, rate=rate))[check]


def test_what_waits_for_a_narrow_access_link_at_the_end_is_not_judged(tmp_path: Path) -> None:
    variant = judged(tmp_path, up="bandwidth: 100kbit", down="bandwidth: 8kbit", rate="40/s")
    assert wrong(variant) == {}
    delivery = variant.delivery
    assert (delivery.lost, delivery.spurious, delivery.excused) == (0, 0, 0)
    assert delivery.not_judged == delivery.expected - delivery.delivered > 0
