"""Smaller forms of scenarios, in which a quick reproduction measures the claims.

`papers/quick_forms.yaml` names them by scenario: fields that are set as by `--set`, such as a shorter run. A scenario
that is not in the file runs as it is. A smaller form keeps all variants, because claims compare them. A verdict from it
is provisional: it is marked wherever it is shown, and is never recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from analysis.claims.files import read_as

FILE = Path(__file__).parent / "papers" / "quick_forms.yaml"


@cache
def load_quick_forms(file: Path = FILE) -> Mapping[str, Mapping[str, str]]:
    """The fields of each smaller form by scenario, relative to `scenarios/`. Raises `ClaimsError`."""
    given = read_as(file, dict[str, dict[str, str | int | float]])
    return {scenario: {field: str(value) for field, value in fields.items()} for scenario, fields in given.items()}
