"""The part of a verdict that depends on real time, which is judged only as far as the emulation held.

A protocol that promises to announce a start within some time cannot keep that on a host whose processors are busy with
other work. A late start is then no router's fault, and no proof of its innocence.
"""

from __future__ import annotations

from collections.abc import Iterable

from record.fidelity import Check, Fidelity, FidelityVerdict, is_of_a_starved_host
from record.figures import FigureVerdict


def starved(
    fidelity: Fidelity | None, variant: str, figures: Iterable[FigureVerdict] = (), waited: str = ""
) -> list[str]:
    """The reasons why a variant's brokers did not run in time: checks of the host that are INVALID, figures of delays
    of which more than half is contention, and `waited`, the nodes that waited longest for a processor.
    """
    judged = None if fidelity is None else fidelity.of(variant)
    reasons = [] if judged is None else [_reason(check) for check in judged.checks if _starves(check)]
    reasons += [_reason(found.check) for found in figures if found.of_starved_brokers]
    return [*reasons, f"waited longest for a processor: {waited}"] if reasons and waited else reasons


def unjudged_times(reasons: Iterable[str]) -> str:
    """The reason why starts that were announced late, or not at all, and late confirmations are not judged."""
    return f"starts and confirmations that did not come in time, because the host was starved ({'; '.join(reasons)})"


def _starves(check: Check) -> bool:
    return is_of_a_starved_host(check.name) and check.verdict is FidelityVerdict.INVALID


def _reason(check: Check) -> str:
    return f"{check.name}: {check.detail}"
