"""A run whose brokers log a sample of publications, against the same run whose brokers log all of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.deliveries import Expectation, Notification
from analysis.tables.power import Power
from analysis.tables.results import read_table
from analysis.tables.summary import SampledLogs, Summary, VariantSummary
from broker_service.tracing.sampled_trace import LONG_WAIT
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record import manifest
from record.files import LOGS, RESULTS
from record.log import SAMPLED, Event, TraceRecord
from record.sample import PublicationSample
from scenario.loading import load

QUIET = """
name: quiet
topology: {kind: cyclic, brokers: 8, degree: 3, link: {delay: 2ms..10ms, bandwidth: 10mbit}}
routing: {protocol: tid, publications: dynamic}
workload:
  publications: {publishers: 6, rate: 5/s}
  subscriptions: {subscribers: 12, selectivity: 10%}
timeline: {join: 4s, run: 20s, drain: 4s}
vary: {routing.publications: [fixed, dynamic]}
seed: 3
"""
STRAINED = """
name: strained
topology: {kind: line, brokers: 4, link: {delay: 5ms, bandwidth: 40kbit}}
routing: {protocol: tid, publications: fixed}
brokers: {service_time: 22ms, limits: {link_queue: 20, window: 4}}
workload:
  publications: {publishers: 6, rate: 12/s}
  subscriptions: {subscribers: 8, selectivity: 25%}
  operations:
    - {at: 2s, broker: B4, client: T, id: t1, subscribe: "[class,eq,'STOCK']"}
    - {at: 11s, broker: B4, client: T, unsubscribe: t1}
    - {at: 9s, broker: B1, client: T2, id: t2, subscribe: "[class,eq,'STOCK']"}
timeline: {join: 4s, run: 12s, drain: 60s}
faults: [{at: run+2s, pause: B2, for: 800ms}]
seed: 4
"""
FAULTY = """
name: faulty
topology: {kind: cyclic, brokers: 6, degree: 3, link: {delay: 5ms, bandwidth: 1mbit}}
routing: {protocol: tid, publications: fixed}
workload:
  publications: {publishers: 5, rate: 10/s}
  subscriptions: {subscribers: 10, selectivity: 20%}
timeline: {join: 4s, run: 40s, drain: 6s}
faults:
  - {at: run+8s, kill: B3, for: 1s}
  - {at: run+22s, pause: B2, for: 2s}
  - {at: run+30s, link_down: random-link(2), for: 1s}
seed: 5
"""


@dataclass(frozen=True)
class Run:
    """An analysed run."""

    directory: Path
    summary: Summary
    samples: list[PublicationSample | None]
    """Sample of each variant."""

    def records(self) -> dict[str, list[TraceRecord]]:
        """The records of each node."""
        decoder = msgspec.json.Decoder(TraceRecord)
        return {
            file.stem: [decoder.decode(line) for line in file.read_bytes().splitlines()]
            for file in sorted((self.directory / LOGS).glob("*.jsonl"))
        }


def run(file: Path, share: str) -> Run:
    directory = simulate(make_plan(load(file, {"logs.publications": share})), file.parent / "runs").directory
    summary = analyze(directory, PlainEngine())
    return Run(directory, summary, [variant.sample or None for variant in manifest.read(directory).variants])


@pytest.fixture(scope="module", params=[QUIET, STRAINED, FAULTY], ids=["quiet", "strained", "faulty"])
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    """The whole run and the sampled one."""
    file = tmp_path_factory.mktemp("sampled") / "scenario.yaml"
    file.write_text(request.param)
    return run(file, "100%"), run(file, "10%")


def in_sample(record: TraceRecord, sample: PublicationSample | None) -> bool:
    """True for a record that a broker makes although it logs a sample."""
    life = record.kind == "publish" and record.event in SAMPLED
    return not life or sample is None or sample.holds(record.id or "")


def uncounted(record: TraceRecord) -> TraceRecord:
    """The record without the number of records before it, which differs."""
    return structs.replace(record, records=None)


def test_the_manifest_states_the_sample(runs: tuple[Run, Run]) -> None:
    whole, sampled = runs
    assert set(whole.samples) == {None}
    assert {sample and sample.share for sample in sampled.samples} == {0.1}


def test_brokers_log_the_same_records_of_the_sample_and_no_others(runs: tuple[Run, Run]) -> None:
    whole, sampled = runs
    (sample,) = set(sampled.samples)
    logged = sampled.records()
    for node, records in whole.records().items():
        expected = [uncounted(record) for record in records if in_sample(record, sample)]
        assert [uncounted(record) for record in logged[node] if record.event is not Event.WAITED] == expected


def test_long_waits_in_output_queues_are_logged_of_all_other_publications(runs: tuple[Run, Run]) -> None:
    whole, sampled = runs
    (sample,) = set(sampled.samples)
    logged = sampled.records()
    for node, records in whole.records().items():
        expected = [
            (record.time, record.id, record.peer, record.duration)
            for record in records
            if record.event is Event.SENT and not in_sample(record, sample) and (record.duration or 0) >= LONG_WAIT
        ]
        waits = [record for record in logged[node] if record.event is Event.WAITED and record.peer is not None]
        assert [(record.time, record.id, record.peer, record.duration) for record in waits] == expected


def test_long_waits_for_service_are_logged_before_the_publications_turn(runs: tuple[Run, Run]) -> None:
    whole, sampled = runs
    (sample,) = set(sampled.samples)
    logged = sampled.records()
    for node, records in whole.records().items():
        turns = {record.id: record.time for record in records if record.event is Event.RECEIVED}
        for wait in logged[node]:
            if wait.event is Event.WAITED and wait.peer is None:
                assert not in_sample(msgspec.structs.replace(wait, event=Event.RECEIVED), sample)
                assert (wait.duration or 0) >= LONG_WAIT
                assert wait.time <= turns[wait.id]


def test_every_kind_of_record_occurs(runs: tuple[Run, Run]) -> None:
    """The runs show something: publications in and outside of the sample, and waits of both kinds where brokers are
    strained."""
    _, sampled = runs
    records = [record for of_node in sampled.records().values() for record in of_node]
    assert {record.event for record in records if record.kind == "publish"} >= SAMPLED
    waits = {record.peer is None for record in records if record.event is Event.WAITED}
    assert waits == ({False, True} if "strained" in sampled.directory.name else set())


def clients_view(variant: VariantSummary) -> object:
    """Everything in a summary that comes from clients, and the drops. Excuses are compared by another test."""
    delivery = msgspec.structs.replace(variant.delivery, excused=0, not_judged=0, power=Power.total([]), examples=[])
    delay = msgspec.structs.replace(
        variant.delay,
        queueing_share=None,
        ways_known=0,
        budget=msgspec.UNSET,
        without_contention=msgspec.UNSET,
        figures=[],
    )
    examples = [(found.defect, found.publication, found.client) for found in variant.delivery.examples]
    faults = [msgspec.structs.replace(fault, due=fault.due - fault.excused, excused=0) for fault in variant.faults]
    return delivery, delay, examples, variant.drops, faults


def test_verdicts_delays_and_drops_are_those_of_the_whole_run(runs: tuple[Run, Run]) -> None:
    whole, sampled = runs
    assert list(map(clients_view, sampled.summary.variants)) == list(map(clients_view, whole.summary.variants))


def notifications(run: Run) -> list[Notification]:
    """The table, without the columns that come from brokers."""
    rows = read_table(run.directory / RESULTS, Notification)
    return [msgspec.structs.replace(row, queueing_ms=None, path=None) for row in rows]


def test_notifications_are_those_of_the_whole_run(runs: tuple[Run, Run]) -> None:
    whole, sampled = map(notifications, runs)
    assert sampled == whole


def test_expectations_are_those_of_the_whole_run_but_for_excuses(runs: tuple[Run, Run]) -> None:
    """The excuse of a notification that did not come rests on the records of brokers. Outside of the sample there are
    none, so what is excused in the whole run is not judged there. Nor is it known when a publication was compared, by
    which a client may have had a right to what it did not get."""
    whole, sampled = (
        [row for row in read_table(run.directory / RESULTS, Expectation) if row.right != "may" or row.notifications]
        for run in runs
    )
    assert list(map(without_evidence, sampled)) == list(map(without_evidence, whole))
    for row, known in zip(sampled, whole, strict=True):
        assert (row.excuse is not None or row.not_judged is not None) == (
            known.excuse is not None or known.not_judged is not None
        )


def without_evidence(row: Expectation) -> Expectation:
    return msgspec.structs.replace(row, excuse=None, evidence=None, not_judged=None, last_seen=None)


def test_counts_of_publication_messages_are_those_of_the_sample_times_its_publications(runs: tuple[Run, Run]) -> None:
    """Against counting the records of the whole run that are in the sample."""
    whole, sampled = runs
    for found, exact in zip(sampled.summary.variants, whole.summary.variants, strict=True):
        logs = found.sampled_logs
        assert isinstance(logs, SampledLogs)
        (sample,) = set(sampled.samples)
        published = [record for record in whole.records()["publishers"] if record.event is Event.PUBLISH]
        of_variant = {record.id for record in published if record.variant == found.name}
        assert logs.published == len(of_variant) == exact.delivery.published
        assert logs.logged == sum(sample is not None and sample.holds(id or "") for id in of_variant)
        scale = logs.published / logs.logged
        for row in found.broker_messages:
            if row.kind != "publish":
                assert row in exact.broker_messages
                continue
            records = [
                record
                for record in sampled.records()[row.broker]
                if record.variant == row.variant and record.kind == "publish"
            ]
            sent = sum(record.event is Event.SENT for record in records)
            neighbours = {record.peer for record in records}
            assert row.sent == pytest.approx(sent * scale, abs=len(neighbours))
        assert found.matching.per_publication == pytest.approx(1, abs=0.01)


def test_a_lost_publication_outside_of_the_sample_is_shown_with_what_is_known_of_it(runs: tuple[Run, Run]) -> None:
    _, sampled = runs
    for variant in sampled.summary.variants:
        lost = [example for example in variant.delivery.examples if example.defect == "lost"]
        assert bool(lost) == ("strained" in sampled.directory.name)
        for example in lost:
            assert "output queue full" in example.detail
