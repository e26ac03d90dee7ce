"""A comparison of variants in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analysis.tables.wording import variant_name

_ROUTING = "routing"


@dataclass(frozen=True, slots=True)
class ComparisonInWords:
    """A difference between variants, and the numbers behind it."""

    finding: str
    """One sentence: the difference, with its interval and its cause where the logs show them."""
    numbers: str
    """Further sentences with the numbers; empty where nothing could be compared."""


def named(variant: str, scenario: Mapping[str, Any]) -> str:
    """`dynamic routing` where the variants of a scenario differ in their routing only, else `variant dynamic+2`.

    Where a number alone would name them, `routing with horizon 2` and `horizon 2`.
    """
    varied, name = list(scenario.get("vary") or ()), variant_name(variant)
    of_routing = bool(varied) and all(field.partition(".")[0] == _ROUTING for field in varied)
    if len(varied) == 1 and name[:1].isdigit():
        field = varied[0].rpartition(".")[2].replace("_", " ")
        return f"routing with {field} {name}" if of_routing else f"{field} {name}"
    return f"{name} routing" if of_routing else f"variant {name}"
