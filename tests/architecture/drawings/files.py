"""All drawings, and the files in which docs/architecture.md finds them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.architecture.drawings import house, publication, scenario
from tests.architecture.drawings.svg import Drawing
from tests.architecture.imports import ROOT

NAMES = ("house", "publication", "scenario")


def drawings() -> Mapping[str, Drawing]:
    """Every drawing by its name, made from the code as it is now."""
    return dict(zip(NAMES, (house.draw(), publication.draw(), scenario.draw()), strict=True))


def path_of(name: str) -> Path:
    """File of a drawing."""
    return ROOT / "docs" / "images" / f"architecture-{name}.svg"
