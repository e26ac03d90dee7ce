"""Verdicts on publications outside of the sample that brokers logged."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.summary import Delivery, SampledLogs, Summary
from record.log import Event
from record.promises import Completeness, Promises
from record.sample import PublicationSample
from tests.analysis.history import DRIVER, PROMISES, History, joined, write_run
from tests.analysis.judging.judged import verdicts_of

NOTHING = PublicationSample(1e-12, 1)
"""Holds none of the publications of these histories."""
EVERYTHING = PublicationSample(1 - 1e-12, 1)
TRYING = Promises(delivery=Completeness.BEST_EFFORT)


def outside(variant: str, promises: Promises = PROMISES) -> History:
    return joined(variant, promises=promises, sample=NOTHING)


def waited(history: History, at: float) -> History:
    return history.add("B1", Event.WAITED, at, id="P:1", kind="publish", peer="B2")


def beside(history: History) -> History:
    """A second subscriber at the same broker."""
    return history.subscribe("U")


CASES = [
    (outside("lost").publish(), ["lost"], (1, 1, 0)),
    (outside("delivered").publish().notify(), ["correct"], (1, 0, 0)),
    (outside("withdrawn after its flight").publish().unsubscribe(113), ["lost"], (1, 1, 0)),
    (waited(outside("withdrawn while it waited").publish().unsubscribe(113), 114), ["correct"], (0, 0, 0)),
    (outside("subscribed too late").publish().subscribe("U", 113).notify().notify(client="U", at=114), ["spurious"],
     (1, 0, 0)),
    (waited(outside("subscribed while it waited").publish().subscribe("U", 113).notify(), 114)
     .notify(client="U", at=114), ["correct"], (1, 0, 0)),
    (outside("best effort, missed", TRYING).publish(), ["correct"], (0, 0, 0)),
    (beside(outside("best effort, kept by a broker that notified another client", TRYING)).publish()
     .add(DRIVER, Event.NOTIFIED, 110.05, client="U", id="P:1", peer="B1"), ["lost"], (2, 1, 0)),
    (joined("best effort, received within the sample", promises=TRYING, sample=EVERYTHING).publish().receive(),
     ["lost"], (1, 1, 0)),
]  # fmt: skip
BY_NAME = {history.variant: (verdicts, counts) for history, verdicts, counts in CASES}


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    histories = [history for history, _, _ in CASES]
    return analyze(write_run(tmp_path_factory.mktemp("histories") / "run", histories), PlainEngine())


def delivery(judged: Summary, name: str) -> Delivery:
    return next(variant.delivery for variant in judged.variants if variant.name == name)


@pytest.mark.parametrize("name", BY_NAME)
def test_clients_logs_and_long_waits_decide(judged: Summary, name: str) -> None:
    found = delivery(judged, name)
    assert (verdicts_of(found), (found.expected, found.lost, found.excused)) == BY_NAME[name]


def test_an_example_states_why_its_way_is_unknown(judged: Summary) -> None:
    (example,) = delivery(judged, "lost").examples
    assert example.detail == "its way is unknown, because brokers logged a sample of publications without it"
    assert (example.reached, example.paths) == ([], [])


def test_a_dropped_publication_outside_of_the_sample_is_shown_as_dropped(tmp_path: Path) -> None:
    history = outside("base").publish().add("B2", Event.DROPPED, 110.1, id="P:1", kind="publish", text="queue full")
    summary = analyze(write_run(tmp_path / "run", [history]), PlainEngine())
    (example,) = summary.variants[0].delivery.examples
    assert example.detail == "dropped at B2: queue full"
    assert [(drop.node, drop.reason, drop.count) for drop in summary.variants[0].drops] == [("B2", "queue full", 1)]


def test_a_run_without_a_publication_in_the_sample_estimates_nothing(judged: Summary) -> None:
    logs = judged.variants[0].sampled_logs
    assert isinstance(logs, SampledLogs)
    assert (logs.published, logs.logged) == (1, 0)
    assert logs.in_words().endswith("(0 of 1); no publication message was counted")
    assert [row for row in judged.variants[0].messages if row.kind == "publish"] == []


def test_counts_stand_for_all_publications(tmp_path: Path) -> None:
    """Ten publications of which the sample has some: what was logged is multiplied, but for control messages."""
    sample = PublicationSample(0.4, 5)
    history = joined("base", sample=sample)
    for number in range(10):
        history.publish(f"P:{number}", 110 + number).notify(f"P:{number}", at=110.1 + number)
    held = [f"P:{number}" for number in range(10) if sample.holds(f"P:{number}")]
    for id in held:
        history.add("B1", Event.RECEIVED, 110.01, id=id, kind="publish", client="P", bytes=7)
        history.add("B1", Event.SENT, 110.02, id=id, kind="publish", peer="B2", bytes=10, duration=3_000_000, queue=2)
    history.add("B1", Event.SENT, 110.02, id="c", kind="control", peer="B2", bytes=5, duration=0, queue=0)
    (variant,) = analyze(write_run(tmp_path / "run", [history]), PlainEngine()).variants
    assert 0 < len(held) < 10
    messages = {row.kind: (row.from_clients, row.sent, row.sent_bytes) for row in variant.messages}
    assert messages == {"publish": (10, 10, 100), "control": (0, 1, 5)}
    assert variant.sampled_logs == SampledLogs(share=0.4, published=10, logged=len(held))
    assert msgspec.to_builtins(variant)["sampled_logs"] == {"share": 0.4, "published": 10, "logged": len(held)}
