"""The search: seeds that are missing are conducted once, and partial first seeds are completed before the halving."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from record.files import replace_file
from studies.fitting import __main__ as search
from studies.fitting.__main__ import SCREENED, Fit
from studies.fitting.candidates import IN_USE
from studies.fitting.stated import Given
from studies.fitting.trial import Trial, TrialResult

WHOLE = Given(
    messages=9.0, queue_share=0.2, busiest=0.8, others=0.2, delay_6=50.0, delay_10=60.0, delay_12=70.0,
    hub_is_busiest=True, stable=True, overloads=True,
)  # fmt: skip
SLOWER = msgspec.structs.replace(IN_USE, send_time=2 * IN_USE.send_time)


class Trials:
    """Stands for the worker processes: a trial of a candidate that is too slow has no other figures than the first."""

    def __init__(self, *_: object, **__: object) -> None:
        self.conducted: list[tuple[float, int]] = []

    def run(self, trials: Sequence[Trial]) -> Iterator[Trial]:
        for trial in trials:
            self.conducted.append((trial.candidate.send_time, trial.seed))
            hopeless = trial.candidate == SLOWER and trial.hopeless < 10
            given = msgspec.structs.replace(WHOLE, delay_6=None, overloads=None) if hopeless else WHOLE
            result = TrialResult(candidate=trial.candidate, seed=trial.seed, given=given)
            replace_file(trial.file, msgspec.json.encode(result))
            yield trial


def test_each_seed_is_conducted_once_and_a_partial_one_again_before_the_halving(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trials = Trials()
    monkeypatch.setattr(search, "WorkerProcesses", lambda *_, **__: trials)
    fast, slow = IN_USE.send_time, SLOWER.send_time
    fit = Fit(tmp_path, 1)
    fit.try_each([IN_USE, SLOWER], 1)
    fit.try_each([IN_USE, SLOWER], SCREENED)
    assert trials.conducted == [(fast, 1), (slow, 1), (fast, 2), (slow, 2)]
    Fit(tmp_path, 1).try_each([IN_USE, SLOWER], SCREENED)
    assert len(trials.conducted) == 4, "results on disk are used"
    fit.try_each([IN_USE, SLOWER], 3)
    assert trials.conducted[4:] == [(fast, 3), (slow, 1), (slow, 3)]
    assert set(fit.best(5, 3)) == {IN_USE, SLOWER}
