"""Numbers and their nouns in sentences for people."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from record.wording import count_of
from tests.architecture.imports import ROOT

PACKAGES = ("analysis", "command_line", "emulation", "record", "scenario", "setup", "studies", "topology")
CHOSEN_BY_HAND = re.compile(r"""'s' if|"s" if|else 's'|else "s"|"1 [a-z]+" if .* == 1 else f""")
"""Plurals that a line of code chooses by itself."""
BEFORE_A_PLURAL = re.compile(
    r"\{[^{}\":]+\} (brokers|cells|claims|clients|links|publications|records|runs|scenarios)\b(?! are)"
)


@pytest.mark.parametrize(
    ("number", "noun", "plural", "words"),
    [
        (0, "broker", "", "0 brokers"),
        (1, "broker", "", "1 broker"),
        (1200, "broker", "", "1,200 brokers"),
        (1, "copy", "copies", "1 copy"),
        (2, "copy", "copies", "2 copies"),
    ],
)
def test_a_noun_agrees_with_its_number(number: int, noun: str, plural: str, words: str) -> None:
    assert count_of(number, noun, plural) == words


@pytest.mark.parametrize("package", PACKAGES)
def test_no_line_chooses_a_plural_by_itself(package: str) -> None:
    for file in sorted(Path(ROOT / package).rglob("*.py")):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            assert not CHOSEN_BY_HAND.search(line), f"{file}:{number}: use `count_of`"


def test_no_command_prints_a_number_before_a_plural() -> None:
    for file in sorted((ROOT / "command_line").rglob("*.py")):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            assert not BEFORE_A_PLURAL.search(line), f"{file}:{number}: use `count_of`"
