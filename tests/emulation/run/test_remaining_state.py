"""Differences between routing tables before clients joined and after they left."""

from __future__ import annotations

from emulation.run.remaining_state import remaining_state


def test_equal_tables_leave_nothing() -> None:
    tables = {"B1": {"rows": {"a": 1}, "list": [1, 2]}}
    assert remaining_state(tables, {"B1": {"list": [1, 2], "rows": {"a": 1}}}, ()) == {}


def test_rows_too_many_and_missing_are_listed_by_broker() -> None:
    before = {"B1": {"rows": {"a": 1}}, "B2": {"rows": {}}, "B3": {}}
    after = {"B1": {"rows": {"b": 2}}, "B2": {"rows": {}, "index": 3}}
    assert remaining_state(before, after, ()) == {
        "B1": ["rows still holds b: 2", "rows lacks a: 1"],
        "B2": ["index still holds 3"],
        "B3": ["no answer"],
    }


def test_long_lists_are_bounded() -> None:
    (lines,) = remaining_state({"B1": {}}, {"B1": {"rows": list(range(20))}}, ()).values()
    assert len(lines) == 6
    assert lines[-1] == "and 15 more"


def test_tables_that_count_what_has_happened_are_not_compared() -> None:
    before, after = {"B1": {"vector": {"B1": 1}, "rows": []}}, {"B1": {"vector": {"B1": 9}, "rows": ["left"]}}
    assert remaining_state(before, after, {"vector"}) == {"B1": ["rows still holds left"]}
