"""The promise that deliveries kept while brokers, links and clients failed or moved, in one sentence."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET

from analysis.tables.summary import CORRECT, Delivery, Summary
from analysis.tables.timeline import Fault
from analysis.tables.wording import capitalised
from record.faults import FaultKind
from record.fidelity import FidelityVerdict
from record.manifest import Manifest, VariantRecord
from record.promises import Order
from record.wording import count_of

_DONE = {
    FaultKind.KILL: "killed",
    FaultKind.STOP: "stopped",
    FaultKind.PAUSE: "paused",
    FaultKind.CRASH: "crashed",
    FaultKind.VANISH: "ended without a word",
    FaultKind.MOVE: "moved",
}
"""Faults that have words of their own."""
_OF_BROKERS = frozenset({FaultKind.KILL, FaultKind.STOP})
_NAMED = 4
"""Fewer targets than these are named, and more are counted."""


def kept_in_words(summary: Summary, manifest: Manifest) -> str | None:
    """The sentence about a run of one variant with faults; None without faults, and where the run did not hold."""
    if len(summary.variants) != 1 or summary.fidelity != FidelityVerdict.VALID:
        return None
    (variant,), (record,) = summary.variants, manifest.variants
    if not variant.faults or variant.delivery.verdicts != [CORRECT] or variant.delivery.best_effort is not UNSET:
        return None
    return f"{_struck(variant.faults, record)}; {_none_lost(variant.delivery, record)}."


def _struck(faults: Iterable[Fault], record: VariantRecord) -> str:
    """The failures and moves, each kind with its targets."""
    targets: dict[FaultKind | None, list[str]] = {}
    for fault in faults:
        kind = FaultKind.named(fault.kind)
        known = targets.setdefault(kind if kind in _DONE else None, [])
        known += [target for target in fault.what if target not in known]
    told = [_done(kind, names, record) for kind, names in targets.items() if kind is not None]
    if others := targets.get(None):
        things = "brokers and links" if record.sites is UNSET else "brokers, links, sites and clients"
        told.append(f"faults struck {_named('', others, things)}")
    sentence = ", ".join(told)
    return capitalised(sentence) if sentence.startswith(("broker", "faults")) else sentence  # names stay as they are


def _done(kind: FaultKind, names: list[str], record: VariantRecord) -> str:
    """The targets of one kind of fault, and what became of them."""
    if kind.of_clients:
        return f"{_named('', names, 'sites and clients')} {_DONE[kind]}"
    if kind not in _OF_BROKERS and record.sites is not UNSET:
        subject = _named("", names, "brokers, sites and clients")
    elif len(names) == 1:
        subject = f"broker {names[0]}"
    else:
        subject = _named("brokers ", names, "brokers")
    return f"{subject} {'was' if len(names) == 1 else 'were'} {_DONE[kind]}"


def _named(before: str, names: list[str], things: str) -> str:
    """The names, with a word before them that is no name; of many, their number."""
    return before + " and ".join(names) if len(names) < _NAMED else f"{len(names)} {things}"


def _none_lost(delivery: Delivery, record: VariantRecord) -> str:
    detected = UNSET if delivery.detections is UNSET else delivery.detections.doubled
    doubled = (delivery.doubled or 0) + (detected or 0)
    by_moves = f" but {doubled:,}, as the terms of moves allow" if doubled else ""
    kept_order = f", none out of order{_reordered_by_moves(delivery, record)}"
    ordered = "" if record.promises.order is Order.NONE else kept_order
    excused = delivery.excused + delivery.not_judged
    others = "1 other was" if excused == 1 else f"{excused:,} others were"
    besides = f" ({others} excused or not judged)" if excused else ""
    owed = f"0 of {count_of(delivery.expected - excused, 'notification')} that had to come were lost"
    return f"{owed}, none doubled{by_moves}{ordered}{besides}"


def _reordered_by_moves(delivery: Delivery, record: VariantRecord) -> str:
    """The exception for order that handovers do not keep, where anything overtook."""
    may_reorder = record.moves is not UNSET and any(cost.reorders for cost in record.moves.costs.values())
    return " but where the terms of moves allow it" if may_reorder and delivery.overtaken else ""
