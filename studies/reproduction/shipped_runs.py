"""Digests of what shipped scenarios give in the simulator, in forms that take seconds, as the repository keeps them.

They tell a change of code that changes a reproduced run from one that does not. `python -m tests.unchanged.record
--compare` holds the file to the program.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import msgspec

FILE = Path(__file__).parents[2] / "tests" / "unchanged" / "digests.json"
"""A file of the repository, because only there are claims recorded."""
_DECIDING = ("logs", "results/")
"""Parts of a run from which claims are measured."""
_BESIDE = "results/budget"
"""Tables that no claim is measured from."""


class _Run(msgspec.Struct, frozen=True):
    """The result of one scenario."""

    parts: dict[str, str]
    """Digests by part: a table, or the logs together."""


class _Runs(msgspec.Struct, frozen=True):
    """The file, less the fields that do not matter here."""

    runs: dict[str, _Run]
    """Results by the scenario's path from the root of the repository."""


def given(scenarios: Iterable[str]) -> str:
    """The digest of what these scenarios gave, by files relative to `scenarios/`; empty where one was not recorded."""
    found = [_runs(FILE).get(f"scenarios/{scenario}") for scenario in scenarios]
    if not all(found):
        return ""
    parts = [sorted(_deciding(run.parts).items()) for run in found if run is not None]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:16]


def _deciding(parts: Mapping[str, str]) -> dict[str, str]:
    return {
        name: digest for name, digest in parts.items() if name.startswith(_DECIDING) and not name.startswith(_BESIDE)
    }


@cache
def _runs(file: Path) -> Mapping[str, _Run]:
    """The recorded runs; none outside of the repository, where the file is not there."""
    return msgspec.json.decode(file.read_bytes(), type=_Runs).runs if file.is_file() else {}
