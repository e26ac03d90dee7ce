"""Parts of the difference of two mean delays, and what is left over, on made-up pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from analysis.compare.delays import compare_delays
from analysis.compare.means import compare_means
from analysis.compare.model import MeanDifference, MessageComparison, VariantComparison
from analysis.compare.runs import Delays
from analysis.compare.sentences.runs import RUNS, TWINS, difference_in_words
from analysis.tables.budget import DelayParts
from tests.analysis.compare.made_up import neutral, variant

OTHERS = "0.0% of the messages are at other brokers or of other kinds"
TWIN = {"links": 8.0, "work": 1.0, "platform": 1.0, "contention": 0.0}


def parts(**milliseconds: float | None) -> DelayParts:
    return neutral(DelayParts, **{f"{name}_ms": value for name, value in milliseconds.items()})


def compared(first: DelayParts, second: DelayParts) -> MeanDifference:
    found = compare_means(variant("x", parts=first), variant("x", parts=second))
    assert found is not None
    return found


def sentences(mean: MeanDifference | None, *, seconds: int = 20, spread: float = 0.0) -> list[str]:
    """The sentences on a pair of runs, the second of which is as much slower, with that much chance."""
    noise = np.random.default_rng(1).normal(0, spread, (2, 1000)) if spread else np.zeros((2, 1000))
    first, second = (10.0, 10.0) if mean is None else (mean.first, mean.second)
    blocks = np.arange(1000) * (seconds // 5) // 1000
    chance = np.random.default_rng(2).normal(0, spread or 1e-9, seconds // 5)[blocks]
    pairs = [(f"P:{number}", "S") for number in range(1000)]
    delay = compare_delays(
        Delays(pairs, first + noise[0], blocks), Delays(pairs, second + noise[1] + chance, blocks), 1
    )
    found = neutral(VariantComparison, messages=neutral(MessageComparison), delay=delay, mean=mean)
    *sentences, others = difference_in_words(found, TWINS)
    assert others == OTHERS
    return sentences


def test_all_parts_add_up_to_the_difference_and_known_causes_explain_theirs() -> None:
    mean = compared(
        parts(**TWIN),
        parts(links=8.1, waiting_at_brokers=0.5, work=1.2, platform=0.9, contention=0.7, unexplained=-0.2),
    )
    assert (mean.first, mean.second) == (10.0, pytest.approx(11.2))
    differences = {part.name: part.difference for part in mean.parts}
    assert differences == {
        "links": pytest.approx(0.1), "waiting for links": 0.0, "waiting at brokers": 0.5, "work": pytest.approx(0.2),
        "platform": pytest.approx(-0.1), "contention": 0.7, "unexplained": -0.2,
    }  # fmt: skip
    assert sum(value or 0 for value in differences.values()) == pytest.approx(mean.difference)
    assert mean.explained == pytest.approx(0.2 - 0.1 + 0.7)
    assert mean.left_over == pytest.approx(0.4)
    assert not mean.stands_out


def test_the_sentences_name_the_largest_part_first() -> None:
    mean = compared(parts(**TWIN), parts(**TWIN | {"contention": 0.7, "work": 1.2, "links": 8.04}))
    assert sentences(mean) == [
        "mean delay +0.9 ms (+9.4%) from the twin to real brokers: contention +0.7, work +0.2",
        "work, platform and contention explain +0.9 ms of it; 0.0 ms is left over, no more than 5% of the mean",
    ]


@pytest.mark.parametrize(("beyond", "stands_out"), [(0.49, False), (0.51, True), (-0.49, False), (-0.51, True)])
def test_more_than_a_twentieth_of_the_mean_stands_out(beyond: float, stands_out: bool) -> None:
    mean = compared(parts(**TWIN), parts(**TWIN | {"unexplained": beyond}))
    assert mean.stands_out == stands_out
    assert ("unknown which" in sentences(mean)[1]) == stands_out


def test_what_is_left_over_is_where_most_of_it_is_and_of_one_of_the_two() -> None:
    more: dict[str, Any] = {"waiting_for_links": 3.0, "unexplained": 1.0, "contention": 0.4}
    mean = compared(parts(**TWIN), parts(**TWIN | more))
    _, left_over = sentences(mean, seconds=30)
    assert left_over == (
        "work, platform and contention explain +0.4 ms of it; +4.0 ms is left over, 40% of the mean, most of it in "
        "waiting for links: it is of the emulation or of the simulator, unknown which"
    )
    _, of_two_runs, _ = difference_in_words(
        neutral(
            VariantComparison,
            messages=neutral(MessageComparison),
            delay=compare_delays(*(_delays(mean),) * 2, 1),
            mean=mean,
        ),
        RUNS,
    )
    assert "it is of one run or of the other, unknown which" in of_two_runs


def _delays(mean: MeanDifference) -> Delays:
    return Delays([("P:1", "S")], np.array([mean.first]), np.array([0]))


def test_contention_that_explains_more_than_there_is_leaves_something_over_too() -> None:
    """Real brokers that are as slow as the twin although they waited for processors are quicker in something else."""
    mean = compared(parts(**TWIN), parts(**TWIN | {"links": 6.0, "contention": 2.0}))
    assert mean.difference == 0
    assert mean.left_over == -2.0
    assert "-2.0 ms is left over, 20% of the mean, most of it in links" in sentences(mean, seconds=30)[1]


def test_chance_is_named_where_it_may_explain_it() -> None:
    mean = compared(parts(**TWIN), parts(**TWIN | {"waiting_at_brokers": 0.6}))
    assert "; the run is too short to tell it from chance" in sentences(mean)[1]
    assert sentences(mean, seconds=100)[1].endswith("unknown which")
    assert "; chance alone may explain it (95% interval -" in sentences(mean, seconds=100, spread=6.0)[1]


@pytest.mark.parametrize(("unexplained", "backlog"), [(0.0, 6.0), (-2.0, 6.0), (6.0, 1.0)])
def test_backlog_that_contention_caused_is_explained_and_that_of_a_stop_is_not(
    unexplained: float, backlog: float
) -> None:
    """Contention of 2 ms holds up 6 ms more; with a stop of 6 ms the replay leaves out 4 ms, shared by both."""
    slow = parts(**TWIN | {"waiting_for_links": 6.0, "contention": 2.0, "unexplained": unexplained})
    slow = replace(slow, unexplained_absolute_ms=abs(unexplained))
    replayed = slow.delay_ms - 2.0 - max(unexplained, 0.0) - (4.0 if unexplained > 0 else 6.0)
    mean = compare_means(
        variant("x", parts=parts(**TWIN), without_contention=10.0),
        variant("x", parts=slow, without_contention=replayed),
    )
    assert mean is not None
    assert mean.backlog.difference == pytest.approx(backlog)
    assert mean.explained == pytest.approx(2.0 + backlog)
    assert f"contention and the backlog that it caused (+{backlog:.1f}) explain" in sentences(mean)[1]


def test_what_is_not_known_is_not_zero() -> None:
    mean = compared(parts(**TWIN), parts(**TWIN | {"contention": None, "unexplained": 1.0}))
    (contention,) = (part for part in mean.parts if part.name == "contention")
    assert (contention.first, contention.second, contention.difference) == (0.0, None, None)
    assert mean.left_over == pytest.approx(1.0)
    found, left_over = sentences(mean)
    assert found.endswith("unexplained +1.0, contention not known")
    assert left_over.startswith("work and platform explain 0.0 ms of it")


def test_without_a_budget_the_parts_are_not_known() -> None:
    assert compare_means(variant("x", parts=parts(**TWIN)), variant("x")) is None
    assert sentences(None) == [
        "parts of the difference: not known, because the logs of one of the runs do not hold the ways of messages"
    ]
    assert list(difference_in_words(neutral(VariantComparison, messages=neutral(MessageComparison)), TWINS)) == [OTHERS]


@pytest.mark.parametrize(
    ("follows", "misplaced", "said"), [(True, 0.02, True), (True, 0.0, False), (False, 0.02, False)]
)
def test_decisions_that_load_changed_are_named(follows: bool, misplaced: float, said: bool) -> None:
    messages = neutral(MessageComparison, misplaced=misplaced)
    found = neutral(VariantComparison, messages=messages, follows_load=follows)
    (sentence,) = difference_in_words(found, TWINS)
    assert sentence.startswith(f"{misplaced:.1%} of the messages are at other brokers")
    assert sentence.endswith("part of the difference may be of other ways") is said


def test_messages_that_brokers_of_one_run_did_not_log_are_not_compared() -> None:
    (sentence,) = difference_in_words(neutral(VariantComparison, messages=None), TWINS)
    assert sentence == "messages: not compared, because brokers of one of the runs keep no logs"
