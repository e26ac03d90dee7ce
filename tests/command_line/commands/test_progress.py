from __future__ import annotations

import io
import threading

from rich.console import Console

from command_line.commands.progress import shown_progress
from tests.waiting import await_true


def test_a_pipe_gets_a_line_now_and_then_even_if_a_step_takes_long() -> None:
    output = io.StringIO()
    with shown_progress(Console(file=output), "analysing", every=0.01) as show:
        show("reading logs (3 of [50] parts, about 40 s left)")
        await_true(lambda: output.getvalue().count("reading logs") >= 2, "two lines about one step")
        show("judging deliveries")
        await_true(lambda: "judging" in output.getvalue(), "a line about the next step")
    lines = output.getvalue().splitlines()
    assert lines[0] == "analysing"
    assert "[analysing] 0 s: reading logs (3 of [50] parts, about 40 s left)" in lines
    assert "progress" not in {thread.name for thread in threading.enumerate()}


def test_a_short_task_is_one_line() -> None:
    output = io.StringIO()
    with shown_progress(Console(file=output), "analysing") as show:
        show("reading logs")
    assert output.getvalue() == "analysing\n"


def test_a_terminal_shows_the_step_in_one_line() -> None:
    output = io.StringIO()
    with shown_progress(Console(file=output, force_terminal=True, width=80), "analysing") as show:
        show("reading logs")
        await_true(lambda: "analysing: reading logs" in output.getvalue(), "the step")
