"""The summary so far, batch by batch, against the final one. What a batch comes to is no matter of Spark."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from analysis.engines import PlainEngine
from analysis.live import LiveSummary
from analysis.live.batches import Batches
from analysis.live.growth import grown, latest
from analysis.pipeline import analyze
from analysis.tables.summary import read_summary
from emulation.planning.plan import make_plan
from emulation.scenario import load
from emulation.simulation.run import simulate
from tests.analysis.history import SECOND, History, joined, write_run

SCENARIO = """
name: ring
topology: {kind: ring, brokers: 4, link: {delay: 2ms, bandwidth: 300kbit}}
routing: {protocol: tid, publications: fixed}
workload:
  publications: {source: stocks, publishers: 2, rate: 20/s}
  subscriptions: {subscribers: 5, selectivity: 20%}
timeline: {join: 4s, run: 20s, drain: 3s}
faults:
  - {at: run+6s, kill: random, for: 500ms}
vary: {routing.publications: [fixed, dynamic]}
seed: 3
"""


class Following:
    """Batches of a run whose logs grow as they are told to."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self.places: dict[str, int] = {}
        self.number = 0
        self.state = run / ".following"
        self.state.mkdir()
        self.batches = self.anew()

    def anew(self) -> Batches:
        """As after a restart."""
        self.batches = Batches(self.run, self.state, PlainEngine().open().__enter__())
        return self.batches

    def take(self, most: int | None = None) -> LiveSummary:
        ends = latest(self.run / "logs", self.places, most)
        self.batches.take(grown(self.run / "logs", self.places, ends), self.number)
        self.places, self.number = ends, self.number + 1
        assert self.batches.summary is not None
        return self.batches.summary


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    scenario = tmp_path_factory.mktemp("scenario") / "ring.yaml"
    scenario.write_text(SCENARIO)
    run = simulate(make_plan(load(scenario)), tmp_path_factory.mktemp("runs")).directory
    analyze(run, PlainEngine())
    return run


@pytest.fixture
def run(simulated: Path, tmp_path: Path) -> Iterator[Path]:
    yield shutil.copytree(simulated, tmp_path / "run")


def settled(summary: LiveSummary) -> list[tuple[int, ...]]:
    return [
        (one.published, one.rejected, one.expected, one.delivered, one.optional, one.excused, one.lost + one.missing)
        for one in summary.variants
    ]


def test_all_batches_come_to_what_the_analysis_finds(run: Path) -> None:
    final = analyze(run, PlainEngine())
    following = Following(run)
    while sum(following.places.values()) < sum(file.stat().st_size for file in (run / "logs").iterdir()):
        live = following.take(50_000)
        following.anew()
    assert following.number > 5
    assert (live.records, live.torn, live.malformed) == (final.logs.records, 0, 0)
    first, last = live.variants
    assert [first.phase, last.phase] == ["done", "stop"]
    of_first = final.variants[0].delivery
    assert settled(live)[0] == (
        of_first.published, 0, of_first.expected, of_first.delivered, of_first.optional, of_first.excused, 0
    )  # fmt: skip
    assert of_first.expected > 50
    assert of_first.excused > 0  # the kill is known, and excuses what it took
    assert [fault.kind for fault in first.faults] == ["kill"]
    delay, exact = first.delay, final.variants[0].delay
    assert delay is not None
    assert delay.mean_ms == pytest.approx(exact.mean_ms)
    for about, known in ((delay.p50_ms, exact.p50_ms), (delay.p99_ms, exact.p99_ms)):
        assert known is not None
        assert known * 0.99 <= about <= known * 1.13
    assert first.messages == final.variants[0].messages
    assert last.under_way > 0
    assert last.judged + last.under_way == last.published == final.variants[1].delivery.published


def test_a_batch_that_comes_again_is_not_counted_again(run: Path) -> None:
    following = Following(run)
    following.take(100_000)
    before = following.places
    once = following.take(100_000)
    again = following.anew()
    again.take(grown(run / "logs", before, following.places), following.number - 1)
    assert again.summary is None
    assert following.take(10_000).records > once.records
    whole = following.take()
    assert whole.records == sum(len(file.read_bytes().splitlines()) for file in (run / "logs").iterdir())
    assert whole.variants[0].published == read_summary(run).variants[0].delivery.published


def test_files_of_former_batches_go(run: Path) -> None:
    following = Following(run)
    for _ in range(4):
        following.take(60_000)
    assert {int(file.stem.partition("-")[2]) for file in following.state.glob("*.waiting")} <= {2, 3}


def growing(tmp_path: Path, history: History, phases: list[tuple[str, float, float]]) -> Path:
    """A run whose manifest knows of these phases only, and that nobody has judged."""
    run = write_run(tmp_path / "run", [history])
    (run / "fidelity.json").unlink()
    manifest = msgspec.json.decode((run / "manifest.json").read_bytes())
    manifest["variants"][0]["phases"] = [
        {"name": name, "start": round(begin * SECOND), "end": round(end * SECOND)} for name, begin, end in phases
    ]
    (run / "manifest.json").write_bytes(msgspec.json.encode(manifest))
    return run


def test_what_is_missing_may_still_come(tmp_path: Path) -> None:
    history = joined("base").publish("P:1", 110).notify("P:1", at=110.1).publish("P:2", 111).publish("P:3", 130)
    run = growing(tmp_path, history, [("start", 80, 85), ("join", 85, 100)])
    following = Following(run)
    (base,) = following.take().variants
    assert (base.phase, base.published, base.judged, base.missing, base.under_way) == ("run", 3, 1, 1, 1)
    assert (base.expected, base.delivered, base.defects) == (1, 1, [])
    with (run / "logs" / "driver.jsonl").open("ab") as log:
        for record in joined("base").notify("P:2", at=131).notify("P:3", at=160).records[-2:]:
            log.write(msgspec.json.encode(record) + b"\n")
    (base,) = following.take().variants
    assert (base.judged, base.missing, base.expected, base.delivered) == (3, 0, 3, 3)


def test_what_never_comes_is_lost(tmp_path: Path) -> None:
    history = joined("base").publish("P:1", 110).publish("P:2", 300)
    run = growing(tmp_path, history, [("start", 80, 85), ("join", 85, 100)])
    (base,) = Following(run).take().variants
    assert (base.lost, base.missing, base.defects) == (1, 0, ["lost"])


def test_a_fault_of_the_phase_under_way_excuses(tmp_path: Path) -> None:
    history = joined("base").publish("P:1", 110).publish("P:2", 300)
    history.fault(109.9)
    run = growing(tmp_path, history, [("start", 80, 85), ("join", 85, 100)])
    (base,) = Following(run).take().variants
    assert (base.excused, base.lost, base.missing) == (1, 0, 0)
    assert [(fault.kind, fault.healed_ns) for fault in base.faults] == [("kill", None)]


def test_a_torn_line_is_counted_once_it_has_ended(tmp_path: Path) -> None:
    run = growing(tmp_path, joined("base").publish("P:1", 110), [("start", 80, 85), ("join", 85, 100)])
    following = Following(run)
    whole = following.take().records
    log = run / "logs" / "B1.jsonl"
    with log.open("ab") as file:
        file.write(b'{"time":1,"no')
    assert following.take().torn == 0
    with log.open("ab") as file:
        file.write(b'\n{"time":2,"node":"B1","variant":"base","event":"started"}\n')
    live = following.take()
    assert (live.records, live.torn, live.malformed) == (whole + 1, 1, 0)
