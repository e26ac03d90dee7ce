"""The promise that deliveries kept while brokers and links failed, in one sentence."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET

from analysis.tables.summary import CORRECT, Delivery, Summary
from analysis.tables.timeline import Fault
from analysis.tables.wording import capitalised
from record.fidelity import FidelityVerdict
from record.manifest import Manifest
from record.promises import Order

_DONE = {"kill": "killed", "stop": "stopped", "pause": "paused"}
"""Faults of brokers that have a word of their own."""
_NAMED = 4
"""Fewer targets than these are named, and more are counted."""


def kept_in_words(summary: Summary, manifest: Manifest) -> str | None:
    """The sentence about a run of one variant with faults; None without faults, and where the run did not hold."""
    if len(summary.variants) != 1 or summary.fidelity != FidelityVerdict.VALID:
        return None
    (variant,), (record,) = summary.variants, manifest.variants
    if not variant.faults or variant.delivery.verdicts != [CORRECT] or variant.delivery.best_effort is not UNSET:
        return None
    return f"{_struck(variant.faults)}; {_none_lost(variant.delivery, record.promises.order)}."


def _struck(faults: Iterable[Fault]) -> str:
    """The failures, each kind with its targets."""
    targets: dict[str, list[str]] = {}
    for fault in faults:
        known = targets.setdefault(_DONE.get(fault.kind, ""), [])
        known += [target for target in fault.what if target not in known]
    told = [
        f"broker {names[0]} was {done}" if len(names) == 1 else f"{_named('brokers ', names, 'brokers')} were {done}"
        for done, names in targets.items()
        if done
    ]
    if others := targets.get(""):
        told.append(f"faults struck {_named('', others, 'brokers and links')}")
    return capitalised(", ".join(told))


def _named(before: str, names: list[str], things: str) -> str:
    """The names, with a word before them that is no name; of many, their number."""
    return before + " and ".join(names) if len(names) < _NAMED else f"{len(names)} {things}"


def _none_lost(delivery: Delivery, promised: Order) -> str:
    ordered = "none doubled" if promised is Order.NONE else "none doubled, none out of order"
    excused = delivery.excused + delivery.not_judged
    besides = f" ({excused:,} others were excused or not judged)" if excused else ""
    return f"0 of {delivery.expected - excused:,} notifications that had to come were lost, {ordered}{besides}"
