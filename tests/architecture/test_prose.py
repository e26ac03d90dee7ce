"""Docstrings begin with a noun or a verb, not with a question word (CONTRIBUTING.md, prose)."""

from __future__ import annotations

import ast

import pytest

from tests.architecture.figures import Source, question_docstrings
from tests.architecture.imports import modules

HELD = (
    "record",
    "broker_service",
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
def test_no_docstring_begins_with_a_question_word(folder: str) -> None:
    found = [
        place for name, path in modules([folder]).items() for place in question_docstrings(Source.read(name, path))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('"""How doors open."""', [1]),
        ('"""Doors, and how they open."""', []),
        ('def open():\n    """Who may open it."""', [2]),
        ('key = 1\n"""Whether it turns."""', [2]),
        ('shown = "What is this?"', []),
    ],
)
def test_a_docstring_that_begins_with_a_question_word_is_found(text: str, lines: list[int]) -> None:
    source = Source("door", text.count("\n") + 1, ast.parse(text), is_init=False)
    assert question_docstrings(source) == [f"door:{line}" for line in lines]
