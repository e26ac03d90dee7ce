"""Imports are found in every form that Python has for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture.imports import Import, imports, modules


def _house(root: Path, importer: str) -> list[Import]:
    """Imports in a tree of a few empty modules and `house/hall/door.py`, whose text is given."""
    files = ("house/__init__.py", "house/attic.py", "house/hall/__init__.py", "house/hall/floor.py",
             "house/generated/wire.py")  # fmt: skip
    for name in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    (root / "house/hall/door.py").write_text(importer)
    return imports(modules(["house"], root))


@pytest.mark.parametrize(
    ("text", "imported"),
    [
        ("import house.attic", "house.attic"),
        ("import house.attic as roof", "house.attic"),
        ("from house import attic", "house.attic"),
        ("from house.attic import beam", "house.attic"),
        ("from house.hall import key", "house.hall"),
        ("from . import floor", "house.hall.floor"),
        ("from .floor import plank", "house.hall.floor"),
        ("from ..attic import beam", "house.attic"),
        ("def open():\n    from house.attic import beam\n", "house.attic"),
        ("if TYPE_CHECKING:\n    from house.attic import beam\n", "house.attic"),
    ],
)
def test_an_import_is_found(tmp_path: Path, text: str, imported: str) -> None:
    assert _house(tmp_path, text) == [Import("house.hall.door", imported)]


@pytest.mark.parametrize(
    "text", ["import os.path", "import houses", "from house.generated import wire", "from . import door"]
)
def test_other_imports_are_not_of_the_product(tmp_path: Path, text: str) -> None:
    assert _house(tmp_path, text) == []


def test_generated_code_is_no_module_of_the_product(tmp_path: Path) -> None:
    _house(tmp_path, "")
    assert sorted(modules(["house"], tmp_path)) == [
        "house",
        "house.attic",
        "house.hall",
        "house.hall.door",
        "house.hall.floor",
    ]
