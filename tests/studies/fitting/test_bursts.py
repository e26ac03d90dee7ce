"""Settings of OctopiA's burst, their distance from what the paper states, and one trial with few publications."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from analysis.claims import load_claims
from scenario.loading import load_text
from studies.fitting import bursts
from studies.fitting.bursts import GRID, IN_USE, JUDGED, STATED, BurstCell, BurstResult, Setting, loss, row
from studies.reproduction.plan import SCENARIOS
from tests.studies.cells.here import run_here

RESULT = BurstResult(
    fingerprint="x", runtime="simulated", delivery=["correct"], fidelity="VALID",
    turned=157.0, stable=217.0, judged=(35.0, 200.0, -0.54, 0.18, None),
)  # fmt: skip


def test_the_distance_of_a_setting_is_that_of_its_means_from_the_stated_numbers() -> None:
    assert loss([RESULT]) == 0
    twice = msgspec.structs.replace(RESULT, turned=314.0)
    assert loss([twice]) == pytest.approx(0.480, abs=0.001)
    assert loss([twice, msgspec.structs.replace(RESULT, turned=0.0)]) == 0
    assert row(Setting(1.0, 0.5), [twice]) == "| 1 | 0.5 | 0 | 0 | 1 | 314 | 217 | 0.48 | 35 | 200 | -54% | +18% | - |"


def test_no_judged_number_takes_part_in_the_distance() -> None:
    far = msgspec.structs.replace(RESULT, judged=(0.0, -500.0, 9.0, 9.0, 9.0))
    assert loss([far]) == loss([RESULT])


def test_the_stated_numbers_are_none_that_a_claim_is_judged_by() -> None:
    published: set[float] = set()
    for claim in load_claims().claims:
        if claim.paper == "octopia":
            numbers = claim.published if isinstance(claim.published, list) else [claim.published]
            published |= {float(number) for number in numbers if isinstance(number, int | float)}
    assert {35.0, 200.0, -0.54} <= published
    assert published.isdisjoint(stated.value for stated in STATED)


def test_rows_and_looks_cost_the_routings_that_have_them() -> None:
    assert Setting(2.0, row=400.0, look=0.1).services() == pytest.approx(
        {"SPR": 3.0, "IDR": 3.1, "TID-S": 2.5644, "TID-D": 3.2288}
    )
    assert set(IN_USE.services().values()) == {0.5}


def test_copies_leave_in_turn_and_the_rest_is_as_shipped() -> None:
    shipped = load_text((SCENARIOS / "octopia" / "oct-burst-100k.yaml").read_text(), "shipped").resolved()
    in_use = load_text(BurstCell.of(IN_USE, 1).scenario, "in use").resolved()
    for section in ("topology", "brokers"):
        assert in_use[section] == shipped[section]
    routings = {name: variant["routing"] for name, variant in in_use["vary"]["router"].items()}
    assert routings == shipped["vary"]["routing"]

    copied = load_text(BurstCell.of(Setting(1.0, 0.5), 1).scenario, "copied").resolved()
    assert copied["brokers"]["sending"] == "in-turn"
    assert copied["topology"]["link"]["send_time"]["mean"] == "0.5ms"
    assert {str(variant["brokers.service_time"]["mean"]) for variant in copied["vary"]["router"].values()} == {"1ms"}


def test_cells_of_the_grid_have_names_of_their_own() -> None:
    assert IN_USE in GRID
    assert len({BurstCell.of(setting, seed).key for setting in GRID for seed in (1, 2)}) == 2 * len(GRID)


@pytest.mark.proof
def test_a_trial_gives_every_number(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    small = {
        "workload.publications.individually.P101.bursts.0.publications": "100",
        "workload.subscriptions.subscribers": "20",
        "timeline.run": "2s",
    }
    monkeypatch.setattr(bursts, "_SMALL", {**bursts._SMALL, **small})
    result = run_here(BurstCell.of(Setting(1.0, 0.5), 1), tmp_path)
    assert result.correct
    assert 0 < result.turned <= result.stable
    assert len(result.judged) == len(JUDGED)
    assert None not in result.judged
