"""The verdict on a simulated run: what can be judged of it, and what holds because nothing else is possible."""

from __future__ import annotations

from emulation.fidelity.advice import remedies
from emulation.fidelity.checks import Measurements, clocks, lateness, losses, settling, torn, unended
from record.fidelity import Check, VariantFidelity, Verdict, worst

BY_CONSTRUCTION = Check(
    name="links, CPU and clocks", value=None, unit="", limit=None, verdict=Verdict.VALID,
    detail="modelled: delay, rate and loss of each link are those asked for, no broker waits for another's CPU, and "
    "all nodes share one clock. Whether the model is like real brokers is shown by comparing runs, not here",
)  # fmt: skip


def judge_modelled(measured: Measurements) -> VariantFidelity:
    """The verdict on one variant in virtual time: its worst check."""
    checks = [
        BY_CONSTRUCTION,
        lateness(measured.logs, measured.time_dilation),
        clocks(measured.logs),
        losses(measured.logs),
        unended(measured.logs),
        torn(measured.logs),
        settling(measured.unsettled),
    ]
    return VariantFidelity(
        name=measured.variant,
        verdict=worst(check.verdict for check in checks),
        checks=checks,
        links=[],
        advice=remedies(checks),
    )
