"""The state of a run's page: equal to the judge's counts, and equal however the logs came."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from analysis.engines import PlainEngine
from analysis.live.follower import Follower
from analysis.live.frames import ShownVariant, State, Strike
from analysis.live.tally import VariantTally
from analysis.pipeline import analyze
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record import manifest
from record.figures import Figure
from record.files import LOGS, MANIFEST
from record.log import TraceRecord
from record.manifest import HostRecord
from scenario.loading import load_text

SCENARIO = """
name: seen
topology: {kind: ring, brokers: 4, link: {delay: 5ms}}
routing: {protocol: tid, publications: dynamic}
workload:
  publications: {source: stocks, publishers: 3, rate: 10/s}
  subscriptions: {subscribers: 4, selectivity: 30%}
timeline: {join: 2s, run: 8s, drain: 3s}
vary: {routing.publications: [fixed, dynamic]}
faults: [{at: run+3s, link_down: B1-B2, for: 2s}]
time_dilation: 2
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = simulate(make_plan(load_text(SCENARIO, "seen.yaml")), tmp_path_factory.mktemp("seen")).directory
    analyze(directory, PlainEngine())
    return directory


def finished(run: Path) -> State:
    follower = Follower(run)
    follower.finish()
    return follower.state()


def frames(variants: Sequence[ShownVariant]) -> dict[tuple[str, int], bytes]:
    return {(variant.name, frame.at): msgspec.json.encode(frame) for variant in variants for frame in variant.frames}


def test_the_page_counts_what_the_judge_counts(run: Path) -> None:
    summary = analyze(run, PlainEngine())
    state = finished(run)
    assert state.over and [variant.name for variant in state.variants] == [made.name for made in summary.variants]
    for shown, judged in zip(state.variants, summary.variants, strict=True):
        delivery = judged.delivery
        assert sum(frame.published for frame in shown.frames) == delivery.published > 100
        assert sum(frame.notified for frame in shown.frames) == delivery.delivered > 100
        assert sum(frame.due for frame in shown.frames) == delivery.expected
        assert sum(frame.arrived for frame in shown.frames) == delivery.expected - delivery.lost
        median = judged.delay.of(Figure.P50)
        assert median is not None
        medians = [frame.median_ms for frame in shown.frames if frame.median_ms is not None]
        assert min(medians) < 1.02 * median.value_ms and max(medians) > median.value_ms / 1.02
        assert shown.overlay is not None
        names = [broker.name for broker in shown.overlay.brokers]
        assert {(names[a], names[b]) for a, b in shown.overlay.links} == {
            (f"B{a}", f"B{b}") for a in range(1, 5) for b in range(1, 5) if abs(a - b) in (1, 3)
        }


def test_gauges_tell_what_each_link_carried_in_each_second_as_records_of_messages_do(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path, dirs_exist_ok=True)
    recorded = 0
    for log in (tmp_path / LOGS).iterdir():
        lines = log.read_text().splitlines(keepends=True)
        recorded += sum('"event":"sent"' in line for line in lines)
        log.write_text("".join(line for line in lines if '"event":"queue"' not in line or '"queue":' in line))
        log.write_text(
            re.sub(r'"event":"queue"(.*),"bytes":\d+(.*),"sent":\d+', r'"event":"queue"\1\2', log.read_text())
        )
        assert '"sent":' not in log.read_text()
    by_gauges, by_records = carried(finished(run)), carried(finished(tmp_path))
    assert by_gauges == by_records
    assert sum(by_gauges.values()) == recorded > 400


def carried(state: State) -> dict[tuple[str, int, int], int]:
    """The messages, by variant, second and link."""
    return {
        (variant.name, frame.at, link): messages
        for variant in state.variants
        for frame in variant.frames
        for link, messages in frame.sent
    }


def test_messages_of_a_log_with_gauges_are_not_decoded(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for those of its first second, in which it is not known yet that gauges come."""
    decoded = Counter[str]()
    add = VariantTally.add

    def count(tally: VariantTally, record: TraceRecord) -> None:
        decoded[record.event] += 1
        add(tally, record)

    monkeypatch.setattr(VariantTally, "add", count)
    finished(run)
    written = Counter(
        record["event"] for log in (run / LOGS).iterdir() for record in map(json.loads, log.read_bytes().splitlines())
    )
    assert decoded["sent"] < 0.1 * written["sent"]
    assert decoded["received"] < 0.5 * written["received"]
    assert decoded["delivered"] == decoded["matched"] == 0
    assert (decoded["notified"], decoded["publish"]) == (written["notified"], written["publish"])


def test_frames_are_by_the_scenarios_second_and_faults_strike_in_theirs(run: Path) -> None:
    (variant, _) = finished(run).variants
    (begin,) = [phase.begin for phase in variant.phases if phase.name == "run"]
    struck = [(frame.at, strike) for frame in variant.frames for strike in frame.strikes]
    down, up = (pytest.approx(begin + seconds, abs=0.001) for seconds in (3, 5))
    assert [strike for _, strike in struck] == [
        Strike("link_down", "B1-B2", True, down),
        Strike("link_up", "B1-B2", False, up),
    ]
    assert [int(strike.at) for _, strike in struck] == [at for at, _ in struck]


def test_logs_that_come_in_pieces_give_the_same_state(run: Path, tmp_path: Path) -> None:
    """Nodes append at their own pace, and a look may find half a line."""
    (tmp_path / LOGS).mkdir()
    for file in run.iterdir():
        if file.is_file():
            shutil.copy(file, tmp_path)
    logs = {file.name: file.read_bytes() for file in (run / LOGS).iterdir()}
    given = dict.fromkeys(logs, 0)
    follower, draw, merged = Follower(tmp_path), random.Random(1), dict[tuple[str, int], bytes]()
    while any(given[name] < len(text) for name, text in logs.items()):
        seen = follower.version
        share = min(given[name] / len(text) for name, text in logs.items()) + draw.uniform(0.005, 0.05)
        for name, text in logs.items():  # files grow alike, and records within a second of each other come together
            until = min(len(text), max(given[name], int(share * len(text))))
            with (tmp_path / LOGS / name).open("ab") as log:
                log.write(text[given[name] : until])
            given[name] = until
        follower.look()
        merged |= frames(follower.state(seen).variants)
    seen = follower.version
    follower.finish()
    last = follower.state(seen).variants
    merged |= frames(last)
    assert [variant.overlay for variant in last] == [None, None], "a map is sent again only where it has changed"
    expected = finished(run).variants
    assert frames(follower.state().variants) == frames(expected)
    assert merged == frames(expected), "a page that gets only what has changed shows the same"


def test_damaged_lines_and_a_directory_without_a_manifest_are_survived(run: Path, tmp_path: Path) -> None:
    follower = Follower(tmp_path)
    assert not follower.look()
    shutil.copytree(run, tmp_path, dirs_exist_ok=True)
    with (tmp_path / LOGS / "B1.jsonl").open("ab") as log:
        log.write(b'not json\n{"time": 3')
    (tmp_path / MANIFEST).write_bytes(b"{")
    assert not Follower(tmp_path).look()
    shutil.copy(run / MANIFEST, tmp_path)
    assert finished(tmp_path).variants == finished(run).variants


def test_hosts_are_awaited_until_all_of_their_logs_are_there(run: Path, tmp_path: Path) -> None:
    """One that has sent nothing yet, and one whose log was removed, are named; one whose logs are there is not."""
    shutil.copytree(run, tmp_path, dirs_exist_ok=True)
    record = manifest.read(tmp_path)
    record.hosts = [HostRecord(name=name) for name in ("left", "middle", "right")]
    manifest.write(record, tmp_path)
    assert finished(tmp_path).awaited_hosts == ["left", "middle", "right"]
    record.hosts[0].logs, record.hosts[1].logs = ["B1.jsonl"], ["B2.jsonl", "B3.jsonl"]
    manifest.write(record, tmp_path)
    (tmp_path / LOGS / "B3.jsonl").unlink()
    assert finished(tmp_path).awaited_hosts == ["middle", "right"]
    assert finished(run).awaited_hosts == []
