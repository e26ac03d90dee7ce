"""The part of the proofs that `make test` runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests import proof
from tests.proof import is_proof, left_out_of, part, takes_a_part

PARTS = 12
PROOFS = [f"proof/{number}" for number in range(PARTS + 1)]
TESTS = ["here/a", "here/b", "here/c", *PROOFS]


def item(name: str, *, scope: str = "function") -> Any:
    """A test that uses one fixture of this scope."""
    return SimpleNamespace(
        name=name, nodeid=name, get_closest_marker=lambda asked: name.startswith(asked) or None,
        _fixtureinfo=SimpleNamespace(name2fixturedefs={"made": [SimpleNamespace(scope=scope)]}),
    )  # fmt: skip


def config(*args: str, keyword: str = "", markexpr: str = "") -> Any:
    return SimpleNamespace(
        args=list(args), option=SimpleNamespace(keyword=keyword, markexpr=markexpr), getini=lambda _: ["tests"]
    )


def test_each_proof_is_in_one_part_and_all_other_tests_in_each() -> None:
    left_out = [{test.name for test in left_out_of(map(item, TESTS), number)} for number in range(PARTS)]
    taken = [set(PROOFS) - names for names in left_out]
    assert taken == [{PROOFS[0], PROOFS[PARTS]}, *({name} for name in PROOFS[1:PARTS])]
    assert set().union(*left_out) == set(PROOFS)


def test_proofs_that_share_a_fixture_are_in_one_part() -> None:
    sharing = [item(f"proof/of/guests.py::{number}", scope="module") for number in range(PARTS)]
    left_out = [left_out_of([item("proof/0"), *sharing, item("proof/1")], number) for number in range(PARTS)]
    assert [sum(test in sharing for test in tests) for tests in left_out] == [PARTS, 0, *[PARTS] * (PARTS - 2)]
    assert "proof/1" not in {test.name for test in left_out[2]}


def test_proofs_of_minutes_are_in_no_part() -> None:
    tests = [item("whole/x"), *map(item, TESTS)]
    assert all("whole/x" in {test.name for test in left_out_of(tests, number)} for number in range(PARTS))


def test_properties_are_proofs_without_the_mark() -> None:
    assert is_proof(item("tests/properties/test_x.py::test_y"))
    assert not is_proof(item("tests/wire/test_x.py::test_y"))


def test_tests_that_the_user_chose_run_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "IS_WHOLE", False)
    assert takes_a_part(config("tests"))
    assert not takes_a_part(config("tests/wire"))
    assert not takes_a_part(config("tests", keyword="hosts"))
    assert not takes_a_part(config("tests", markexpr="spark"))
    monkeypatch.setattr(proof, "IS_WHOLE", True)
    assert not takes_a_part(config("tests"))


def test_the_part_is_that_of_the_revision_or_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BROKERLAB_PART", raising=False)
    assert part() == part() in range(PARTS)
    monkeypatch.setenv("BROKERLAB_PART", "2")
    assert part() == 2
