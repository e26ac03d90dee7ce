"""Docstrings begin with a noun or a verb, not with a question or a reference (CONTRIBUTING.md, prose)."""

from __future__ import annotations

import ast

import pytest

from tests.architecture.figures import Source, unclear_docstrings
from tests.architecture.imports import modules

HELD = (
    "record",
    "broker_service",
    "brokerlab",
    "topology",
    "scenario",
    "emulation",
    "analysis",
    "studies",
    "command_line",
    "benchmarks",
    "setup",
    "tests",
)
"""Folders whose docstrings keep the rule."""


@pytest.mark.parametrize("folder", HELD)
def test_no_docstring_begins_with_a_question_or_a_reference(folder: str) -> None:
    found = [place for name, path in modules([folder]).items() for place in unclear_docstrings(Source.read(name, path))]
    assert found == []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('"""How doors open."""', [1]),
        ('"""Doors, and how they open."""', []),
        ('def open():\n    """Who may open it."""', [2]),
        ('key = 1\n"""Whether it turns."""', [2]),
        ('shown = "What is this?"', []),
        ('locks = {}\n"""By door."""', [2]),
        ('lock = None\n"""None: no lock."""', [2]),
        ('def shut():\n    """The same door,\n    shut."""', [2]),
        ('class Door:\n    """See the module."""', [2]),
        ('key = 1\n"""Its lock."""', [2]),
        ('"""Items in a door."""', []),
        ('"""Bytes, asked for the same door."""', []),
        ('"""Whole doors."""', []),
    ],
)
def test_a_docstring_that_cannot_be_read_by_itself_is_found(text: str, lines: list[int]) -> None:
    source = Source("door", text.count("\n") + 1, ast.parse(text), is_init=False)
    assert unclear_docstrings(source) == [f"door:{line}" for line in lines]
