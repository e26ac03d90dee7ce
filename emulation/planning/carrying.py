"""The runs that a host carries: memory for brokers, processors for their work, and links that change in time.

One place for all who ask: `brokerlab check` predicts by it, runs on a host or on several are refused by it, and a time
dilation is chosen by it.

The emulator makes one change of links after another: the relay opens or closes the path, and both brokers are asked to
add or remove the link. `python -m benchmarks.motion` measures the rate at which changes still are on time.
"""

from __future__ import annotations

from collections.abc import Iterable

from emulation.host.room import Host
from emulation.network.model import LinkDriver
from emulation.planning.plan import VariantPlan
from record.errors import HostError
from record.wording import count_of

MOST_CHANGES_A_SECOND = 100
"""Changes of links within any second that passes on the host. On two cores that are busy otherwise, too, a change takes
3 to 5 ms, so that twice as many would still be made in time."""
MOST_PATHS = 1_540
"""Pairs of brokers that are ever linked: as many as 56 fully meshed brokers have, which start in under 30 s. Each pair
has its two interfaces from the start, so that a change makes none."""
BROKER_MEMORY = 32_000_000
"""Bytes that a broker adds to a host's: its share of what brokers have in common included, and its sandbox."""
SITE_MEMORY = 500_000
"""Bytes of a site: its namespace, the thread that holds it, and its access link."""
RUN_MEMORY = 350_000_000
"""Bytes of emulator, relay, drivers and Docker."""


def memory_of(brokers: int, sites: int = 0) -> int:
    """Bytes of so many brokers and sites on one host, with everything else of a run."""
    return RUN_MEMORY + brokers * BROKER_MEMORY + sites * SITE_MEMORY


def require_carried(variants: Iterable[VariantPlan], driver: LinkDriver, host: Host) -> None:
    """Raises `HostError` for a variant that the host does not carry. To be called before anything of it starts."""
    for variant in variants:
        require_memory(len(variant.overlay.brokers), len(variant.sites), host)
        if variant.evolution is not None:
            _require_bearable(variant, driver)


def require_memory(brokers: int, sites: int, host: Host, name: str = "this host") -> None:
    """Raises `HostError` for more brokers, with so many sites, than the memory of a host holds."""
    if (needed := memory_of(brokers, sites)) > host.memory:
        most = max(0, (host.memory - memory_of(0, sites)) // BROKER_MEMORY)
        beside = f" and {count_of(sites, 'site')}" if sites else ""
        raise HostError(
            f"{brokers:,} brokers{beside} take about {needed / 1e9:.1f} GB of memory, and {name} has "
            f"{host.memory / 1e9:.1f} GB left, enough for {most:,}: use fewer brokers, --runtime simulated, or several "
            "hosts (--hosts)"
        )


def _require_bearable(variant: VariantPlan, driver: LinkDriver) -> None:
    """Raises `HostError` where links change more often than a host bears, or between too many pairs."""
    assert variant.evolution is not None
    if driver is not LinkDriver.USERSPACE:
        raise HostError(f"motion: links of the driver {driver} do not appear and vanish; use --links userspace")
    dilation = variant.scenario.dilation
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
