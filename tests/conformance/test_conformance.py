"""The shipped cases: all of them in the simulator, a sample on real brokers."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest

from emulation.run.interrupt import Interrupt
from studies.conformance import CaseVerdict, Relation, Result, SimulatedCaseRunner, read_all, run_case, run_relation
from studies.conformance.display import explanation
from studies.conformance.host import host_case_runner
from studies.conformance.running import obstacle
from studies.conformance.selection import Trial, in_company, select

FILES = sorted(file for file in Path(__file__).parent.iterdir() if file.suffix in {".json", ".yaml"})
CASES = read_all(FILES)
SELECTION = select(CASES)
OF_ONE_CASE = [list(trials) for _, trials in groupby(SELECTION.trials, key=lambda trial: trial.case.id)]
"""Trials by their case. A test for each trial would take twice the time of the trials themselves."""
OPS = {
    *("advertise", "unadvertise", "subscribe", "unsubscribe", "composite", "publish"),
    *("leave", "arrive", "kill", "restart", "break_session", "link_down", "link_up"),
}

ON_REAL_BROKERS = (
    "line-publishers-at-both-ends",
    "a-subscriber-moves-along-a-line",
    "a-subscriber-announces-its-move",
    "a-subscriber-makes-its-new-session-before-it-breaks-the-old-one",
    "a-subscriber-crashes-and-comes-back",
    "a-broker-on-the-way-dies-and-comes-back",
    "a-subscription-withdrawn-while-a-broker-on-the-way-is-dead",
    "a-cut-link-delivers-what-it-held",
    "one-client-widens-and-narrows-its-subscription",
    "the-older-of-two-advertisements-is-withdrawn",
    "all-withdrawn-and-declared-again-three-times",
    "composite-a-broker-on-the-way-dies-and-comes-back",
    "session-of-the-publisher-breaks-before-the-acknowledgement",
    "withdrawn-subscription-attracts-no-publication",
)
"""They have every operation between them, and two overlays, so that networks are made twice only."""


CHANGING_ON_REAL_BROKERS = (
    "semi-links-appear-and-vanish",
    "semi-nothing-crosses-a-link-after-it-vanished",
    "semi-a-link-that-was-down-starts-without-subscriptions",
)


def failure(result: Result) -> str:
    """Explanation of a result that did not pass; empty for one that did."""
    return "" if result.verdict is CaseVerdict.PASSED else "\n".join([result.note, *explanation(result)])


def check(result: Result) -> None:
    assert result.verdict is CaseVerdict.PASSED, failure(result)


@pytest.mark.parametrize("trials", OF_ONE_CASE, ids=lambda trials: trials[0].case.id)
def test_in_the_simulator(trials: list[Trial]) -> None:
    """A failure names every protocol under which the case failed. Obstacles are asked for here, and not while tests are
    collected, because every worker collects all tests."""
    able = [trial for trial in trials if not obstacle(trial.case, trial.protocol)]
    assert able, "no protocol can run the case"
    found = {trial.protocol.name: run_case(trial.case, trial.protocol, SimulatedCaseRunner()) for trial in able}
    failed = [f"{protocol}: {why}" for protocol, result in found.items() if (why := failure(result))]
    assert not failed, "\n\n".join(failed)


@pytest.mark.parametrize("relation", SELECTION.relations, ids=lambda relation: relation.id)
def test_relation(relation: Relation) -> None:
    check(run_relation(relation))


@pytest.mark.proof
@pytest.mark.container
@pytest.mark.parametrize(
    ("runtime", "protocols"),
    [("process", ["tid-fixed"]), ("container", ["tid-dynamic"]), ("process", ["medym-close"])],
)
def test_on_real_brokers(runtime: str, protocols: list[str]) -> None:
    trials = in_company(select(CASES, ON_REAL_BROKERS, protocols).trials)
    assert {step.op for trial in trials for step in trial.case.steps} == OPS
    with Interrupt() as interrupt, host_case_runner(runtime, interrupt, print) as runner:
        results = [run_case(trial.case, trial.protocol, runner) for trial in trials]
    for result in results:
        check(result)


@pytest.mark.proof
@pytest.mark.container
@pytest.mark.parametrize("runtime", ["process"])
def test_links_that_change_on_real_brokers(runtime: str) -> None:
    trials = in_company(select(CASES, CHANGING_ON_REAL_BROKERS).trials)
    with Interrupt() as interrupt, host_case_runner(runtime, interrupt, print) as runner:
        results = [run_case(trial.case, trial.protocol, runner) for trial in trials]
    for result in results:
        check(result)


@pytest.mark.container
@pytest.mark.parametrize("runtime", ["process"])
def test_a_scot_on_real_brokers(runtime: str) -> None:
    """They have to be told their places in it."""
    (trial,) = select(CASES, ["octopia-the-last-of-two-subscribers-of-a-cluster-leaves"], ["octopia-idr"]).trials
    with Interrupt() as interrupt, host_case_runner(runtime, interrupt, print) as runner:
        check(run_case(trial.case, trial.protocol, runner))
