"""Order within streams: histories with a known verdict, and positions that come in pieces of logs."""

from __future__ import annotations

from array import array
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.reading.stream_positions import Fall, StreamPiece, StreamPositions
from analysis.tables.totals import Numbers
from record.promises import Promises
from tests.analysis.diamond import DIAMOND, GAPLESS, UNORDERED, settled
from tests.analysis.history import History, write_run


def two_publishers(variant: str, promises: Promises = GAPLESS) -> History:
    """Publishers P and Q of one stream, each with one publication; P's comes first there."""
    history = settled(variant, promises).advertise("Q", id="a2").subscribe("T")
    return history.publish("P:1", 110).publish("Q:1", 110, client="Q")


ORDERED = two_publishers("the same order").get("P:1", 110.1, 1).get("Q:1", 110.2, 2)
OTHER_STREAMS = two_publishers("of different streams").get("P:1", 110.1, 7).get("Q:1", 110.2, 2, stream="B2")
AGAINST = two_publishers("against the stream").get("Q:1", 110.1, 2).get("P:1", 110.2, 1)
UNPROMISED = two_publishers("not promised", UNORDERED).get("Q:1", 110.1, 2).get("P:1", 110.2, 1)


def everybody(history: History) -> History:
    """T gets both in the order of the stream, without a doubt."""
    return history.get("P:1", 110.1, 1, client="T").get("Q:1", 110.2, 2, client="T")


@pytest.mark.parametrize(
    ("history", "verdicts", "against"),
    [
        (ORDERED, ["correct"], UNSET),
        (OTHER_STREAMS, ["correct"], UNSET),
        (AGAINST, ["reordered"], 1),
        (UNPROMISED, ["correct"], UNSET),
    ],
    ids=lambda value: value.variant if isinstance(value, History) else "",
)
def test_clients_get_a_stream_in_one_order(
    tmp_path: Path, history: History, verdicts: list[str], against: int | object
) -> None:
    summary = analyze(write_run(tmp_path / "run", [everybody(history)], overlay=DIAMOND), PlainEngine())
    found = summary.variants[0].delivery
    assert (found.verdicts, found.against_streams, found.reordered) == (verdicts, against, 0)
    details = [example.detail for example in found.examples if example.defect == "reordered"]
    assert details == (["position 1 of the stream B1 came after position 2"] if against is not UNSET else [])


positions = st.lists(st.integers(1, 9), max_size=12)


@given(positions, st.lists(st.integers(0, 12), max_size=4), st.randoms())
def test_pieces_of_a_log_tell_as_much_as_the_whole(got: list[int], cuts: list[int], random: object) -> None:
    naive = [(value, max(got[:place])) for place, value in enumerate(got) if place and value < max(got[:place])]
    bounds = [0, *sorted(min(cut, len(got)) for cut in cuts), len(got)]
    pieces = [
        Numbers(StreamPiece(0, "S", "B2", "B1", "driver", begin), array("q", got[begin:end]).tobytes())
        for begin, end in pairwise(bounds)
        if begin < end
    ]
    random.shuffle(pieces)  # type: ignore[attr-defined]
    whole = StreamPositions()
    for piece in pieces:
        whole.add(piece)
    assert list(whole.falls(0)) == [Fall("S", "B1", value, later) for value, later in naive]
    assert list(whole.falls(1)) == []
