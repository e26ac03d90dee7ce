"""The drawings of docs/architecture.md are those of the code: functions exist and call each other, files are fresh."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.architecture.drawings.files import NAMES, drawings, path_of
from tests.architecture.drawings.svg import Drawing
from tests.architecture.journeys import (
    CALLED_BY_ANALYZE,
    CALLED_BY_COMMAND,
    COMMAND,
    PUBLICATION,
    SCENARIO,
    Stage,
    Step,
    find_function,
    names_called_in_module,
    names_in,
    parameter_types,
    result_type,
)

STEPS = [step for process in PUBLICATION for step in process.steps]
NEXT = {
    step.function: step.hands_over or following.function.rpartition(".")[2]
    for step, following in zip(STEPS, [*STEPS[1:], STEPS[-1]], strict=True)
}


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.short_name)
def test_a_step_hands_the_publication_on(step: Step) -> None:
    assert NEXT[step.function] in names_in(find_function(step.function))


@pytest.mark.parametrize("stage", SCENARIO, ids=lambda stage: stage.short_name)
def test_a_stage_takes_and_gives_what_is_drawn(stage: Stage) -> None:
    function = find_function(stage.function)
    assert stage.takes in parameter_types(function)
    assert stage.gives == result_type(function)


def test_the_command_and_the_analysis_call_the_stages() -> None:
    assert {stage.short_name for stage in CALLED_BY_COMMAND} <= names_called_in_module(COMMAND)
    assert {stage.short_name for stage in CALLED_BY_ANALYZE} <= names_in(find_function("analysis.pipeline.run.analyze"))


def test_a_function_that_is_not_there_is_found_out() -> None:
    with pytest.raises(LookupError, match=r"Broker\.fly: there is no fly"):
        find_function("broker_service.core.broker.Broker.fly")
    with pytest.raises(LookupError, match="no such module"):
        find_function("attic.beam")


def test_a_call_that_is_not_made_is_found_out() -> None:
    assert "receive" not in names_in(find_function("broker_service.core.client_sessions.ClientSessions.publish"))


@pytest.fixture(scope="module")
def drawn() -> Mapping[str, Drawing]:
    return drawings()


@pytest.mark.parametrize("name", NAMES)
def test_a_drawing_is_that_of_the_code(drawn: Mapping[str, Drawing], name: str) -> None:
    shown = path_of(name).read_text(encoding="utf-8")
    assert shown == drawn[name].text, "stale: run `python -m tests.architecture.drawings`"


def test_drawings_do_not_change_from_one_time_to_the_next(drawn: Mapping[str, Drawing]) -> None:
    assert {name: drawing.text for name, drawing in drawn.items()} == {
        name: drawing.text for name, drawing in drawings().items()
    }
