"""Arguments of `tc`, and the parsing of output that `tc` printed in a guest with netem."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from emulation.network.netem import Shaping, netem_arguments, read_rate, read_shaping
from topology.link_properties import JitterDistribution, LinkProperties

DISCIPLINES = (
    '[{"kind":"htb","handle":"5:","root":true,"refcnt":2,"options":{"r2q":10,"default":"0x1","direct_packets_stat":0,'
    '"direct_qlen":1000}},{"kind":"netem","handle":"10:","parent":"5:1","options":{"limit":1000,"delay":{"delay":0.005,'
    '"jitter":0.000499,"correlation":0},"loss-random":{"loss":0.015,"correlation":0},"rate":{"rate":12500000000,'
    '"packetoverhead":0,"cellsize":0,"celloverhead":0},"ecn":false,"gap":0}}]'
)
CLASSES = "class htb 5:1 root leaf 10: prio 0 rate 10Mbit ceil 10Mbit burst 15Kb cburst 15Kb \n"
FOUND = Shaping(delay=0.005, jitter=0.000499, loss=0.015, rate=10e6, limit=1000)


def test_reads_what_tc_prints() -> None:
    assert read_shaping(DISCIPLINES, CLASSES) == FOUND


def test_missing_values_are_zero() -> None:
    disciplines = json.loads(DISCIPLINES)
    del disciplines[1]["options"]["delay"], disciplines[1]["options"]["loss-random"]
    assert read_shaping(json.dumps(disciplines), CLASSES) == Shaping(0, 0, 0, 10e6, 1000)


@pytest.mark.parametrize(
    ("disciplines", "classes"),
    [
        ('[{"kind":"noqueue","handle":"0:","root":true,"refcnt":2,"options":{}}]', ""),
        (json.dumps(json.loads(DISCIPLINES)[:1]), CLASSES),
        (DISCIPLINES.replace('"parent":"5:1"', '"parent":"5:2"'), CLASSES),
        (DISCIPLINES, ""),
        ("", ""),
    ],
    ids=["nothing", "no netem", "netem elsewhere", "no class", "no interface"],
)
def test_what_is_not_there_is_not_read(disciplines: str, classes: str) -> None:
    assert read_shaping(disciplines, classes) is None


def test_rounding_of_the_kernel_is_no_difference() -> None:
    assert replace(FOUND, jitter=0.0005).differences(FOUND) == []


@pytest.mark.parametrize("change", [{"delay": 0.006}, {"jitter": 0.0}, {"loss": 0.02}, {"rate": 11e6}, {"limit": 900}])
def test_differences_name_what_did_not_take(change: dict[str, float]) -> None:
    (difference,) = replace(FOUND, **change).differences(FOUND)  # type: ignore[arg-type]
    assert difference.startswith(next(iter(change)))


@pytest.mark.parametrize(
    ("text", "rate"), [("10Mbit", 10e6), ("12345Kbit", 12.345e6), ("10Gbit", 10e9), ("999bit", 999)]
)
def test_rates(text: str, rate: float) -> None:
    assert read_rate(text) == rate


def test_arguments() -> None:
    properties = LinkProperties(0.005, 0.0005, JitterDistribution.PARETO, 0.015, 1e6, 100)
    assert netem_arguments(properties) == (
        "limit 115 delay 5000.000us 500.000us distribution pareto loss 1.50000 rate 100gbit"
    )


def test_uniform_is_what_netem_does_without_a_distribution() -> None:
    assert "distribution" not in netem_arguments(LinkProperties(0.005, 0.0005, JitterDistribution.UNIFORM))
