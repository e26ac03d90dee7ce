"""The part of the proofs that `make test` runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests import proof
from tests.proof import left_out_of, takes_a_third, third

TESTS = ["here/a", "here/b", "here/c", "proof/d", "proof/e", "proof/f", "proof/g"]


def item(name: str) -> Any:
    return SimpleNamespace(name=name, get_closest_marker=lambda asked: name.startswith(asked) or None)


def config(*args: str, keyword: str = "", markexpr: str = "") -> Any:
    return SimpleNamespace(
        args=list(args), option=SimpleNamespace(keyword=keyword, markexpr=markexpr), getini=lambda _: ["tests"]
    )


def test_each_proof_is_in_one_third_and_all_other_tests_in_each() -> None:
    left_out = [{test.name for test in left_out_of(map(item, TESTS), number)} for number in range(3)]
    assert left_out == [
        {"proof/e", "proof/f"},
        {"proof/d", "proof/f", "proof/g"},
        {"proof/d", "proof/e", "proof/g"},
    ]


def test_tests_that_the_user_chose_run_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "IS_WHOLE", False)
    assert takes_a_third(config("tests"))
    assert not takes_a_third(config("tests/wire"))
    assert not takes_a_third(config("tests", keyword="hosts"))
    assert not takes_a_third(config("tests", markexpr="spark"))
    monkeypatch.setattr(proof, "IS_WHOLE", True)
    assert not takes_a_third(config("tests"))


def test_the_third_is_that_of_the_revision_or_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BROKERLAB_THIRD", raising=False)
    assert third() == third() in range(3)
    monkeypatch.setenv("BROKERLAB_THIRD", "2")
    assert third() == 2
