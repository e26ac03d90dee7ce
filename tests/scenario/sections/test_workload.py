"""The `workload` section: its kinds, and the message for each mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenario.loading import load, load_text
from scenario.model import Scenario
from scenario.sections.workload import KINDS, QuotesWorkload
from scenario.workload.generate import GENERATORS
from scenario.yaml_files.errors import ScenarioError

REST = """
name: any
topology: {kind: line, brokers: 4, link: {delay: 1ms}}
routing: {protocol: tid}
timeline: {join: 2s, run: 10s}
"""

INTEGERS = """\
workload:
  kind: integers
  values: 100
  publications: {rate: 1/s}
  subscriptions: {matching_ratio: 10%}
"""
TOPICS = """\
workload:
  kind: topics
  publications: {topics: 8, rate: 1/s}
  subscriptions:
    - {subscribers: 3, topics: 1..4, churn: {every: 2s, away: 1s}}
"""
PATTERNS = """\
workload:
  kind: patterns
  patterns: 64
  publications: {rate: 1/s}
  subscriptions: {per_subscriber: 2}
"""


def error(text: str) -> str:
    with pytest.raises(ScenarioError) as raised:
        load_text(text + REST, "s.yaml")
    return str(raised.value)


def test_every_kind_has_a_generator() -> None:
    assert set(KINDS) == {"quotes", "integers", "topics", "patterns", "file"}
    assert set(GENERATORS) == set(KINDS.values())


@pytest.mark.parametrize("text", [INTEGERS, TOPICS, PATTERNS])
def test_a_resolved_section_loads_again(text: str) -> None:
    scenario = load_text(text + REST, "s.yaml")
    assert Scenario.model_validate(scenario.resolved()) == scenario
    assert scenario.resolved()["workload"]["kind"] in KINDS


def test_a_workload_without_a_kind_has_quotes(tmp_path: Path) -> None:
    text = "workload: {publications: {publishers: 1, rate: 1/s}}\n"
    scenario = load_text(text + REST, "s.yaml")
    assert isinstance(scenario.workload, QuotesWorkload)
    assert scenario.resolved() == load_text(text.replace("{p", "{kind: quotes, p", 1) + REST, "s.yaml").resolved()
    assert "kind" not in scenario.resolved()["workload"], "records of runs stay as they are"
    file = tmp_path / "s.yaml"
    file.write_text(text + REST)
    assert load(file, {"workload.publications.publishers": "3"}).workload.publishers_on(4) == 3


@pytest.mark.parametrize(
    ("text", "old", "new", "message"),
    [
        (INTEGERS, "integers", "integer", "s.yaml:1: workload: unknown kind 'integer'; did you mean 'integers'?"),
        (INTEGERS, "values: 100", "values: 0", "s.yaml:3: workload.values: must be greater than or equal to 1, not 0"),
        (
            INTEGERS,
            "values: 100",
            "distribution: normal",
            "s.yaml:3: workload.distribution: must be 'uniform', 'zipf', 'multimodal' or 'regional', not 'normal'",
        ),
        (INTEGERS, "values: 100", "exponent: 0", "s.yaml:3: workload.exponent: must be greater than 0, not 0"),
        (INTEGERS, "values: 100", "peaks: 1", "s.yaml:3: workload.peaks: must be greater than or equal to 2, not 1"),
        (INTEGERS, "values: 100", "decay: -1", "s.yaml:3: workload.decay: must be greater than 0, not -1"),
        (
            INTEGERS,
            "10%",
            "0%",
            "s.yaml:5: workload.subscriptions.matching_ratio: must be greater than 0, not '0%'",
        ),
        (
            INTEGERS,
            "10%",
            "110%",
            "s.yaml:5: workload.subscriptions.matching_ratio: a share is at most 1, got '110%'",
        ),
        (
            INTEGERS,
            "  subscriptions: {matching_ratio: 10%}\n",
            "",
            "s.yaml:1: workload.subscriptions: this field is required",
        ),
        (INTEGERS, "rate: 1/s", "rate: 0/s", "s.yaml:4: workload.publications: rate must be more than 0"),
        (
            INTEGERS,
            "rate: 1/s",
            "rate: 1/s, size: 20B",
            "s.yaml:4: workload.publications.size: is less than the 34 bytes of a publication without padding; "
            "give more, or leave it out",
        ),
        (
            INTEGERS,
            "rate: 1/s",
            "rate: 1/s, size: 2MB",
            "s.yaml:4: workload.publications.size: must be less than or equal to 1048576, not '2MB'",
        ),
        (
            INTEGERS,
            "rate: 1/s",
            "rate: 1e8/s",
            "s.yaml:4: workload.publications.rate: makes up to 4,000,000,000 publications in a run of 10 s; "
            "there may be 100,000,000",
        ),
        (
            INTEGERS.replace("values: 100", "values: 900000"),
            "10%",
            "100%, per_broker: 1",
            "s.yaml:5: workload.subscriptions.per_broker: unknown field 'per_broker'; there are matching_ratio",
        ),
        (
            INTEGERS.replace("values: 100", "values: 900000"),
            "10%",
            "90%",
            "s.yaml:5: workload.subscriptions.matching_ratio: makes about 3,240,000 subscriptions; "
            "there may be 1,000,000",
        ),
        (
            INTEGERS.replace("rate: 1/s", "rate: 1/s, advertised: 50%"),
            "values: 100",
            "distribution: regional",
            "s.yaml:1: workload: publications.advertised must be 100% with `distribution: regional`, because a "
            "publisher advertises the values of its own broker: leave it out",
        ),
        (
            INTEGERS,
            "values: 100",
            "values: 3\n  distribution: regional",
            "s.yaml:3: workload.values: 3 values cannot be divided among 4 publishing brokers; give at least as many",
        ),
        (
            TOPICS,
            "topics: 8",
            "topics: 0",
            "s.yaml:3: workload.publications.topics: must be greater than or equal to 1, not 0",
        ),
        (
            TOPICS,
            "1..4",
            "4..1",
            "s.yaml:5: workload.subscriptions[0].topics: the topics '4..1' have their ends swapped",
        ),
        (
            TOPICS,
            "1..4",
            "some",
            "s.yaml:5: workload.subscriptions[0].topics: expected a topic such as 7, or consecutive topics such as "
            "1..50, got 'some'",
        ),
        (
            TOPICS,
            "1..4",
            "5..9",
            "s.yaml:1: workload: subscriptions[0].topics: topic 9 is not one of the topics 1 to 8",
        ),
        (
            TOPICS,
            "topics: 1..4",
            "topics: 1..4, topics_each: 5",
            "s.yaml:1: workload: subscriptions[0].topics_each: 5 topics, but the group has only 4; write `all` for "
            "all of them",
        ),
        (
            TOPICS,
            "topics: 1..4",
            "joins: 9s..12s",
            "s.yaml:5: workload.subscriptions[0].joins: after the run phase, which lasts 10 s",
        ),
        (
            TOPICS,
            "away: 1s",
            "away: 2s",
            "s.yaml:5: workload.subscriptions[0].churn: `away` (2 s) must be less than `every` (2 s)",
        ),
        (
            TOPICS,
            "{every: 2s, away: 1s}",
            "{every: 0s}",
            "s.yaml:5: workload.subscriptions[0].churn: `every` must be more than 0",
        ),
        (
            TOPICS,
            "{every: 2s, away: 1s}",
            "{every: 1us}",
            "s.yaml:5: workload.subscriptions[0].churn.every: makes about 30,000,000 further subscriptions; "
            "there may be 1,000,000",
        ),
        (
            TOPICS,
            "subscribers: 3",
            "subscribers: 2000000",
            "s.yaml:1: workload: makes 2,000,000 subscriptions; there may be 1,000,000",
        ),
        (
            TOPICS,
            "subscribers: 3",
            "subscribers: 3, placement: [B9]",
            "s.yaml:5: workload.subscriptions[0].placement[0]: the overlay has no broker 'B9'; "
            "there are B1, B2, B3, B4",
        ),
        (
            PATTERNS,
            "patterns: 64",
            "patterns: 1024",
            "s.yaml:3: workload.patterns: must be less than or equal to 1022, not 1024",
        ),
        (
            PATTERNS,
            "per_subscriber: 2",
            "per_subscriber: 65",
            "s.yaml:1: workload: subscriptions.per_subscriber is 65, but there are 64 patterns",
        ),
        (
            PATTERNS,
            "rate: 1/s",
            "rate: 1/s, receivers: 10%, receiver_count: 2",
            "s.yaml:4: workload.publications: `receivers` and `receiver_count` state the same: leave one of them out",
        ),
        (
            PATTERNS,
            "rate: 1/s",
            "rate: 1/s, receiver_count: 5",
            "s.yaml:4: workload.publications.receiver_count: 5 receivers, but the overlay has 4 brokers",
        ),
        (
            PATTERNS.replace("patterns: 64", "patterns: 1000"),
            "rate: 1/s",
            "rate: 1/s, receivers: 90%",
            "s.yaml:4: workload.publications.receivers: takes 684 numbers in a publication, which has at most 254; "
            "ask for fewer receivers, or for more patterns a subscriber",
        ),
        (
            PATTERNS,
            "  subscriptions",
            "  operations: [{at: 1s, client: S4, broker: B1, publish: \"[class,'A']\"}]\n  subscriptions",
            "s.yaml:5: workload.operations[0].client: S4 is a generated client; choose another name",
        ),
    ],
)  # fmt: skip
def test_mistakes(text: str, old: str, new: str, message: str) -> None:
    assert old in text
    assert error(text.replace(old, new, 1)) == message


def test_regional_interest_needs_delays() -> None:
    text = INTEGERS.replace("values: 100", "distribution: regional") + REST.replace(", link: {delay: 1ms}", "")
    with pytest.raises(ScenarioError) as raised:
        load_text(text, "s.yaml")
    assert str(raised.value) == (
        "s.yaml:3: workload.distribution: regional interest needs two brokers or more, and a delay above 0 between any "
        "two: give links a `delay`"
    )


def test_absurd_products_are_refused() -> None:
    many = REST.replace("brokers: 4", "brokers: 1000")
    with pytest.raises(ScenarioError, match="1,000,000 values for each of 1,000 brokers; 500,000,000 is the most"):
        load_text(INTEGERS.replace("values: 100", "values: 1000000") + many, "s.yaml")
