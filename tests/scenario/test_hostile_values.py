"""A scenario with any value in any field is accepted, or refused as a user's mistake: nothing else comes of it."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulation.planning.plan import make_plan
from record.errors import UserError
from scenario.loading import load_text
from scenario.yaml_files.fields import FieldPath
from scenario.yaml_files.scalars import plain_value
from scenario.yaml_files.source import DEEPEST, LONGEST_FIELD, MOST_VALUES, as_yaml, parse, parse_json, read

BASE: dict[str, Any] = yaml.safe_load("""\
name: any
description: text
topology:
  kind: cyclic
  brokers: 6
  degree: 2.5
  link: {delay: 1ms..2ms, jitter: 10%, loss: 1%, bandwidth: 10mbit, queue_limit: 100, backward: {delay: 3ms}}
routing: {protocol: tid, publications: dynamic, status_interval: 50ms}
workload:
  publications:
    publishers: 3
    symbols: 3
    publishers_per_symbol: 1
    rate: 60/min
    arrivals: poisson
    placement: spread
    individually: {P1: {rate: 1/s, joins: 1s, stops: 3s, leaves: 4s, bursts: [{at: 2s, publications: 5, rate: 10/s}]}}
  subscriptions:
    subscribers: 4
    per_subscriber: 1
    exponent: 1.0
    selectivity: 2%
    placement: [B1, B2]
    followers: [{of: P2, subscribers: 1, symbols: 1}]
  operations: [{at: 2s, client: X, broker: B1, publish: "[class,'A'],[x,1]"}]
timeline: {join: 2s, run: 5s, drain: 1s, advertise: 500ms}
brokers:
  cpu: 0.5
  memory: 64MB
  service_time: {mean: 1ms, distribution: lognormal, deviation: 1ms}
  limits: {window: 8, queue_bytes: 1MB, heartbeat: 1s}
faults:
  - {at: run+1s, kill: B1, for: 1s}
  - {at: 3s, flap: B1-B2, down: 100ms, up: 100ms, times: 2}
  - {after: 10 notifications, degrade: random-link(1), delay: 5ms, for: 1s}
vary: {seed: [1, 2]}
time_dilation: 2
seed: 1
""")

REST = {name: BASE[name] for name in ("name", "topology", "routing", "timeline", "seed")}
OTHER_KINDS = yaml.safe_load("""\
- kind: integers
  values: 50
  distribution: zipf
  exponent: 1.2
  peaks: 3
  decay: 1
  publications: {rate: 1/s, arrivals: poisson, size: 100B, brokers: 50%, advertised: 50%}
  subscriptions: {matching_ratio: 10%}
- kind: topics
  publications: {topics: 5, rate: 1/s, size: 100B, placement: spread}
  subscriptions:
    - {subscribers: 3, topics: 1..4, topics_each: 2, placement: [B1], joins: 1s..2s, churn: {every: 1s, away: 500ms}}
- kind: patterns
  patterns: 20
  publications: {rate: 1/s, size: 200B, receivers: 10%}
  subscriptions: {per_subscriber: 2}
""")
SCENARIOS = [BASE, *({**REST, "workload": workload} for workload in OTHER_KINDS)]


def paths(data: Any, path: FieldPath = ()) -> Iterator[FieldPath]:
    """Every field and item below."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from paths(inner, (*path, key))


NUMBER = st.sampled_from(
    ["0", "1", "-1", "1e308", "1e-308", "1e-5", "0.0", "-0.0", "2.5", "9" * 18, "9" * 40, "1_0", "0x1F", "1:30", ".inf"]
) | st.integers(-(2**70), 2**70).map(str)
UNIT = st.sampled_from(["", "s", "ms", "ns", "h", "mbit", "gbit", "/s", "/min", "%", "GB", " notifications", "..5ms"])
PLAIN = st.builds(str.__add__, NUMBER, UNIT)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    [
        "B1",
        "B1-B2",
        "P1",
        "random(3)",
        "random(999999999)",
        "random-link(99)",
        "rest",
        "hub",
        "all",
        "[x,1]",
        "x" * 5000,
    ]
)
SCALARS = PLAIN | TEXT.map(json.dumps) | st.sampled_from(["~", "yes", "no", "{}", "[]", "''"])
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"))


FIELDS = [(number, path) for number, data in enumerate(SCENARIOS) for path in paths(data)]


@given(st.sampled_from(FIELDS), VALUES)
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_value_in_any_field(field: tuple[int, FieldPath], written: str) -> None:
    number, path = field
    data = copy.deepcopy(SCENARIOS[number])
    container: Any = data
    for part in path[:-1]:
        container = container[part]
    container[path[-1]] = "<value>"
    text = json.dumps(data).replace('"<value>"', written)
    try:
        scenario = load_text(text, "any.yaml")
        assert load_text(as_yaml(scenario.resolved()), "again.yaml").resolved() == scenario.resolved()
        for variant in make_plan(scenario).variants:
            variant.schedule()
            variant.workload.estimate()
            list(islice(variant.workload.operations(), 100))
    except UserError as error:
        assert error.exit_code in (2, 4)
        assert str(error).strip()


CHARACTERS = st.characters(exclude_categories=["Cs"])
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(CHARACTERS),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(CHARACTERS, max_size=LONGEST_FIELD // 12), inner),
)


@given(JSON)
def test_json_is_read_as_it_was_written(data: Any) -> None:
    assert parse_json(json.dumps(data), "any.json") == data


def without_floats(data: Any) -> Any:
    """YAML has no number for `1e+16`, which JSON writes; such a float is a text there."""
    if isinstance(data, dict):
        return {key: without_floats(value) for key, value in data.items()}
    if isinstance(data, list):
        return [without_floats(value) for value in data]
    return data if not isinstance(data, float) else plain_value(json.dumps(data))


@given(JSON.filter(lambda data: "<<" not in str(data)))
def test_what_is_written_as_yaml_is_read_again(data: Any) -> None:
    assert parse(as_yaml(data), "any.yaml").data == without_floats(data)


@given(st.text(st.sampled_from("0123456789-+._:exbaAfFiInN~ "), min_size=1, max_size=12))
def test_plain_values_are_those_of_yaml_or_refused(text: str) -> None:
    """PyYAML is the oracle."""
    text = text.strip()
    try:
        value = plain_value(text)
    except ValueError:
        return
    loader = yaml.SafeLoader(text)
    node = yaml.ScalarNode(loader.resolve(yaml.ScalarNode, text, (True, False)), text)
    if node.tag.endswith("timestamp"):
        assert value == text
    else:
        assert (value, type(value)) == ((found := loader.construct_object(node)), type(found))  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("parsed", [parse, parse_json])
def test_bounds_are_exact(parsed: Any) -> None:
    nested = "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1)
    assert parsed(nested, "any")
    with pytest.raises(UserError, match=f"more than {DEEPEST} levels"):
        parsed(f"[{nested}]", "any")
    many = "[" + ", ".join(["1"] * (MOST_VALUES - 1)) + "]"
    assert parsed(many, "any")
    with pytest.raises(UserError, match="more than 200,000 values"):
        parsed(f"{many[:-1]}, 1]", "any")


def test_aliases_are_copies_with_the_line_of_the_alias() -> None:
    source = parse("a: &x {b: [1]}\nc: *x\n", "any.yaml")
    source.data["a"]["b"].append(2)
    assert source.data == {"a": {"b": [1, 2]}, "c": {"b": [1]}}
    assert source.line(("c", "b", 0)) == 2


def test_the_first_line_of_a_file_may_have_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes("\ufeffa: 1".encode())

    assert read(tmp_path / "x.yaml").data == {"a": 1}
