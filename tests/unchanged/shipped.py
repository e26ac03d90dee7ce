"""The scenarios and campaigns that brokerlab ships, and the changes with which some are run for their digests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

CHANGES: Mapping[str, tuple[str, ...]] = {
    "scenarios/gryphon/gry-4.yaml": ("timeline.run=200ms",),
    "scenarios/gryphon/gry-5.yaml": ("timeline.run=500ms",),
    "scenarios/gryphon/gry-6.yaml": ("timeline.run=200ms",),
    "scenarios/gryphon/gry-7.yaml": ("workload.publications.rate=12/min",),
    "scenarios/gryphon/gry-safe.yaml": ("workload.publications.rate=1/s",),
    "scenarios/medym/med-10.yaml": (
        "topology.brokers=20",
        "workload.publications.rate=0.1/s",
        "timeline.run=10s",
        "faults=[{at: run+2s, kill: random(2)}]",
    ),
    "scenarios/medym/med-11.yaml": ("workload.values=10", "timeline.run=2s"),
    "scenarios/medym/med-6.yaml": ("topology.brokers=20",),
    "scenarios/medym/med-7.yaml": ("topology.brokers=15", "timeline.run=5s"),
    "scenarios/medym/med-8.yaml": ("topology.brokers=15",),
    "scenarios/medym/med-9.yaml": ("topology.brokers=15", "workload.publications.rate=0.1/s"),
    "scenarios/medym/med-t1.yaml": ("topology.brokers=50",),
    "scenarios/medym/med-t2.yaml": ("topology.brokers=20", "timeline.run=10s"),
    "scenarios/octopia-burst.yaml": ("workload.subscriptions.subscribers=500", "timeline.run=4s"),
    "scenarios/octopia/oct-burst-100k.yaml": ("workload.subscriptions.subscribers=250", "timeline.run=4s"),
    "scenarios/octopia/oct-burst-40k.yaml": ("workload.subscriptions.subscribers=250", "timeline.run=4s"),
    "scenarios/octopia/oct-burst-60k.yaml": ("workload.subscriptions.subscribers=250", "timeline.run=4s"),
    "scenarios/octopia/oct-burst-80k.yaml": ("workload.subscriptions.subscribers=250", "timeline.run=4s"),
    "scenarios/octopia/oct-delivery.yaml": (
        "workload.publications.publishers=20",
        "workload.subscriptions.subscribers=100",
        "timeline.run=10s",
    ),
    "scenarios/octopia/oct-path-selection.yaml": ("workload.subscriptions.subscribers=1000",),
    "scenarios/octopia/oct-subscribers.yaml": ("workload.subscriptions.subscribers=4000",),
    "scenarios/semi-56.yaml": ("timeline.run=5s",),
    "scenarios/semi/semi-3.yaml": ("topology.brokers=60",),
    "scenarios/semi/semi-6.yaml": ("topology.brokers=40",),
    "scenarios/semi/semi-10.yaml": ("topology.brokers=30", "timeline.run=1s"),
    "scenarios/semi/semi-11.yaml": ("timeline.run=500ms", "workload.publications.rate=1.5/min"),
    "scenarios/semi/semi-4.yaml": ("topology.brokers=60",),
    "scenarios/semi/semi-5.yaml": ("topology.brokers=60",),
    "scenarios/semi/semi-7.yaml": ("topology.brokers=40", "timeline.run=2s"),
    "scenarios/semi/semi-7-nearest.yaml": ("topology.brokers=40", "timeline.run=2s"),
    "scenarios/semi/semi-8-ttls.yaml": ("topology.brokers=40", "timeline.run=2s"),
    "scenarios/semi/semi-limit.yaml": ("topology.brokers=60",),
    "scenarios/systems/one-kill.yaml": ("vary={routing.protocol: [tid, octopia]}",),
}
"""Settings for `--set`, by scenario, because these scenarios would take minutes without them, or have variants that the
simulator does not run. A field that a scenario varies then has one value. `oct-delivery.yaml` is made smaller than the
others because a test runs it, too."""

QUICK = (
    "scenarios/line-3.yaml",
    "scenarios/smoke.yaml",
    "scenarios/quickstart.yaml",
    "scenarios/faults/kill-one.yaml",
    "scenarios/octopia/oct-delivery.yaml",
)
"""The scenarios that a test runs. Each takes seconds; together they have every routing protocol, and a fault."""


def is_campaign(file: str) -> bool:
    return file.startswith("campaigns/")


def shipped() -> tuple[str, ...]:
    """The files of all scenarios and campaigns, as paths from the root of the repository."""
    found = [*(ROOT / "scenarios").rglob("*.yaml"), *(ROOT / "campaigns").glob("*.yaml")]
    return tuple(sorted(file.relative_to(ROOT).as_posix() for file in found))
