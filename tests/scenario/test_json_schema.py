"""The schema for editors and the loader agree about drawn scenarios."""

from __future__ import annotations

from collections import Counter

from pydantic import ValidationError

from scenario.model import Scenario
from tests.proof import IS_WHOLE
from tests.scenario.editors import disagreement
from tests.scenario.schema_files import Files

COUNT = 3000 if IS_WHOLE else 150


def test_the_schema_takes_what_the_model_takes_and_refuses_what_is_no_scenario() -> None:
    files, ends = Files(), Counter[str]()
    for seed in range(COUNT):
        content = files.content(seed)
        refusal: ValidationError | None = None
        try:
            Scenario.model_validate(content)
        except ValidationError as error:
            refusal = error
        assert list(disagreement(content, refusal)) == [], f"seed {seed}"
        ends["refused" if refusal else "accepted"] += 1
    assert min(ends["accepted"], ends["refused"]) > COUNT // 20
