"""The progress display, as text."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from emulation.run.progress import (
    LiveRunDisplay,
    PlainRunDisplay,
    Snapshot,
    counters,
    display,
    duration,
    no_display,
    render,
)


def running() -> Snapshot:
    return Snapshot(
        variant="dynamic", variant_number=2, variants=2, clock=lambda: 50.0, phase="run", phase_begin=20.0,
        phase_end=140.0, run_end=150.0, brokers=30, brokers_up=29, links=60, links_up=59, published=1200,
        publications=4800, delivered=34567,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (125, "2 min 05 s"), (-3, "0 s")]
)
def test_durations_read_naturally(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_counters_name_what_they_count() -> None:
    assert counters(running()) == "brokers 29/30  links 59/60  published 1,200/4,800  delivered 34,567"


def test_the_live_display_shows_variant_phase_counters_and_time_left() -> None:
    console = Console(file=io.StringIO(), width=120, force_terminal=True, color_system=None)
    with console.capture() as captured:
        console.print(render(running()))
    text = captured.get()
    assert "variant 2 of 2: dynamic" in text
    assert "1 min 30 s left in run" in text
    assert "about 1 min 40 s left in all" in text
    assert "published 1,200/4,800" in text
    assert len(text.splitlines()) <= 5


def test_a_share_is_known_only_when_the_end_is() -> None:
    snapshot = running()
    assert snapshot.share() == pytest.approx(0.25)
    snapshot.phase_end = None
    assert snapshot.share() is None


def test_virtual_time_is_shown_with_its_speed_and_waits_are_the_users() -> None:
    snapshot = running()
    snapshot.speed = 0.0
    assert snapshot.until(140.0) == "1 min 30 s of virtual time"
    snapshot.speed = 45.0
    assert snapshot.length() == "(2 min 00 s of virtual time)"  # an estimate would be that of another phase
    assert counters(snapshot).endswith("virtual time 50.0 s, 45.0 times as fast as real time")
    assert snapshot.until(140.0) == "2 s of real time"


def test_a_slower_run_shows_both_times() -> None:
    snapshot = running()
    snapshot.dilation = 4.0
    assert counters(snapshot).endswith("delivered 34,567  7.5 of 30 s of the scenario's time, 4 times slower")
    assert snapshot.until(140.0) == "1 min 30 s"
    assert snapshot.length() == "(30 s of the scenario's time, 2 min 00 s of real time)"
    snapshot.phase_end = None
    assert snapshot.length() == ""
    assert counters(snapshot).endswith("delivered 34,567")


def test_nobody_is_told_anything_where_nobody_looks() -> None:
    with no_display(Snapshot()) as shown:
        shown.refresh()
        shown.print_line("not shown")


def test_the_plain_display_prints_one_line_a_phase_and_not_one_a_refresh() -> None:
    output = io.StringIO()
    snapshot = running()
    with display(snapshot, Console(file=output, width=60)) as shown:
        for _ in range(5):
            shown.refresh()
        snapshot.phase, snapshot.phase_end = "drain", None
        shown.refresh()
        shown.print_line("broker B3 ended")
    lines = output.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("[2/2 dynamic] run")
    assert lines[1].startswith("[2/2 dynamic] drain")
    assert lines[2] == "broker B3 ended"


def test_the_display_fits_where_the_output_goes() -> None:
    with display(Snapshot(), Console(file=io.StringIO())) as shown:
        assert isinstance(shown, PlainRunDisplay)
    with display(Snapshot(), Console(file=io.StringIO(), force_terminal=True)) as shown:
        assert isinstance(shown, LiveRunDisplay)
