"""Figures of a small tree, counted by hand."""

from __future__ import annotations

import pytest

from tests.architecture.figures import Figure, figures, own_figures

LARGE_CLASSES = 0
"""Classes of over 20 methods that are left."""
REPEATED = "def total(a):\n    b = a\n    b += 1\n    c = b\n    return c\n"
TREE = {
    "hall/__init__.py": "from hall.door import Lock\n",
    "hall/door.py": f"class Lock: ...\n{REPEATED}key = 1\n'By its turns.'\n'Turned how?'\n",
    "hall/floor.py": "from hall import door\nfrom attic import beam\n" + "x = 1\n" * 48,
    "attic/__init__.py": '"""What rooms have above."""\n',
    "attic/beam.py": f"import hall.window\nclass Lock: ...\n{REPEATED}" + "def long():\n" + "    pass\n" * 50,
    "hall/window.py": "from hall import floor\n"
    + "class Wide:\n"
    + "".join(f"    def pane{number}(self): ...\n" for number in range(21))
    + "class Narrow:\n"
    + "".join(f"    def pane{number}(self): ...\n" for number in range(20)),
    "tests/test_hall.py": "pass\npass\n",
}


@pytest.fixture(scope="module")
def own() -> dict[str, Figure]:
    """Figures of this tree by name; counting them takes seconds."""
    return {figure.name: figure for figure in own_figures()}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    tmp_path = tmp_path_factory.mktemp("tree")
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return {figure.name: figure.value for figure in figures(tmp_path, ["hall", "attic"])}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("packages", "2"),
        ("rooms", "4"),
        ("modules", "6"),
        ("lines of product", "163"),
        ("lines of tests", "2"),
        ("largest package", "hall, 63.8% of the product's lines"),
        ("longest module", "attic.beam, 58 lines"),
        ("functions over 50 lines", "1"),
        ("classes of over 20 methods", "1"),
        ("imports between modules", "5"),
        ("arrows between packages", "2"),
        ("arrows between rooms of all packages", "5"),
        ("arrows between rooms of one package", "2"),
        ("rooms that lie on a circle", "0"),
        ("modules under 40 lines", "1"),
        ("modules with one importer", "4"),
        ("modules under 40 lines with one importer", "1"),
        ("names of classes defined in several modules", "1"),
        ("functions of 4 statements or more that are repeated", "1"),
        ("docstrings that begin with a question or a reference", "2"),
    ],
)
def test_a_figure_is_what_was_counted_by_hand(found: dict[str, str], name: str, value: str) -> None:
    assert found[name] == value


def test_classes_know_little(own: dict[str, Figure]) -> None:
    """A class of many methods is divided by what its parts know. The bound may only fall."""
    large = own["classes of over 20 methods"]
    assert len(large.names) <= LARGE_CLASSES, large.names
    assert not [name for name in large.names if not name.startswith("broker_service.")]


def test_the_own_tree_has_all_figures(own: dict[str, Figure], found: dict[str, str]) -> None:
    assert own["imports that point up"].value == "0"
    assert own.keys() == found.keys() | {"imports that point up"}
