"""The part of the cases that stands for all of them: every test, and every word of its cases."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product
from pathlib import Path

from studies.conformance import read_all
from tests.broker_service.language.test_string_sets import STRING_OPERATORS
from tests.conformance.test_conformance import FILES, TRIALS
from tests.parts import PART, VARIABLE, having_all_words

ROOT = Path(__file__).resolve().parents[1]
MANY = [f"test[{'-'.join(words)}]" for words in product("abcdefgh", "ijklmnop", "qrstuvwx")]


def test_names_are_taken_until_each_word_is_in_three() -> None:
    taken = having_all_words(MANY, "seed")
    assert all(sum(letter in name[5:] for name in taken) >= 3 for letter in "abcdefghijklmnopqrstuvwx")
    assert len(taken) < len(MANY) / 5


def test_a_word_of_fewer_names_takes_all_of_them() -> None:
    rare = {"test[rare-a]", "test[rare-i]", "test[alone]"}
    assert rare <= having_all_words([*MANY, *rare], "seed")


def test_the_seed_decides_and_the_order_does_not() -> None:
    assert having_all_words(MANY, "one") == having_all_words(MANY[::-1], "one") != having_all_words(MANY, "two")


def test_every_file_of_cases_and_every_protocol_is_kept() -> None:
    names = {f"test[{trial.case.id}-{trial.protocol.name}]": trial for trial in TRIALS}
    taken = [names[name] for name in having_all_words(list(names), "test")]
    cases = {trial.case.id for trial in taken}
    run = {trial.case.id for trial in TRIALS}
    for file in FILES:
        of_file = {getattr(case, "id", "") for case in read_all([file])} & run
        assert not of_file or of_file & cases, file
    assert {trial.protocol.name for trial in taken} == {trial.protocol.name for trial in TRIALS}
    assert len(taken) < len(TRIALS) / 5


def test_pytest_leaves_the_rest_out_where_it_is_told_to() -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-m", "not container"]
    test = "tests/broker_service/language/test_string_sets.py::test_every_pair_of_operators"
    environment = {**os.environ, VARIABLE: PART}
    ended = subprocess.run([*command, test], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    found = [line for line in ended.stdout.splitlines() if line.startswith(test)]
    pairs = [f"{test}[{one}-{other}]" for one, other in product(STRING_OPERATORS, repeat=2)]
    assert set(found) == having_all_words(pairs, test)
