"""All drawings, and the files in which docs/architecture.md finds them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.architecture.drawings import house, publication, scenario
from tests.architecture.drawings.svg import Drawing
from tests.architecture.imports import ROOT


def drawings() -> Mapping[str, Drawing]:
    """Every drawing by its name, made from the code as it is now."""
    return {"house": house.draw(), "publication": publication.draw(), "scenario": scenario.draw()}


def path_of(name: str) -> Path:
    """File of a drawing."""
    return ROOT / "docs" / "images" / f"architecture-{name}.svg"
