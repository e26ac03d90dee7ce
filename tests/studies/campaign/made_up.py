"""Campaigns, cells and results made up for tests: nothing of them is run."""

from __future__ import annotations

from pathlib import Path

from msgspec import UNSET, UnsetType

from analysis.tables.power import Power
from analysis.tables.timeline import Fault
from analysis.tables.variant_figures import VariantFigures
from studies.campaign.cell import CampaignCell
from studies.campaign.result import CampaignResult
from studies.cells.attempt import Attempt

SCENARIO = """\
name: little
topology: {kind: ring, brokers: 4, link: {delay: 2ms}}
routing: {protocol: tid, publications: fixed}
workload:
  publications: {publishers: 2, rate: 4/s}
  subscriptions: {subscribers: 4, selectivity: 20%}
timeline: {join: 2s, run: 12s, drain: 2s}
vary:
  routing.publications: [fixed, dynamic]
faults: [{at: run+1s, kill: B2, for: 1s}]
"""

CAMPAIGN = """\
name: made-up
scenario: little.yaml
runtime: simulated
factors:
  routing.publications: [fixed, dynamic]
seeds: 1..2
faults:
  none: []
  kill: [{at: run+2s, kill: random, for: 2s}]
"""

DEFECTIVE = """
from brokerlab.protocol import DispatchingRouter, Protocol
class Router(DispatchingRouter):
    def __init__(self, context):
        super().__init__({})
    def subscribe(self, client, id, subscription):
        return None
PROTOCOL = Protocol(Router)
"""
"""A protocol whose routers cannot be made, so that every broker fails at its start."""


POWER = Power(owed=53, excused={"in flight to B2": 3}, not_judged={"outside of the sample": 1}, implied=4)


def write_campaign(directory: Path, text: str = CAMPAIGN) -> Path:
    """A campaign's file beside its scenario."""
    (directory / "little.yaml").write_text(SCENARIO)
    file = directory / "campaign.yaml"
    file.write_text(text)
    return file


def cell(number: int = 1) -> CampaignCell:
    return CampaignCell(
        key=f"kill-{number}", factors=(("routing.publications", '"fixed"'),), schedule="kill", seed=number,
        scenario=f'{{"seed": {number}}}',
    )  # fmt: skip


def fault(recovered: float | None = 1.0, before: float = 10.0) -> Fault:
    return Fault(
        variant="base", kind="kill", what=["B2"], began_ns=0, healed_ns=2_000_000_000, second=2, duration_s=2.0,
        noticed=2, detected_first_s=0.1, detected_last_s=0.1, reconnected_s=0.2, recovered_s=recovered, publications=4,
        due=9, late=0, excused=3, lost=0, dropped=1, drop_reasons=["link down"], drop_counts=[1],
        delay_before_ms=before, delay_during_ms=2 * before, delay_after_ms=before,
    )  # fmt: skip


def result(
    of: CampaignCell,
    delivery: str = "correct",
    fidelity: str = "VALID",
    faults: list[Fault] | None = None,
    ratio: float | UnsetType | None = UNSET,
) -> CampaignResult:
    variant = VariantFigures(
        name="base", delivery=[delivery], power=POWER, fidelity=fidelity, reasons=[], published=100, expected=50,
        delivered=49, excused=3, lost=0 if delivery == "correct" else 2, duplicate=0, spurious=0, reordered=0,
        mean_ms=12.0, p50_ms=11.0, p95_ms=20.0, p99_ms=30.0, faults=[fault()] if faults is None else faults,
        delivery_ratio=ratio,
    )  # fmt: skip
    return CampaignResult(
        key=of.key, factors=of.settings, schedule=of.schedule, seed=of.seed, fingerprint=of.fingerprint,
        runtime="process", delivery=[delivery], fidelity=fidelity, variants=[variant],
    )  # fmt: skip


def attempt(
    of: CampaignCell, delivery: str = "correct", fidelity: str = "VALID", *, busy: bool = False
) -> Attempt[CampaignResult]:
    return Attempt(
        host="here", began="2026-01-31T12:00:00+00:00", seconds=40.0, result=result(of, delivery, fidelity), busy=busy
    )
