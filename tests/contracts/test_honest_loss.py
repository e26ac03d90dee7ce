"""Lost, repeated and reordered messages, and streams that lose what they held: each is logged, and a protocol that
promises to survive them does, on every runtime."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import msgspec
import pytest

from record.faults import FaultKind, HealKind
from record.log import Event, TraceRecord
from tests.contracts.on_hosts import emulated
from tests.contracts.properties import CORRECT
from tests.contracts.protocols import RELIABLE_FLOODING, registered
from tests.contracts.running import scenario, simulated, verdict_on

_LINKS = "[B1-B2, B2-B3, B3-B4]"
SCENARIO = scenario(
    f"{{protocol: {RELIABLE_FLOODING}, kept: 8}}",
    "{kind: line, brokers: 4, link: {delay: 60ms}}",
    ("P@B1", "Q@B4"),
    ("S1@B2", "S2@B3", "S3@B4", "T@B4"),
    [
        f"{{at: run+0.5s, disturb: {_LINKS}, lose: 10%, repeat: 10%, hold: 20% by 200ms, for: 4s}}",
        *(f"{{at: run+{tenths / 10}s, reset: {_LINKS}}}" for tenths in range(10, 25, 3)),
        "{at: run+3s, kill: B1, for: 1s}",
    ],
    limits="resume: false, stored_bytes: 1kB",
    publications=40,
)

Run = Callable[[Path], Path]


@pytest.fixture
def known() -> Iterator[None]:
    with registered():
        yield


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    "run",
    [
        pytest.param(simulated, id="simulated"),
        *(
            pytest.param(partial(emulated, runtime=runtime), id=runtime, marks=pytest.mark.container)
            for runtime in ("process", "container")
        ),
    ],
)
@pytest.mark.timeout(240)
def test_what_is_lost_is_logged_and_survived(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "contract.yaml"
    file.write_text(SCENARIO)
    directory = run(file)
    records = list(logged(directory))
    injected = {record.text for record in records if record.event in {Event.FAULT, Event.HEALED}}
    assert injected == {
        FaultKind.DISTURB, FaultKind.RESET, FaultKind.KILL, HealKind.UNDISTURB, HealKind.RECONNECT, HealKind.RESTART
    }  # fmt: skip
    disturbed = [record for record in records if record.event is Event.DISTURBED]
    assert {record.text for record in disturbed} == {"lost", "repeated", "held back"}
    assert {record.duration for record in disturbed if record.text == "held back"} == {200_000_000}
    dropped = [record for record in records if record.event is Event.DROPPED and record.kind == "publish"]
    assert "stream broke" in {record.text for record in dropped}
    acknowledged = {record.id for record in records if record.event is Event.CONFIRMED and record.kind == "publish"}
    published = {record.id for record in records if record.event is Event.PUBLISH}
    assert len(published) == 80
    assert 40 < len(acknowledged & published) == len(acknowledged)
    streams = {record.stream for record in records if record.event is Event.NOTIFIED}
    assert streams == {"P@B1", "Q@B4"}
    delivery = verdict_on(directory)
    assert delivery.verdicts == [CORRECT]
    assert delivery.delivered > 200


def logged(run: Path) -> Iterator[TraceRecord]:
    decode = msgspec.json.Decoder(TraceRecord).decode
    for log in sorted((run / "logs").glob("*.jsonl")):
        yield from map(decode, log.read_bytes().splitlines())
