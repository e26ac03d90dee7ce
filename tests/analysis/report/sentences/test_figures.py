"""A figure that does not hold says so where it is printed."""

from __future__ import annotations

import pytest
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from analysis.pipeline.figures import JudgedDelays
from analysis.report.sentences.figures import beside, delay_line, overlay_line
from analysis.tables.summary import Delay, DelayWithoutAccess
from record.fidelity import ProcessorUse
from record.figures import Figure
from record.manifest import VariantRecord
from tests.analysis.delays import delay, parts, replayed


def with_figures(found: Delay, host: str | UnsetType = UNSET) -> Delay:
    delays = JudgedDelays(
        variant=VariantRecord(name="base"), delay=found, by_delay=[], simulated=False,
        processors=ProcessorUse(busy=0.98, own=0.97), host=host,
    )  # fmt: skip
    return replace(found, figures=delays.figures())


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (
            delay(parts(), replayed()),
            "delay: mean 20.0 ms, median 16.0 ms, 95% within 40.0 ms, 99% within 80.0 ms",
        ),
        (
            delay(parts(), replayed(p99=19.0)),
            "delay: mean 20.0 ms, median 16.0 ms, 95% within 40.0 ms, 99% within 80.0 ms, of which 61 are this host's: "
            "`--set time_dilation=2`",
        ),
        (
            delay(parts(), replayed(p99=-1.0)),
            "delay: mean 20.0 ms, median 16.0 ms, 95% within 40.0 ms, 99% within 80.0 ms, all of it this host's: "
            "`--set time_dilation=2`",
        ),
        (
            delay(parts(unexplained=5.0), replayed(p50=19.0)),
            "delay: mean 20.0 ms, of which 5.0 are unexplained, median 16.0 ms, and 3.0 more in its replay without "
            "contention, 95% within 40.0 ms, 99% within 80.0 ms",
        ),
        (
            delay(parts()),
            "delay: mean 20.0 ms, median 16.0 ms, 95% within 40.0 ms, 99% within 80.0 ms; not known what this host did "
            "to median and 95% and 99%",
        ),
        (
            delay(None),
            "delay: mean 20.0 ms, median 16.0 ms, 95% within 40.0 ms, 99% within 80.0 ms; not known what this host did "
            "to all of them",
        ),
    ],
)
def test_the_line_of_delays(found: Delay, line: str) -> None:
    assert delay_line(with_figures(found)) == line


@pytest.mark.parametrize(("host", "whose"), [("h2", "the hosts', mostly h2's"), ("", "the hosts'")])
def test_contention_on_several_hosts_is_said_to_be_theirs(host: str, whose: str) -> None:
    line = delay_line(with_figures(delay(parts(), replayed(p99=19.0)), host))
    assert f"99% within 80.0 ms, of which 61 are {whose}: " in line
    unknown = delay_line(with_figures(delay(None), host))
    assert unknown.endswith("; not known what the hosts did to all of them")


def test_nothing_stands_beside_figures_of_an_older_analysis() -> None:
    assert beside(delay(parts()).of(Figure.MEAN)) == ""
    assert delay_line(delay(parts())).endswith("99% within 80.0 ms")


def test_the_part_of_the_overlay_stands_beside_delays_with_access_links() -> None:
    found = delay(parts(), replayed())
    assert overlay_line(found) is None
    without = DelayWithoutAccess(notifications=found.notifications, mean_ms=5.0, p50_ms=4.0, p95_ms=8.0, p99_ms=9.5)
    said = "the overlay's part, without access links: mean 5.0 ms, median 4.0 ms, 95% within 8.0 ms, 99% within 9.5 ms"
    assert overlay_line(replace(found, without_access=without)) == said
    some = replace(without, notifications=7)
    assert overlay_line(replace(found, without_access=some)) == f"{said} (of 7 notifications whose ways are logged)"
