"""Runs beside their simulated twins: the planted difference is found, and said to be of the right part."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from analysis.compare import RunComparison
from analysis.compare.model import MeanDifference
from analysis.compare.sentences.runs import difference_in_words, sides_of
from analysis.compare.twin import compare_with_twin, read_twin_comparison
from broker_service.config import BrokerConfig
from emulation.planning.plan import Plan
from record.errors import RunDirectoryError
from record.files import FIDELITY, MANIFEST, TWIN, TWIN_COMPARISON
from tests.analysis.compare.pairs import add_twin, planned, real_run


def compared(asked: Plan, out: Path, done: Plan | None = None) -> RunComparison:
    run = real_run(asked, out, done)
    add_twin(run, asked)
    found = compare_with_twin(run)
    assert found is not None
    return found


def mean_of(comparison: RunComparison) -> MeanDifference:
    (variant,) = comparison.variants
    assert variant.mean is not None
    return variant.mean


def part(mean: MeanDifference, name: str) -> float:
    (value,) = (part.difference for part in mean.parts if part.name == name)
    assert value is not None
    return value


def words(comparison: RunComparison) -> str:
    return "\n".join(difference_in_words(comparison.variants[0], sides_of(comparison)))


def test_a_run_that_kept_its_promises_differs_from_its_twin_in_nothing(tmp_path: Path) -> None:
    comparison = compared(planned(), tmp_path)
    mean = mean_of(comparison)
    assert mean.first == mean.second > 5
    assert mean.left_over == 0
    assert not mean.stands_out
    assert comparison.variants[0].messages.misplaced == 0
    assert words(comparison).startswith(
        "mean delay 0.0 ms (+0.0%) from the twin to real brokers: contention not known\n"
    )


def test_links_that_were_slower_than_asked_are_left_over(tmp_path: Path) -> None:
    comparison = compared(planned(run="30s"), tmp_path, planned(delay="13ms", run="30s"))
    mean = mean_of(comparison)
    assert mean.difference / mean.first == pytest.approx(0.3, rel=0.1)
    assert mean.left_over == pytest.approx(mean.difference)
    assert mean.stands_out
    assert "most of it in unexplained: it is of the emulation or of the simulator, unknown which" in words(comparison)
    assert "chance" not in words(comparison)


@pytest.mark.parametrize("service", ["4ms", "{mean: 4ms, distribution: exponential}"])
def test_a_simulator_that_charges_service_twice_is_left_over(
    tmp_path: Path, service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = planned(service=service)
    run = real_run(asked, tmp_path)
    service_times = BrokerConfig.service_times
    monkeypatch.setattr(
        BrokerConfig, "service_times", lambda self, time: service_times(self, replace(time, mean=2 * time.mean))
    )
    add_twin(run, asked)
    comparison = compare_with_twin(run)
    assert comparison is not None
    mean = mean_of(comparison)
    assert mean.left_over < -4
    assert mean.left_over == pytest.approx(mean.difference, rel=0.05)
    assert "it is of the emulation or of the simulator, unknown which; the run is too short to tell" in words(
        comparison
    )


def test_the_twin_of_a_dilated_run_is_not_dilated_and_the_difference_is_of_work_and_platform(tmp_path: Path) -> None:
    asked = planned(delay="1ms", dilation=5)
    comparison = compared(asked, tmp_path)
    mean = mean_of(comparison)
    assert part(mean, "platform") < -0.2
    assert mean.explained == pytest.approx(part(mean, "platform") + part(mean, "work"))
    assert abs(mean.left_over) < 0.1 * abs(mean.explained)


def test_the_comparison_is_kept_in_a_file_for_as_long_as_the_twin(tmp_path: Path) -> None:
    asked = planned(run="1s")
    run = real_run(asked, tmp_path)
    assert compare_with_twin(run) is None
    assert read_twin_comparison(run) is None
    twin = add_twin(run, asked)
    assert read_twin_comparison(run) is None
    assert compare_with_twin(run) == read_twin_comparison(run)
    twin.rename(tmp_path / "elsewhere")
    assert compare_with_twin(run) is None
    assert not (run / TWIN_COMPARISON).exists()
    (run / TWIN_COMPARISON).write_text("{}")
    with pytest.raises(RunDirectoryError, match=r"twin\.json: cannot be read.*`brokerlab analyze .*` makes it anew"):
        read_twin_comparison(run)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    asked = planned(run="1s")
    run = real_run(asked, tmp_path_factory.mktemp("pair"))
    add_twin(run, asked)
    return run


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("seed", 4, "its seed is 4, and the run's is 3"),
        ("scenario", {"name": "paired"}, "its scenario has another brokers"),
        ("variants", [], "it has other variants"),
        ("calibration", None, "its runtime is simulated, and a twin is simulated"),
    ],
)
def test_another_run_in_its_place_is_no_twin(pair: Path, field: str, value: object, reason: str) -> None:
    file = pair / TWIN / MANIFEST
    whole = file.read_bytes()
    manifest = json.loads(whole)
    manifest[field] = value
    file.write_text(json.dumps({name: content for name, content in manifest.items() if content is not None}))
    try:
        with pytest.raises(RunDirectoryError) as raised:
            compare_with_twin(pair)
    finally:
        file.write_bytes(whole)
    assert f"twin: no twin of the run that it is in: {reason}; remove it" in str(raised.value)


def test_a_twin_that_was_killed_is_none(pair: Path) -> None:
    verdict = pair / TWIN / FIDELITY
    verdict.rename(pair / "kept")
    try:
        with pytest.raises(RunDirectoryError, match="it was ended before it was complete"):
            compare_with_twin(pair)
    finally:
        (pair / "kept").rename(verdict)
    assert compare_with_twin(pair) is not None
