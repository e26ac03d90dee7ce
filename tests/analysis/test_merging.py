"""No tally forgets a number when it is merged with another of its kind."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

import analysis.judging
import analysis.reading
import analysis.tables


def mergeable() -> Iterator[type[Any]]:
    """The dataclasses with numbers that are merged with another of their kind."""
    for package in (analysis.judging, analysis.reading, analysis.tables):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(found.name)
            for value in vars(module).values():
                own = isinstance(value, type) and value.__module__ == module.__name__ and is_dataclass(value)
                if own and hasattr(value, "merge") and any(field.type == "int" for field in fields(value)):
                    yield value


@pytest.mark.parametrize("tally", list(mergeable()), ids=lambda tally: tally.__name__)
def test_every_number_is_merged(tally: type[Any]) -> None:
    numbers = [field.name for field in fields(tally) if field.type == "int"]
    total, other = tally(), tally(**{name: 3 + place for place, name in enumerate(numbers)})
    total.merge(other)
    assert [getattr(total, name) for name in numbers] == [getattr(other, name) for name in numbers]


def test_tallies_are_found() -> None:
    names = {tally.__name__ for tally in mergeable()}
    assert {"Amount"} <= names
