"""Both ends of a passage count the same messages: where they do not, the run is INVALID and both numbers are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulation.planning.plan import make_plan
from emulation.run.interrupt import Interrupt, Interrupted
from emulation.simulation.run import simulate
from scenario.loading import load
from tests.analysis.auditing.edited import CALM, Edit, Line, edited, findings, recounted, run_of

FAULTY = (
    CALM.replace("kind: line, brokers: 3", "kind: ring, brokers: 5")
    .replace("run: 6s", "run: 30s")
    .replace("drain: 2s", "drain: 10s")
    + """faults:
  - {at: run+3s, kill: B2, for: 2s}
  - {at: run+8s, link_down: B3-B4, for: 3s}
  - {at: run+12s, pause: B4, for: 2s}
  - {at: run+16s, reset: B4-B5}
  - {at: run+18s, degrade: B1-B2, delay: 80ms, for: 4s}
  - {at: run+24s, stop: B5, for: 2s}
"""
)
LINKS = "messages sent and not received, or received and not sent"
PUBLICATIONS = "publications handed over and not received"
NOTIFICATIONS = "notifications delivered and not received"


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_of(CALM, tmp_path_factory.mktemp("calm"))


def test_faults_of_every_kind_explain_what_they_cost(tmp_path: Path) -> None:
    assert findings(run_of(FAULTY, tmp_path)) == {}


def without_every_tenth(event: str, **fields: str) -> Edit:
    def edit(records: list[Line]) -> list[Line]:
        kept, met = [], 0
        for record in records:
            if record["event"] == event and all(record.get(key) == value for key, value in fields.items()):
                met += 1
                if met % 10 == 0:
                    continue
            kept.append(record)
        return recounted(kept)

    return edit


@pytest.mark.parametrize(
    ("node", "edit", "check", "sentence"),
    [
        ("B2", without_every_tenth("received", peer="B1"), LINKS, "B1 sent "),
        ("B1", without_every_tenth("sent", peer="B2"), LINKS, "B1 sent "),
        ("publishers", without_every_tenth("publish"), PUBLICATIONS, "clients published "),
        ("subscribers", without_every_tenth("notified"), NOTIFICATIONS, " delivered "),
        ("B1", without_every_tenth("delivered"), NOTIFICATIONS, "B1 delivered "),
    ],
)
def test_records_that_are_missing_at_one_end_show_at_the_other(
    calm: Path, tmp_path: Path, node: str, edit: Edit, check: str, sentence: str
) -> None:
    found = findings(edited(calm, tmp_path / "run", {node: edit}))
    assert sentence in found[check]


@pytest.mark.parametrize("place", [0, -1], ids=["meanwhile", "when clients leave"])
def test_a_client_that_ended_its_stream_has_not_got_all_that_was_delivered(
    calm: Path, tmp_path: Path, place: int
) -> None:
    def edit(records: list[Line]) -> list[Line]:
        time = [record["time"] for record in records if place or record["event"] == "notified"][place]
        kept = without_every_tenth("notified")(records)
        ended = {**kept[-2], "time": time, "event": "stream ended", "client": "S1"}
        return recounted([kept[0], *({**ended, "peer": f"B{number}"} for number in (1, 2, 3)), *kept[1:]])

    found = findings(edited(calm, tmp_path / "run", {"subscribers": edit}))
    assert (NOTIFICATIONS in found) is bool(place)


def test_few_records_suffice(calm: Path, tmp_path: Path) -> None:
    def without_the_fifth(records: list[Line]) -> list[Line]:
        number = [number for number, record in enumerate(records) if record["event"] == "notified"][4]
        return recounted(records[:number] + records[number + 1 :])

    assert list(findings(edited(calm, tmp_path / "run", {"subscribers": without_the_fifth}))) == [NOTIFICATIONS]


class _AskedAt(Interrupt):
    """A user's interrupt at a look."""

    def __init__(self, look: int) -> None:
        super().__init__()
        self._left = look

    def check(self) -> None:
        self._left -= 1
        if not self._left:
            raise Interrupted


@pytest.mark.parametrize("look", [1633, 1766, 1899])
def test_a_message_that_was_on_its_way_when_a_run_was_interrupted_is_excused(
    look: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emulation.simulation.deployment._LOOK_INTERVAL", 0.0)
    monkeypatch.setattr("emulation.simulation.event_queue._CALLS_BETWEEN_LOOKS", 1)
    file = tmp_path / "scenario.yaml"
    file.write_text(CALM)
    outcome = simulate(make_plan(load(file)), tmp_path / "runs", interrupt=_AskedAt(look))
    assert outcome.interrupted
    assert findings(outcome.directory) == {}
