"""Checks made from counts and names, in the words that all audits have in common."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from record.fidelity import Check, FidelityVerdict

NAMED = 5
"""Nodes, links or messages that a detail names at most."""


def shown(names: Iterable[str], separator: str = ", ") -> str:
    """The first few of some names, and the number of the others."""
    known = list(names)
    more = f"{separator}and {len(known) - NAMED:,} more" if len(known) > NAMED else ""
    return separator.join(known[:NAMED]) + more


def none_allowed(name: str, unit: str, found: Collection[str], *, meaning: str, otherwise: str) -> Check:
    """A check that no node, link or message fails: INVALID where some did, with their names and what that means;
    VALID with the sentence `otherwise`."""
    return Check(
        name=name,
        value=float(len(found)),
        unit=unit,
        limit=0.0,
        verdict=FidelityVerdict.INVALID if found else FidelityVerdict.VALID,
        detail=f"{shown(found)}: {meaning}" if found else otherwise,
    )


def unmeasured(name: str, unit: str, why: str) -> Check:
    """A check for which the run holds no evidence, which does not count against it."""
    return Check(
        name=name, value=None, unit=unit, limit=None, verdict=FidelityVerdict.VALID, detail=f"not measured: {why}"
    )
