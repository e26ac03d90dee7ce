"""Records of a log are awaited in the words in which people, and explorations, name them."""

from __future__ import annotations

from itertools import pairwise

import pytest

from emulation.held.awaited_records import AwaitedRecord, RecordWatch
from record.errors import BadInputError
from record.log import EMULATOR, Event, TraceRecord
from studies.exploration.moments import all_moments


def sent(time: int, *, kind: str = "subscribe", peer: str = "B4", node: str = "B3") -> TraceRecord:
    return TraceRecord(time=time, node=node, variant="base", event=Event.SENT, kind=kind, id="S1:s1", peer=peer)


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("B3 sends subscribe to B4", True),
        ("B3 sent subscribe to B4", True),
        ("B3 sent", True),
        ("B3 sent S1:s1", True),
        ("B3 sent subscribe number 2 to B4", True),
        ("B3 sent the first subscribe to B4", False),
        ("B3 sends publish to B4", False),
        ("B3 sends subscribe to B2", False),
        ("B4 sends subscribe to B4", False),
        ("B3 receives subscribe from B4", False),
    ],
)
def test_a_record_fits_every_word(text: str, *, met: bool) -> None:
    watch = RecordWatch()
    watch.see(sent(1))
    watch.begin()
    watch.see(sent(2))
    watch.expect(AwaitedRecord.parse(text))
    watch.see(sent(3))
    assert watch.met is met


def test_what_emulator_and_gauges_log_is_not_counted() -> None:
    watch = RecordWatch()
    watch.expect(AwaitedRecord.parse("emulator sent"))
    watch.see(sent(1, node=EMULATOR))
    assert not watch.met


def test_words_that_name_nothing_are_refused() -> None:
    for text in ("", "B3", "B3 flies to B4", "B3 sent subscribe to", "B3 sent to B4 twice"):
        with pytest.raises(BadInputError, match="names no record of a log"):
            AwaitedRecord.parse(text)


def test_moments_of_explorations_are_found_again() -> None:
    kinds = ("subscribe", "publish", "subscribe")
    lost = [TraceRecord(time=time, node="B3", variant="base", event=Event.LINK_DOWN, peer="B4") for time in (3, 4)]
    records = [*(sent(time, kind=kind) for time, kind in enumerate(kinds)), *lost]
    for moment in all_moments(records, 0):
        watch = RecordWatch()
        watch.expect(AwaitedRecord.parse(moment.words))
        met = []
        for record in records:
            watch.see(record)
            met.append(watch.met)
        came = [after.time for before, after in pairwise([records[0], *records]) if met[after.time] and before]
        assert came[0] == moment.at, moment.words
