"""One definition of the manifest serves the writer, the reader, and readers of older or partial run directories."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from record import manifest
from record.faults import FaultKind
from record.manifest import ClockOffset, Host, HostRecord, Manifest, PhaseName, PhaseRecord, RungChoice, VariantRecord
from record.promises import Completeness, Loss, Order, Promises

JOIN = PhaseRecord(name=PhaseName.JOIN, start=10, end=20)
RUN = PhaseRecord(name=PhaseName.RUN, start=20, end=50)
PROMISES = Promises(order=Order.PUBLISHER, delivery=Completeness.BEST_EFFORT, survives={FaultKind.KILL: Loss.NOTHING})
STOP = PhaseRecord(name=PhaseName.STOP, start=55, end=60)


def test_the_reader_gets_what_the_writer_gave(tmp_path: Path) -> None:
    offsets = [ClockOffset(at=1, offset=-5, error=2)]
    written = Manifest(
        run_id="r", created="2026-01-01T00:00:00+00:00", scenario={"name": "x"}, seed=7,
        runtime=RungChoice("process", "asked for"), links=RungChoice("netem", "works"),
        versions={"msgspec": "1"}, image="sha",
        kernel="Linux", git_revision="abc", clock="monotonic", host=Host(cpus=2, memory=1, processor="p", system="s"),
        variants=[VariantRecord(name="base", phases=[JOIN, RUN], recovery=3.5, promises=PROMISES)],
        hosts=[HostRecord(name="far", address="10.0.0.2", kernel="Linux", host=Host(), logs=["B1"], offsets=offsets)],
    )  # fmt: skip
    manifest.write(written, tmp_path)
    assert manifest.read(tmp_path) == written


def test_a_manifest_with_nothing_but_names_is_read(tmp_path: Path) -> None:
    content = {"run_id": "r", "variants": [{"name": "base"}], "hosts": [{"name": "far"}], "of another version": 1}
    (tmp_path / "manifest.json").write_bytes(msgspec.json.encode(content))
    found = manifest.read(tmp_path)
    (variant,) = found.variants
    assert (found.runtime.name, found.host.cpus, found.hosts[0].offsets) == ("unknown", 0, [])
    assert (variant.topology, variant.time_dilation, variant.promises) == ("topology.json", 1.0, Promises())
    assert variant.recovery == manifest.RECOVERY_SECONDS > 0


@pytest.mark.parametrize(("kept", "order"), [(True, Order.ADVERTISEMENT), (False, Order.NONE)])
def test_a_manifest_that_states_no_promises_but_order_is_read(kept: bool, order: Order, tmp_path: Path) -> None:
    content = {"run_id": "r", "variants": [{"name": "base", "keeps_order": kept}]}
    (tmp_path / "manifest.json").write_bytes(msgspec.json.encode(content))
    (variant,) = manifest.read(tmp_path).variants
    assert variant.promises == Promises(order=order)
    assert b"keeps_order" not in msgspec.json.encode(variant)


@pytest.mark.parametrize("content", ['{"variants": []}', '{"run_id": "r", "variants": [{}]}', "{"])
def test_a_manifest_without_a_name_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(msgspec.DecodeError):
        manifest.read(tmp_path)


@pytest.mark.parametrize(
    ("phases", "run_start", "end", "stop"),
    [
        ([], None, None, None),
        ([JOIN], 20, 20, None),
        ([JOIN, RUN], 20, 50, None),
        ([JOIN, RUN, STOP], 20, 50, 50),
        ([JOIN, STOP], 20, 20, 20),
    ],
)
def test_a_variant_tells_its_times_by_the_phases_it_reached(
    phases: list[PhaseRecord], run_start: int | None, end: int | None, stop: int | None
) -> None:
    variant = VariantRecord(name="base", phases=phases)
    assert (variant.run_start, variant.end, variant.stop) == (run_start, end, stop)
