"""Whole runs of contract routers on every runtime, judged by the oracle: disturbed links, streams that lose what they
held, a full store, the crash of a publisher's broker, a congested link."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path

import msgspec
import pytest

from record.faults import FaultKind, HealKind
from record.log import Event, TraceRecord
from tests.contracts.contracts import congested_mesh
from tests.contracts.on_hosts import emulated
from tests.contracts.protocols import RELIABLE_FLOODING, registered
from tests.contracts.running import is_right, scenario, simulated, verdict_on

_LINKS = "[B1-B2, B2-B3, B3-B4]"
UNRELIABLE = scenario(
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
    large={5, 36},
)

Run = Callable[[str, Path], Path]
REAL = (pytest.mark.container, pytest.mark.proof, pytest.mark.alone)
"""Alone, because beside other tests a broker that is restarted may take seconds until it begins, which the judge counts
against the return of its clients' sessions."""


def on(runtime: str, text: str, directory: Path) -> Path:
    """The directory of a run of a scenario."""
    file = directory / "contract.yaml"
    file.write_text(text)
    return simulated(file) if runtime == "simulated" else emulated(file, runtime)


@pytest.fixture(params=["simulated", *(pytest.param(name, marks=REAL) for name in ("process", "container"))])
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    with registered():
        yield partial(on, request.param)


def test_what_is_lost_is_logged_and_survived(run: Run, tmp_path: Path) -> None:
    """Publishers wait, too: a store of 1 kB does not hold what they publish meanwhile. What is too large is refused."""
    directory = run(UNRELIABLE, tmp_path)
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
    refused = {record.id for record in records if record.event is Event.REFUSED}
    assert refused == {"P:6", "P:37", "Q:6", "Q:37"}
    assert len(published) == 80
    assert acknowledged == published - refused, "what the crash left in doubt is repeated"
    streams = {record.stream for record in records if record.event is Event.NOTIFIED}
    assert streams == {"P@B1", "Q@B4"}
    delivery = verdict_on(directory)
    assert is_right(delivery), delivery
    assert delivery.delivered > 200


def test_publications_go_round_a_congested_link(run: Run, tmp_path: Path) -> None:
    directory = run(congested_mesh(publications=40), tmp_path)
    notified = [record for record in logged(directory) if record.event is Event.NOTIFIED and record.client == "S2"]
    straight, detours = ([record for record in notified if record.hops == hops] for hops in (1, 2))
    assert len(straight) > 40, "those of the near publisher, and a few of the far ones"
    assert len(detours) > 10
    assert len(straight) + len(detours) == 120
    delivery = verdict_on(directory)
    assert is_right(delivery), delivery


def logged(run: Path) -> Iterator[TraceRecord]:
    decode = msgspec.json.Decoder(TraceRecord).decode
    return chain.from_iterable(map(decode, log.read_bytes().splitlines()) for log in (run / "logs").glob("*.jsonl"))
