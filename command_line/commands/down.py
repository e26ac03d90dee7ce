"""`brokerlab down`: ends a held run in order, and shows its verdict as the supervisor prints it."""

from __future__ import annotations

import time
from concurrent.futures import Future
from contextlib import nullcontext
from io import StringIO
from threading import Thread
from typing import TextIO

from emulation.held.held_runs import CONSOLE, HeldRun, held_run
from emulation.held.requests import Answer, Ended, EndRequest
from emulation.host.processes import await_end, identify
from record.exit_codes import ExitCode

_POLL = 0.2
_ENDS_WITHIN = 30.0
"""Seconds that a supervisor gets to end once it has answered."""


def end_run(name: str | None) -> int:
    """Ends the run of this name, or the only one; returns the exit code of its verdict. Raises `UserError`s."""
    run = held_run(name)
    console = run.directory / CONSOLE
    supervisor = identify(run.supervisor)
    with console.open(encoding="utf-8", errors="replace") if console.exists() else nullcontext(StringIO()) as printed:
        printed.seek(0, 2)
        try:
            answer = _follow(run, printed)
            await_end([] if supervisor is None else [supervisor], _ENDS_WITHIN)
        except KeyboardInterrupt:
            print(f"the run goes on ending without this command; its verdict will be in {console}")
            return ExitCode.INTERRUPTED
        print(printed.read(), end="", flush=True)
    assert isinstance(answer, Ended)
    return answer.exit_code


def _follow(run: HeldRun, printed: TextIO) -> Answer:
    """Asks for the end, and repeats what the supervisor prints until it answers."""
    answer: Future[Answer] = Future()

    def ask() -> None:
        try:
            answer.set_result(run.ask(EndRequest()))
        except BaseException as error:
            answer.set_exception(error)

    Thread(target=ask, name="down", daemon=True).start()
    while not answer.done():
        print(printed.read(), end="", flush=True)
        time.sleep(_POLL)
    return answer.result()
