"""The motion that brokers on a host bear: how often links may change, and over which driver.

The emulator makes one change after another: the relay opens or closes the path, and both brokers are asked to add or
remove the link. `python -m benchmarks.motion` measures the rate at which changes still are on time.
"""

from __future__ import annotations

from emulation.network.model import LinkDriver
from emulation.planning.plan import Plan, VariantPlan
from record.errors import HostError

MOST_CHANGES_A_SECOND = 100
"""Changes of links within any second that passes on the host. On two cores that are busy otherwise, too, a change takes
3 to 5 ms, so that twice as many would still be made in time."""
MOST_PATHS = 1_540
"""Pairs of brokers that are ever linked: as many as 56 fully meshed brokers have, which start in under 30 s. Each pair
has its two interfaces from the start, so that a change makes none."""


def require_bearable(plan: Plan, driver: LinkDriver) -> None:
    """Raises `HostError` for a variant whose links change more often than a host bears, or between too many pairs."""
    for variant in plan.variants:
        if variant.evolution is not None:
            _require_bearable(variant, driver)


def _require_bearable(variant: VariantPlan, driver: LinkDriver) -> None:
    assert variant.evolution is not None
    if driver is not LinkDriver.USERSPACE:
        raise HostError(f"motion: links of the driver {driver} do not appear and vanish; use --links userspace")
    dilation = variant.scenario.time_dilation
    most, begin = variant.evolution.most_changes(1 / dilation)
    if most > MOST_CHANGES_A_SECOND:
        needed = -(-most * dilation // MOST_CHANGES_A_SECOND)
        raise HostError(
            f"motion: {most} changes of links within {1 / dilation:g} s, from {begin:g} s after the start of the join "
            f"phase on; brokers on a host bear {MOST_CHANGES_A_SECOND} within a second: use --runtime simulated, fewer "
            f"changes, or a time_dilation of {needed:g}"
        )
    if (paths := len(variant.wired.links)) > MOST_PATHS:
        raise HostError(
            f"motion: {paths:,} pairs of brokers are linked at some time; {MOST_PATHS:,} is the most on a host: use "
            "--runtime simulated, fewer brokers, or a shorter run"
        )
