from __future__ import annotations

from broker_service.routing.tid.placement.overlap import Overlap

SPAN = 90.0


def test_the_end_is_not_known_before_the_first_report() -> None:
    assert Overlap().ends_at((), SPAN) is None


def test_every_tree_has_to_be_confirmed_for_the_span() -> None:
    overlap = Overlap()
    overlap.report(1, ("t1",), 10.0)
    assert overlap.ends_at(("t1",), SPAN) == 10.0 + SPAN
    assert overlap.ends_at(("t1", "t2"), SPAN) is None
    overlap.report(1, ("t1", "t2"), 50.0)
    assert overlap.ends_at(("t1", "t2"), SPAN) == 50.0 + SPAN
    assert overlap.ends_at(("t1",), SPAN) == 10.0 + SPAN


def test_stored_matches_are_kept_for_the_span_where_no_tree_is_left() -> None:
    overlap = Overlap()
    overlap.report(1, (), 10.0)
    assert overlap.ends_at((), SPAN) == 10.0 + SPAN


def test_trees_that_different_join_points_have_confirmed_do_not_add_up() -> None:
    overlap = Overlap()
    overlap.report(1, ("t1",), 10.0)
    overlap.report(2, ("t2",), 20.0)
    assert overlap.ends_at(("t1", "t2"), SPAN) is None
    overlap.report(2, ("t1", "t2"), 30.0)
    assert overlap.ends_at(("t1", "t2"), SPAN) == 30.0 + SPAN


def test_the_join_point_that_has_confirmed_all_first_counts() -> None:
    overlap = Overlap()
    overlap.report(1, ("t1",), 10.0)
    overlap.report(2, ("t1",), 20.0)
    assert overlap.ends_at(("t1",), SPAN) == 10.0 + SPAN
