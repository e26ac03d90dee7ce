"""Loss during load: one wrong direction of many is named, and chance is no defect."""

from __future__ import annotations

import numpy as np
import pytest

from emulation.fidelity.carried_frames import CarriedDirection, loss_during
from record.fidelity import FidelityVerdict


def directions(count: int, loss: float, frames: int, seed: int = 3) -> list[CarriedDirection]:
    lost = np.random.default_rng(seed).binomial(frames, loss, count).tolist()
    return [CarriedDirection(f"B{number}", "B0", loss, frames, lost[number]) for number in range(count)]


@pytest.mark.parametrize("lost", [0, 41], ids=["no loss", "twice the loss"])
def test_one_wrong_direction_of_136_is_named(lost: int) -> None:
    (check,) = loss_during([*directions(135, 0.02, 1000), CarriedDirection("A", "B", 0.02, 1000, lost * 2)])
    assert check.verdict is FidelityVerdict.INVALID
    assert check.detail.startswith(f"A to B lost {lost * 2} of 1,000 frames instead of 2.00%")


def test_a_frame_lost_where_none_was_to_be_is_named() -> None:
    (check,) = loss_during([CarriedDirection("A", "B", 0.0, 500, 1)])
    assert check.verdict is FidelityVerdict.INVALID


@pytest.mark.parametrize("loss", [0.0, 0.001, 0.02, 0.5])
@pytest.mark.parametrize("frames", [20, 3000])
def test_chance_is_no_defect(loss: float, frames: int) -> None:
    for seed in range(50):
        (check,) = loss_during(directions(136, loss, frames, seed))
        assert check.verdict is FidelityVerdict.VALID, check.detail


def test_few_frames_are_not_judged() -> None:
    assert loss_during([CarriedDirection("A", "B", 0.02, 19, 19)]) == []
