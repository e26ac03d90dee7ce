"""Infidelities of time dilation and of the rehearsals that choose it.

A rehearsal is a run of its own, and a dilation is stated in the manifest: whoever counts the one into the results, or
forgets the other, is named by the audit.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from emulation.planning import variant_record
from record.files import LOGS
from record.manifest import VariantRecord
from tests.gauntlet import scenarios
from tests.gauntlet.model import Area
from tests.gauntlet.planting import around

DILATION = Area("dilation")

_LINE = scenarios.TID_LINE.but("a line, links of 20 ms", {"topology.link": {"delay": "20ms"}})
_SLOW = scenarios.TID_LINE.but("a line, dilated", {"topology.link": {"delay": "20ms"}, "time_dilation": 2})


def _stated(factor: float) -> None:
    def new_variant(original: Callable[..., VariantRecord], *given: object) -> VariantRecord:
        record = original(*given)
        record.time_dilation = factor
        return record

    around(variant_record, "new_variant", new_variant)


@DILATION.row(_SLOW, r"publications not issued as planned|delay of links")
def a_dilation_that_is_not_stated() -> None:
    _stated(1.0)


@DILATION.row(_SLOW, r"publications not issued as planned|delay of links")
def a_dilation_that_is_stated_too_large() -> None:
    _stated(3.0)


@DILATION.row(_LINE, r"publications not issued as planned|delay of links")
def a_dilation_that_is_stated_and_was_none() -> None:
    _stated(2.0)


@DILATION.edited(_LINE, r"publications not issued as planned: P1 was to publish 50 times and published 83")
def a_rehearsal_counted_into_results(run: Path) -> None:
    for log in (run / LOGS).glob("*.jsonl"):
        lines = log.read_bytes().splitlines(keepends=True)
        rehearsed = lines[: 2 * len(lines) // 3]
        log.write_bytes(b"".join([*rehearsed, *lines]))
