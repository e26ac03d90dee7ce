"""Absurd sizes are refused at once, because they would fill the memory or the disk, or run for years."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenario.loading import load
from scenario.yaml_files.errors import ScenarioError
from scenario.yaml_files.source import parse

CYCLIC_30 = Path(__file__).resolve().parents[2] / "scenarios" / "cyclic-30.yaml"


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("workload.subscriptions.subscribers", "1000000000", "must be less than or equal to 1000000"),
        ("workload.subscriptions.per_subscriber", "1000000", "makes 30,000,000 subscriptions; there may be 1,000,000"),
        ("workload.publications.publishers", "1000000000", "must be less than or equal to 100000"),
        ("workload.publications.rate", "1e9/s", r"makes up to 600,000,000,000 publications in a run of 30 s"),
        ("timeline.run", "1e300s", "a duration is at most 8760h"),
        ("topology.link.delay", "1e300s", "a duration is at most 8760h"),
        (
            "topology",
            "{kind: cyclic, brokers: 10000, degree: 9999}",
            "makes up to 49,995,000 links; 500,000 is the most",
        ),
        ("topology", "{kind: random-regular, brokers: 10000, degree: 200}", "makes up to 1,000,000 links"),
        ("topology", "{kind: full, brokers: 3000}", "makes up to 3,000 brokers of a full mesh; 2,500 is the most"),
        ("topology", "{kind: scot, regions: 2, clusters: 1000}", "makes up to 1,001,000 links"),
        ("topology", "{kind: transit-stub, brokers: 10000}", "must be less than or equal to 2500"),
        (
            "topology",
            "{kind: transit-stub, brokers: 9, transit_domains: 1, transit_routers: 9999, stubs: 1, stub_routers: 1}",
            "makes up to 49,995,000 pairs of routers within domains; 500,000 is the most",
        ),
        (
            "topology",
            "{kind: transit-stub, brokers: 2500, transit_domains: 1000, transit_routers: 4}",
            "makes up to 250,000,000 paths from servers to routers; 25,000,000 is the most",
        ),
        (
            "topology",
            "{kind: transit-stub, brokers: 9, transit_domains: 9999, transit_routers: 1, stubs: 1, stub_routers: 1, "
            "domain_degree: 5000}",
            "makes up to 24,997,500 links between transit domains; 500,000 is the most",
        ),
        (
            "topology",
            "{kind: transit-stub, brokers: 9, router_links: 1000000}",
            "makes up to 1,000,000 links between routers; 500,000 is the most",
        ),
        ("topology", "{kind: unit-disk, brokers: 1500, area: 1m, range: 1km}", "1,124,250 links; 500,000 is the most"),
        ("topology", "{kind: redundant-tree, nodes: 3, replicas: 1000}", "makes up to 4,500,000 links"),
    ],
)
def test_sizes(key: str, value: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message) as refused:
        load(CYCLIC_30, {key: value})
    assert f"{key}={value}" in str(refused.value)


def test_a_character_that_no_text_has() -> None:
    with pytest.raises(ScenarioError, match=r"^x.yaml:2: not valid YAML: the character 0x0 cannot be in it$"):
        parse("name: x\nroute: \0\n", "x.yaml")


@pytest.mark.parametrize(
    "limit",
    ["heartbeat: 0s", "reconnect_first: 0", "queue_bytes: 0B", "stored_bytes: 0", "message_bytes: 0.1B"],
)
def test_a_limit_of_0(limit: str) -> None:
    with pytest.raises(ScenarioError, match=r"brokers\.limits.*must be more than 0, not 0") as refused:
        load(CYCLIC_30, {"brokers": f"{{limits: {{{limit}}}}}"})
    assert limit.split(":")[0] in str(refused.value)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("brokers.memory", "0B", "must be at least 32MiB"),
        ("brokers.memory", "1B", "must be at least 32MiB"),
        ("brokers.limits.heartbeat", "1e-9s", "heartbeat: must be at least 1ms"),
        ("brokers.limits.utilisation_window", "1ns", "utilisation_window: must be at least 1ms"),
        ("timeline.run", "1e-30s", "run must be at least 1ms"),
        ("logs", "{quota: 1B}", "must be at least 1MB"),
        ("faults", "[{at: run+1s, flap: B1-B2, down: 1ns, up: 1ns, for: 2s}]", "must be 1ms together, at least"),
        (
            "faults",
            "[{at: run+1s, flap: B1-B2, down: 1s, up: 1s, times: 1000000000}]",
            "1,000,000,000 times; 100,000 is",
        ),
        (
            "faults",
            "[{at: run+1s, flap: B1-B2, down: 1ms, up: 1ms, for: 8000h}]",
            "the link goes down .* times; 100,000",
        ),
    ],
)
def test_values_without_sense(key: str, value: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        load(CYCLIC_30, {key: value})
