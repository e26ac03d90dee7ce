"""The standing of a claim: a test of the model, or a number that could not have come out otherwise.

A claim is *tested* where its measurement could have refuted it. It is *calibrated* where a parameter of its scenario
was fitted to the published number itself, and true *by construction* where the model cannot give anything else. A claim
that restates another one is a *part* of that one. Only tested claims say something about a system, so that all others
are counted apart from them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec


class Standing(StrEnum):
    """Reason for which a claim, or one part of it, does or does not count."""

    TESTED = "tested"
    CALIBRATED = "calibrated"
    BY_CONSTRUCTION = "by construction"
    PART = "part of another"


class Fit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters that were fitted to published numbers."""

    scenarios: tuple[str, ...]
    """Files relative to `scenarios/` in which these parameters are used."""
    parameters: dict[str, Any]
    """Values by the field of the scenario."""
    to: tuple[str, ...]
    """Claims, or parts of them as `claim: beginning of the part's name`, that hold these numbers; none where they stand
    in the text alone."""
    by: str = ""
    """The command that fits them; empty where somebody chose them."""

    def is_to(self, claim: str, part: str) -> bool:
        """True where the parameters were fitted to this part of a claim."""
        names = (named.partition(": ") for named in self.to)
        return any(named == claim and part.startswith(beginning) for named, _, beginning in names)


class Construction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Reason for which a claim, or some parts of it, cannot come out otherwise."""

    reason: str
    parts: tuple[str, ...] = ("",)
    """Beginnings of the names of these parts; all of them by default."""
