"""`brokerlab subscribe`: has a client of a held run subscribe, and shows what it gets."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from broker_service.language import Publication
from broker_service.language.formatting import format_publication
from command_line.commands.log import Tail, new_lines
from emulation.held.held_runs import held_run
from emulation.held.requests import SubscribeRequest, UnsubscribeRequest
from emulation.planning.plan import PUBLISHERS, SUBSCRIBERS
from record.exit_codes import ExitCode
from record.files import LOGS, log_file
from record.log import Event
from record.wording import count_of

_KEPT = 10_000
"""Publications whose contents are kept for notifications that come later."""
_CONTENT_WITHIN = 1.0
"""Seconds for which the content of a publication is awaited, which another process logs."""


class _Line(msgspec.Struct):
    """The part of a record that is shown."""

    event: str = ""
    client: str | None = None
    id: str | None = None
    hops: int = 0
    text: str | None = None
    numbers: dict[str, float | int] | None = None
    strings: dict[str, str] | None = None


class _Contents:
    """The contents of publications, from the log of those who publish."""

    def __init__(self, log: Path) -> None:
        self._tail = Tail(log)
        self._contents: dict[str, str] = {}

    def of(self, id: str) -> str:
        """The content of a publication; empty where it is not known."""
        deadline = time.monotonic() + _CONTENT_WITHIN
        while id not in self._contents and time.monotonic() < deadline:
            self._read()
            if id not in self._contents:
                time.sleep(0.05)
        return self._contents.get(id, "")

    def _read(self) -> None:
        for line in _decoded(self._tail.read()):
            if line.event == Event.PUBLISH and line.id is not None:
                content = Publication({**(line.strings or {}), **(line.numbers or {})})
                self._contents[line.id] = format_publication(content)
        while len(self._contents) > _KEPT:
            del self._contents[next(iter(self._contents))]


def subscribe_by_hand(name: str | None, broker: str, content: str) -> ExitCode:
    """Subscribes at a broker. Raises `UserError`s."""
    print(held_run(name).done(SubscribeRequest(broker, content)).text)
    return ExitCode.CORRECT


def subscribe_and_follow(name: str | None, broker: str, content: str) -> ExitCode:
    """Subscribes at a broker and shows what comes, until Ctrl-C withdraws the subscription. Raises `UserError`s."""
    run = held_run(name)
    logs = run.directory / LOGS
    tail, contents = Tail(log_file(logs, SUBSCRIBERS)), _Contents(log_file(logs, PUBLISHERS))
    done = run.done(SubscribeRequest(broker, content))
    print(done.text, flush=True)
    try:
        for line in _decoded(new_lines(run, tail)):
            if line.client == done.client and line.event == Event.NOTIFIED and line.id is not None:
                print(f"{line.id}  {count_of(line.hops, 'hop')}  {contents.of(line.id)}", flush=True)
            elif line.client == done.client and line.event == Event.REJECTED:
                print(f"refused: {line.text}", flush=True)
    except KeyboardInterrupt:
        print(run.done(UnsubscribeRequest(done.client)).text)
    return ExitCode.CORRECT


def _decoded(lines: Iterable[str]) -> Iterator[_Line]:
    decoder = msgspec.json.Decoder(_Line)
    for line in lines:
        with suppress(msgspec.DecodeError):
            yield decoder.decode(line)
