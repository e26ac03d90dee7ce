"""What following a run knows between two batches, in one file, so that it can be stopped and taken up again.

Spark says how far the logs were read; this says what they came to. Both are written with each batch, this one first: a
batch that Spark repeats after a crash is recognised by its number and not counted twice.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from analysis.live.counting import Open, Settled, waiting_file
from analysis.reading.log_events import ClientOperation, OutageEvent

_FILE = "state.msgpack"


class Mark(msgspec.Struct, array_like=True):
    """The last record read of a node."""

    variant: int
    time: int


class Moved(msgspec.Struct):
    """Messages of one kind in one variant."""

    from_clients: int = 0
    received: int = 0
    sent: int = 0
    sent_bytes: int = 0


class State(msgspec.Struct):
    """After the batch of this number; -1 before the first."""

    buckets: int
    batch: int = -1
    records: int = 0
    torn: int = 0
    malformed: int = 0
    declared: list[ClientOperation] = []
    outages: list[OutageEvent] = []
    marks: dict[str, Mark] = {}
    """By node."""
    moved: dict[str, dict[str, Moved]] = {}
    """By variant and kind."""
    settled: dict[int, Settled] = {}
    """By variant."""
    open: dict[int, dict[int, Open]] = {}
    """By bucket and variant."""
    judged_in: dict[int, int] = {}
    """By bucket: the batch that judged it last."""


def load_state(directory: Path, buckets: int) -> State:
    """What was saved there; a new one where nothing was."""
    try:
        return msgspec.msgpack.decode((directory / _FILE).read_bytes(), type=State)
    except FileNotFoundError:
        return State(buckets)


def save_state(state: State, directory: Path) -> None:
    """Replaces what was saved in one step, and removes what only the former needed."""
    part = directory / f"{_FILE}.part"
    part.write_bytes(msgspec.msgpack.encode(state))
    part.replace(directory / _FILE)
    needed = {waiting_file(directory, *one) for one in state.judged_in.items()}
    for file in directory.glob("*.waiting"):
        if file not in needed:
            file.unlink()
