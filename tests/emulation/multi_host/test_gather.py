from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from emulation.host.run_paths import RunPaths
from emulation.multi_host.gather import clock_check, gather, join_verdicts
from emulation.multi_host.model import share_id
from record import manifest
from record.errors import HostError
from record.fidelity import Check, Fidelity, FidelityVerdict, LinkCheck, Sample, VariantFidelity
from record.figures import JUDGED_LATER
from record.files import LOADS
from record.host_speed import HostSpeed, LoopTimes
from record.manifest import ClockOffset, Host, HostRecord, PhaseName, PhaseRecord, VariantRecord
from tests.emulation.multi_host.shares import MEMBERS, hand_in

MACHINE = Host(cpus=2, memory=1, processor="p", system="s")


def host(name: str, *errors: int) -> HostRecord:
    offsets = [ClockOffset(at=number, offset=2_500_000_000, error=error) for number, error in enumerate(errors)]
    return HostRecord(name=name, address="10.9.0.1", kernel="Linux", host=MACHINE, offsets=offsets)


def verdict(on: FidelityVerdict, lag: float, link: tuple[str, str], *busy: float) -> Fidelity:
    checks = [Check(name="event loops", value=lag, unit="ms", limit=5.0, verdict=on, detail="late"), JUDGED_LATER]
    link_check = LinkCheck(
        a=link[0], b=link[1], phase="before", delay_asked=0.0, delay_measured=0.0, rate_asked=None, rate_measured=None,
        loss_asked=0.0, loss_measured=None, ok=True,
    )  # fmt: skip
    samples = [
        Sample(begin=float(second), end=second + 1.0, cpu_busy=share, loop_lag=None)
        for second, share in enumerate(busy)
    ]
    variant = VariantFidelity(name="base", verdict=on, checks=checks, links=[link_check], samples=samples)
    return Fidelity(verdict=on, variants=[variant])


def test_the_severest_host_decides() -> None:
    joined = join_verdicts(
        {
            "h1": verdict(FidelityVerdict.VALID, 1.0, ("A", "B"), 0.2, 0.9),
            "h2": verdict(FidelityVerdict.DEGRADED, 7.0, ("B", "A"), 0.5),
        },
        [host("h1"), host("h2", 40_000)],
    )
    (variant,) = joined.variants
    assert joined.verdict is variant.verdict is FidelityVerdict.DEGRADED
    assert [check.name for check in variant.checks] == [
        "event loops (h1)",
        "event loops (h2)",
        "clocks",
        JUDGED_LATER.name,
    ]
    assert [(link.a, link.b) for link in variant.links] == [("A", "B"), ("B", "A")]
    assert [sample.cpu_busy for sample in variant.samples] == [0.5, 0.9]
    assert all(sample.loop_lag is None for sample in variant.samples)


def test_advice_names_the_host_that_it_is_about() -> None:
    slow = verdict(FidelityVerdict.DEGRADED, 7.0, ("B", "A"), 0.5)
    (of_h2,) = slow.variants
    advised = msgspec.structs.replace(slow, variants=[msgspec.structs.replace(of_h2, advice="This host was too slow")])
    joined = join_verdicts({"h1": verdict(FidelityVerdict.VALID, 1.0, ("A", "B"), 0.2), "h2": advised}, [host("h1")])
    assert joined.variants[0].advice == "On h2: This host was too slow"


def test_the_error_of_clocks_is_that_of_the_two_worst_known() -> None:
    check = clock_check([host("h1"), host("h2", 40_000, 90_000), host("h3", 10_000), host("h4", 20_000)])
    assert check.value is not None
    assert abs(check.value - 0.11) < 1e-9
    assert check.verdict is FidelityVerdict.VALID
    assert "h2 +2.500000 s +- 0.090 ms" in check.detail


def test_clocks_that_are_hardly_known_degrade_a_run() -> None:
    assert clock_check([host("h1"), host("h2", 1_200_000)]).verdict is FidelityVerdict.DEGRADED


def test_a_clock_of_which_nothing_is_known_spoils_a_run() -> None:
    check = clock_check([host("h1"), host("h2", 10), host("h3")])
    assert check.verdict is FidelityVerdict.INVALID
    assert check.detail == "no offset was measured for the clock of h3"


@pytest.fixture
def paths(tmp_path: Path) -> RunPaths:
    paths = RunPaths("run", tmp_path / "run", tmp_path / "sockets")
    paths.logs.mkdir(parents=True)
    return paths


@pytest.mark.parametrize(("defect", "interrupted"), [("", True), ("broker defect: B1", False)])
def test_hosts_that_a_brokers_defect_ended_were_not_interrupted_by_the_user(
    paths: RunPaths, tmp_path: Path, defect: str, interrupted: bool
) -> None:
    hand_in(paths, 0, manifest.Manifest(run_id="run.1", hosts=[host("h1")]), tmp_path)
    hand_in(paths, 1, manifest.Manifest(run_id="run.2", hosts=[host("h2", 10)], interrupted=True), tmp_path)
    outcome = gather(paths, MEMBERS, manifest.Manifest(run_id="run"), defect)
    assert (outcome.defect, outcome.interrupted) == (defect, interrupted)
    assert manifest.read(paths.directory).interrupted is interrupted


def test_a_host_that_ended_before_it_knew_the_runs_clock_is_named(paths: RunPaths, tmp_path: Path) -> None:
    hand_in(paths, 0, manifest.Manifest(run_id="run.1", hosts=[host("h1")]), tmp_path)
    hand_in(paths, 1, manifest.Manifest(run_id="run.2", interrupted=True), tmp_path)
    with pytest.raises(HostError, match="ended before clocks were compared: h2"):
        gather(paths, MEMBERS, manifest.Manifest(run_id="run"))


def test_each_host_hands_in_its_own_file_of_processors(paths: RunPaths, tmp_path: Path) -> None:
    for number, name in enumerate(("h1", "h2")):
        processors = f"of {name}" if name == "h2" else None
        hand_in(paths, number, manifest.Manifest(run_id=name, hosts=[host(name)]), tmp_path, processors)
    gather(paths, MEMBERS, manifest.Manifest(run_id="run"))
    assert [(file.name, file.read_text()) for file in paths.directory.glob("processors*")] == [
        ("processors@h2.jsonl", "of h2")
    ]


def test_each_host_hands_in_its_own_speed_by_the_runs_clock(paths: RunPaths, tmp_path: Path) -> None:
    loops = LoopTimes(interpreter=1)
    here = {name: msgspec.structs.replace(loops, interpreter=time) for name, time in (("h1", 2), ("h2", 3))}
    for number, (name, own) in enumerate(here.items()):
        speed = HostSpeed(here=own, calibrated=loops, timed=5_000_000_000)
        of_host = host(name, *([10] if number else []))
        hand_in(paths, number, manifest.Manifest(run_id=name, hosts=[of_host], host_speed=speed), tmp_path)
    gather(paths, MEMBERS, manifest.Manifest(run_id="run"))
    joined = manifest.read(paths.directory)
    assert joined.host_speed is msgspec.UNSET
    assert {name: (speed.factor, speed.timed) for name, speed in joined.speeds.items()} == {
        "h1": (2.0, 5_000_000_000),
        "h2": (3.0, 7_500_000_000),
    }


def test_rows_that_remain_on_any_host_remain_in_the_run(paths: RunPaths, tmp_path: Path) -> None:
    for number, (name, remaining) in enumerate((("h1", {"B1": ["a row"]}), ("h2", {}))):
        variant = VariantRecord(name="base", remaining_state=remaining)
        hand_in(paths, number, manifest.Manifest(run_id=name, hosts=[host(name)], variants=[variant]), tmp_path)
    gather(paths, MEMBERS, manifest.Manifest(run_id="run"))
    (joined,) = manifest.read(paths.directory).variants
    assert joined.remaining_state == {"B1": ["a row"]}


def test_the_drain_phase_ends_where_it_ended_first(paths: RunPaths, tmp_path: Path) -> None:
    """The clients of that host leave, whatever the others know by then; its clock is 2.5 s behind the run's."""
    for number, (of_host, drained) in enumerate(((host("h1"), 9_000_000_000), (host("h2", 10), 6_100_000_000))):
        phases = [
            PhaseRecord(name=PhaseName.DRAIN, start=drained - 1_000_000_000, end=drained),
            PhaseRecord(name=PhaseName.STOP, start=drained + 1, end=drained + 500_000_000),
        ]
        variant = VariantRecord(name="base", phases=phases)
        hand_in(paths, number, manifest.Manifest(run_id="run", hosts=[of_host], variants=[variant]), tmp_path)
    gather(paths, MEMBERS, manifest.Manifest(run_id="run"))
    (joined,) = manifest.read(paths.directory).variants
    assert joined.end == 8_600_000_000
    assert joined.phase(PhaseName.STOP) == PhaseRecord(name=PhaseName.STOP, start=8_600_000_000, end=9_500_000_000)


def test_the_load_is_the_first_hosts_description(paths: RunPaths, tmp_path: Path) -> None:
    for number, member in enumerate(MEMBERS[:2]):
        loads = tmp_path / member.name / "run" / share_id(paths.run_id, number) / LOADS
        loads.mkdir(parents=True)
        (loads / "1.json").write_text(member.name)
        record = manifest.Manifest(run_id=f"run.{number + 1}", hosts=[host(member.name, 10)])
        hand_in(paths, number, record, tmp_path)
    gather(paths, MEMBERS[:2], manifest.Manifest(run_id="run"))
    assert (paths.directory / LOADS / "1.json").read_text() == MEMBERS[0].name
