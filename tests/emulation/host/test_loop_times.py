"""Times of the reference loop are kept for later processes, only as long as they are of this host."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from emulation.host import loop_times
from emulation.host.loop_times import KeptTimes, kept_or_measured
from emulation.host.reference_loops import Reference
from record.host_speed import LoopTimes

WHOLE, TENTH = 1, 10


class Loop:
    """A loop that takes as many nanoseconds as are next, and the parts of the rounds that were asked for."""

    def __init__(self) -> None:
        self.times: list[int] = []
        self.parts: list[int] = []

    def time_of(self, reference: Reference, part: int = WHOLE) -> int:
        assert reference is Reference.INTERPRETER
        self.parts.append(part)
        return self.times.pop(0)


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    made = Loop()
    monkeypatch.setattr(loop_times, "time_of", made.time_of)
    return made


@pytest.fixture
def kept(tmp_path: Path, loop: Loop) -> Path:
    """A file in which a first process has kept 500 ns."""
    loop.times = [500]
    path = tmp_path / "made" / "times.json"
    assert kept_or_measured(path).interpreter == 500
    assert loop.parts == [WHOLE]
    loop.parts.clear()
    return path


@pytest.mark.parametrize(("again", "least"), [(650, 500), (450, 450)])
def test_a_later_process_makes_a_tenth_of_the_rounds_and_takes_the_least(
    kept: Path, loop: Loop, again: int, least: int
) -> None:
    loop.times = [again, 900]
    assert kept_or_measured(kept).interpreter == least
    assert kept_or_measured(kept).interpreter == least
    assert loop.parts == [TENTH, TENTH]


def of_another_boot(kept: KeptTimes) -> KeptTimes:
    return msgspec.structs.replace(kept, boot="another")


def of_another_python(kept: KeptTimes) -> KeptTimes:
    return msgspec.structs.replace(kept, python="3.99")


def too_old(kept: KeptTimes) -> KeptTimes:
    return msgspec.structs.replace(kept, measured=kept.measured - 601 * 10**9)


def of_the_future(kept: KeptTimes) -> KeptTimes:
    return msgspec.structs.replace(kept, measured=kept.measured + 601 * 10**9)


@pytest.mark.parametrize("changed", [of_another_boot, of_another_python, too_old, of_the_future])
def test_times_of_another_host_or_time_are_measured_anew(
    kept: Path, loop: Loop, changed: Callable[[KeptTimes], KeptTimes]
) -> None:
    found = msgspec.json.decode(kept.read_bytes(), type=KeptTimes)
    kept.write_bytes(msgspec.json.encode(changed(found)))
    loop.times = [700]
    assert kept_or_measured(kept).interpreter == 700
    assert loop.parts == [WHOLE]
    assert msgspec.json.decode(kept.read_bytes(), type=KeptTimes).times == LoopTimes(interpreter=700)


@pytest.mark.parametrize("content", [b"", b'{"boot": "x"', b"[1, 2]", b'{"times": {"interpreter": 0}}', b"\xff\xfe"])
def test_a_file_that_is_no_times_is_measured_anew(kept: Path, loop: Loop, content: bytes) -> None:
    kept.write_bytes(content)
    loop.times = [700]
    assert kept_or_measured(kept).interpreter == 700


def test_a_directory_that_cannot_be_written_costs_the_next_process_a_measurement(tmp_path: Path, loop: Loop) -> None:
    (tmp_path / "file").touch()
    loop.times = [500, 600]
    assert kept_or_measured(tmp_path / "file" / "times.json").interpreter == 500
    assert kept_or_measured(tmp_path / "file" / "times.json").interpreter == 600
    assert loop.parts == [WHOLE, WHOLE]
