"""Slices share a row only where a viewer draws them right."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from analysis.trace.drawing import Drawing, Process, Slice, Track
from analysis.trace.lanes import Kind, marks_of, rows_of

TRACKS = [Track(Process(1, "B1"), 0, "queue"), Track(Process(1, "B1"), 1, "link")]
SPANS = st.lists(st.tuples(st.sampled_from(TRACKS), st.integers(0, 12), st.integers(0, 4)), max_size=30)


@given(SPANS)
def test_slices_of_a_row_follow_each_other(spans: list[tuple[Track, int, int]]) -> None:
    """An end closes the slice that began last in its row, and every slice gets the end that is its own."""
    drawing = Drawing()
    for number, (track, begin, lasts) in enumerate(spans):
        inner = ((begin, begin + 1, "inner"),) if lasts > 1 else ()
        drawing.add(Slice(track, begin, begin + lasts, str(number), "P:1", inner=inner))
    around: dict[object, list[tuple[str, int]]] = {}
    closed = {}
    latest = 0
    for mark in marks_of(drawing, rows_of(drawing)):
        assert mark.time >= latest
        latest = mark.time
        of_row = around.setdefault(mark.row, [])
        if mark.kind is Kind.BEGIN:
            assert mark.name == "inner" or not of_row
            of_row.append((mark.name, mark.time))
        else:
            name, begin = of_row.pop()
            closed[name] = begin, mark.time
    closed.pop("inner", None)
    assert closed == {str(number): (begin, begin + lasts) for number, (_, begin, lasts) in enumerate(spans)}


def test_a_track_has_as_many_rows_as_slices_at_a_time() -> None:
    drawing = Drawing()
    for begin, end in ((0, 10), (2, 5), (3, 8), (5, 9), (10, 12)):
        drawing.add(Slice(TRACKS[0], begin, end, "", ""))
    assert [row.lane for _, row in sorted(rows_of(drawing).items())] == [0, 1, 2, 1, 2]


def test_flows_begin_before_they_end_at_one_time() -> None:
    """A way on which nothing takes time is in the order of its causes."""
    drawing = Drawing()
    before = None
    for number in range(5):
        before = drawing.add(Slice(TRACKS[number % 2], 7, 7, str(number), "P:1"), before)
    begun = [mark.name for mark in marks_of(drawing, rows_of(drawing)) if mark.kind is Kind.BEGIN]
    assert begun == ["0", "1", "2", "3", "4"]
