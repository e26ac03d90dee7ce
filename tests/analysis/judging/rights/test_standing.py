"""The time from which operations of the join phase certainly hold."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from analysis.judging.histories.history import History
from analysis.judging.histories.settling import Settling
from analysis.judging.rights.standing import standing_of
from analysis.reading.intervals import FOREVER
from analysis.reading.lifetimes import DeclarationLifetime
from record.log import Event
from record.time_units import SECOND
from tests.analysis.history import OVERLAY

RUN_START = 10 * SECOND
SPREAD = 8 * SECOND
QUIET = {"subscribe": FOREVER}


def settled(
    passed_on: Mapping[str, int],
    *,
    confirmed: int = 9 * SECOND,
    made: Event = Event.SUBSCRIBE,
    run_start: int | None = RUN_START,
    declared: int = 0,
    cut_short: int | None = None,
) -> float:
    """The second by which an operation has settled."""
    lifetime = DeclarationLifetime(
        variant=0, made=made, client="S", node="d1", broker="B3", issued=confirmed, confirmed=confirmed, withdrawn=None,
        gone=None,
    )  # fmt: skip
    history = History(
        overlay=OVERLAY, settling=Settling(SPREAD, declared), run_start=run_start, passed_on=passed_on,
        cut_short=cut_short,
    )  # fmt: skip
    return standing_of(0, lifetime, history).settled / SECOND


def test_what_was_made_before_a_quiet_begin_of_the_run_phase_has_settled_by_then() -> None:
    assert settled(QUIET) == 10
    assert settled({"subscribe": 18 * SECOND}) == 10, "it has settled by 17 s in any case, and this is of another one"


def test_messages_that_still_came_take_the_evidence_away() -> None:
    assert settled({"subscribe": 11 * SECOND}) == 17
    assert settled({"subscribe": FOREVER, "advertise": 11 * SECOND}) == 17, "of another kind of operation, too"


def test_what_was_made_later_takes_its_time() -> None:
    assert settled(QUIET, confirmed=11 * SECOND) == 21


def test_what_had_settled_before_the_run_phase_had_settled_then() -> None:
    assert settled(QUIET, confirmed=SECOND) == settled({}, confirmed=SECOND)


@pytest.mark.parametrize(
    "late",
    [
        settled({}),
        settled({"advertise": FOREVER}),
        settled(QUIET, declared=SECOND),
        settled(QUIET, cut_short=12 * SECOND),
    ],
    ids=["no message of an operation", "none of this kind", "brokers may wait", "interrupted"],
)
def test_logs_that_show_nothing_are_no_evidence(late: float) -> None:
    assert late == 17


def test_an_overlay_that_was_not_quiet_is_no_evidence() -> None:
    assert settled(QUIET, run_start=None) == 19
