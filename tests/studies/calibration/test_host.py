"""Processor time of a run besides the charged work, from two runs with known use."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import pytest

from emulation.planning.plan import PUBLISHERS, SUBSCRIBERS
from emulation.prediction.rehearsal import Rehearsal
from emulation.prediction.turns import Turn
from record import manifest
from record.errors import HostError
from record.files import PROCESSORS
from record.manifest import Manifest, PhaseName, PhaseRecord, VariantRecord
from record.processors import RELAY, ProcessorBlock, ProcessorSampling
from studies.calibration.host import UsedProcessors, costs_of, used_processors
from topology.link_properties import Link
from topology.model import Broker, Overlay

OVERLAY = Overlay("two", (Broker("B1"), Broker("B2")), (Link("B1", "B2"),))
TURNS = (*[Turn("B1", 0, 1_000_000)] * 10, *[Turn(RELAY, 0, 0)] * 5, *[Turn(PUBLISHERS, 0, 0)] * 4)
REHEARSAL = Rehearsal(seconds=2.0, turns=TURNS, ways=(), records=0, records_before=0)
IDLE = Counter({"brokers": 0.02, RELAY: 0.004, PUBLISHERS: 0.001, SUBSCRIBERS: 0.001})
NO_WAITS = Counter[str]()


def test_the_excess_over_rest_is_divided_by_the_turns() -> None:
    used = IDLE + Counter({"brokers": 0.015, RELAY: 0.0005, PUBLISHERS: 0.0004})
    costs = costs_of(REHEARSAL, UsedProcessors(used, NO_WAITS), UsedProcessors(IDLE, NO_WAITS), 0.1, OVERLAY)
    assert costs.turn == 2_000_000, "30 ms for ten turns, of which 10 ms are charged"
    assert (costs.relayed_frame, costs.operation, costs.notification) == (200_000, 200_000, 0)
    assert (costs.broker_second, costs.link_second) == (10_000_000, 2_000_000)
    assert costs.second == round((0.1 - used.total() + 0.006 - 0.002) * 1e9), "what nobody else took is the emulator's"


def test_the_waits_of_brokers_beyond_those_at_rest_are_divided_by_their_turns() -> None:
    waited, at_rest = Counter({"brokers": 0.003, RELAY: 0.5}), Counter({"brokers": 0.001})
    costs = costs_of(REHEARSAL, UsedProcessors(IDLE, waited), UsedProcessors(IDLE, at_rest), 0.1, OVERLAY)
    assert costs.waking == 400_000, "2 ms in each of two seconds, for ten turns"
    assert costs.waking_beyond == 0, "the latencies of the same run hold them"


def test_a_run_that_took_less_than_at_rest_has_no_costs_below_zero() -> None:
    costs = costs_of(REHEARSAL, UsedProcessors(NO_WAITS, NO_WAITS), UsedProcessors(IDLE, IDLE), 0.0, OVERLAY)
    assert (costs.turn, costs.relayed_frame, costs.operation, costs.waking) == (0, 0, 0, 0)


def written(run: Path) -> Path:
    phases = [PhaseRecord(name=PhaseName.RUN, start=1_000_000_000, end=3_000_000_000)]
    manifest.write(Manifest(run_id="r", variants=[VariantRecord(name="base", phases=phases)]), run)
    return run


def test_only_the_run_phase_counts(tmp_path: Path) -> None:
    run = written(tmp_path)
    intervals = [
        0,
        0,
        10,
        0,
        9,
        0,
        500_000,
        500_020,
        5,
        8_000,
        1,
        600_000,
        600_010,
        0,
        2_000,
        2,
        700_000,
        700_010,
        0,
        4_000,
    ]
    block = ProcessorBlock("base", 600_000_000, ["B1", "B2", RELAY], intervals)
    sampling = ProcessorSampling(variant="base", seconds=1, looks=1, used=0, processes=3, unread=0)
    (run / PROCESSORS).write_bytes(msgspec.json.encode(block) + b"\n" + msgspec.json.encode(sampling) + b"\n")
    used = used_processors(run)
    assert used.ran == pytest.approx({"brokers": 0.005, RELAY: 0.002})
    assert used.waited == pytest.approx({"brokers": 0.0000025, RELAY: 0})


def test_a_run_that_nobody_sampled_is_no_measurement(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="nobody sampled the processors"):
        used_processors(written(tmp_path))
