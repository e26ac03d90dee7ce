"""Meanings of a section's fields: the docstrings that follow them in the source.

Pydantic would parse the source of each section at every start of the program to find them.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from itertools import pairwise

from scenario.sections.section import Section


def meanings(model: type[Section]) -> Mapping[str, str]:
    """Meanings of a section's fields, inherited ones included, by the field's name in files; each in one line."""
    sections = [part for part in reversed(model.__mro__) if issubclass(part, Section)]
    found = {name: " ".join(text.split()) for section in sections for name, text in _attribute_docstrings(section)}
    return {field.alias or name: found[name] for name, field in model.model_fields.items() if name in found}


def _attribute_docstrings(section: type[Section]) -> Iterator[tuple[str, str]]:
    (definition,) = ast.parse(inspect.getsource(section)).body
    assert isinstance(definition, ast.ClassDef)
    for attribute, following in pairwise(definition.body):
        match attribute, following:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, text
