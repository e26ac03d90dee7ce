"""A dilation that is left to rehearsals: nobody runs without it, and all variants get the same."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from unittest import mock

import pytest
from rich.console import Console

from emulation.planning.dilation import with_dilation
from emulation.planning.plan import Plan, make_plan
from emulation.run import emulate
from emulation.runtimes.ladder import Rungs
from record.errors import BadInputError
from record.figures import Figure
from record.manifest import ChosenDilation, DilationRehearsal, HostShare, RungChoice
from scenario.loading import load_text
from scenario.yaml_files.errors import ScenarioError

SCENARIO = """
name: pair
topology: {kind: line, brokers: 2}
routing: {protocol: tid}
workload:
  operations:
    - {at: 0s, client: P, broker: B1, id: a, advertise: "[class,eq,'STOCK']"}
timeline: {join: 1s, run: 1s, drain: 1s}
time_dilation: auto
"""
CHOSEN = ChosenDilation(
    factor=2.0, variant="base", planned=1.5, kept=True,
    rehearsals=[
        DilationRehearsal(dilation=1.5, found=HostShare(figure=Figure.MEAN, share=0.12), seconds=20.4),
        DilationRehearsal(dilation=2.0, found=HostShare(figure=Figure.MEAN, share=0.03), seconds=25.2),
    ],
)  # fmt: skip
RUNGS = Rungs(RungChoice("process", "asked for"), RungChoice("userspace", "asked for"), None)


def planned(more: str = "") -> Plan:
    return make_plan(load_text(SCENARIO + more, "pair.yaml"))


def test_a_run_whose_dilation_nobody_chose_is_refused_before_it_begins(tmp_path: Path) -> None:
    with pytest.raises(
        BadInputError,
        match=r"^time_dilation: `auto` is for the commands emulate, campaign and reproduce.*`brokerlab check`",
    ):
        emulate(planned(), RUNGS, tmp_path / "runs", Console(file=StringIO()), mock.Mock())
    assert not (tmp_path / "runs").exists()


def test_all_variants_get_the_chosen_factor() -> None:
    plan = with_dilation(planned("vary: {seed: [1, 2]}"), CHOSEN)
    assert [variant.scenario.dilation for variant in plan.variants] == [2.0, 2.0]
    assert [variant.lasts for variant in plan.variants] == [6.0, 6.0]
    assert plan.dilation == CHOSEN
    plan.require_dilation()


def test_the_scenario_still_says_auto_in_the_manifest() -> None:
    plan = with_dilation(planned(), CHOSEN)
    assert plan.scenario.resolved()["time_dilation"] == "auto"


def test_the_words_state_factor_reason_and_cost() -> None:
    assert CHOSEN.in_words() == (
        "2, chosen for all variants by rehearsals of base (1.5: 12.0% of the mean delay is this host's, 2: 3.0% of the "
        "mean delay is this host's), which took 46 s"
    )


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("fast", "must be a factor from 1 to 1000, or `auto`"),
        ("0.5", "must be greater than or equal to 1"),
        ("1001", "must be less than or equal to 1000"),
        ("[1]", "must be a"),
    ],
)
def test_anything_else_is_a_mistake_in_one_sentence(given: str, problem: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        load_text(SCENARIO.replace("auto", given), "pair.yaml")
    assert str(raised.value).startswith("pair.yaml:9: time_dilation: ") and problem in str(raised.value)


def test_variants_cannot_have_dilations_of_their_own_that_are_chosen() -> None:
    text = SCENARIO.replace("time_dilation: auto", "vary: {time_dilation: [1, auto]}")
    with pytest.raises(ScenarioError, match="`auto` gives all variants the same factor; write it outside of `vary`"):
        load_text(text, "pair.yaml")
