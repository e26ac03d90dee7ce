"""Bounds on generated workloads: contents that no broker would take, and distances between too many brokers."""

from __future__ import annotations

import pytest

from scenario.loading import load_text
from scenario.yaml_files.errors import ScenarioError

INTEGERS = """\
name: bounds
topology: {kind: ring, brokers: 4, link: {delay: 5ms}}
routing: {protocol: tid}
workload:
  kind: integers
  values: 100
  publications: {rate: 2/s, size: 100KiB}
  subscriptions: {matching_ratio: 50%}
timeline: {join: 2s, run: 2s}
brokers: {limits: {message_bytes: 1MiB}}
"""


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ("message_bytes: 100KiB", "102,400 bytes; brokers.limits.message_bytes leaves 98,304 for content"),
        ("queue_bytes: 10KiB", "102,400 bytes; brokers.limits.queue_bytes leaves 6,144 for content"),
        ("queue_bytes: 1B", "102,400 bytes; brokers.limits.queue_bytes leaves 0 for content"),
    ],
)
def test_a_content_that_brokers_would_drop_is_refused(limit: str, message: str) -> None:
    load_text(INTEGERS, "s.yaml")
    with pytest.raises(ScenarioError) as refused:
        load_text(INTEGERS.replace("message_bytes: 1MiB", limit), "s.yaml")
    assert f"s.yaml:7: workload.publications.size: {message}" in str(refused.value)


def test_regional_interest_of_too_many_brokers_is_refused_before_their_distances_are_computed() -> None:
    text = INTEGERS.replace("kind: ring, brokers: 4", "kind: random-tree, brokers: 10000")
    text = text.replace("values: 100", "values: 10000\n  distribution: regional")
    with pytest.raises(ScenarioError) as refused:
        load_text(text, "s.yaml")
    assert str(refused.value) == (
        "s.yaml:7: workload.distribution: regional interest needs the delay between any two of 10,000 brokers; "
        "2,500 brokers are the most"
    )
